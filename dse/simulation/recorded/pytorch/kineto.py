"""Kineto's trace of a rank: when operators ran on the threads of the host, and kernels on the streams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError, excerpt
from dse.simulation.recorded.pytorch.execution_trace import MOST_RANKS, Group, groups_of
from dse.simulation.recorded.pytorch.sources import load_object

_HOST = ("cpu_op", "_runtime", "_driver")
"""Ends of categories of the host: runtimes and drivers have the names of their devices, as cuda_runtime."""

_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_OPTIMIZER_STEP = "Optimizer.step#"
_STEP = re.compile(r"ProfilerStep#([0-9]{1,18})", re.ASCII)
_MOST_US = 2.0**61 / 1000
_MOST_BASE_NS = 2**62


class Step(NamedTuple):
    """A step of the profiler on the thread that ran it, in ns of Kineto's clock."""

    thread: int
    begin_ns: int
    end_ns: int


class DeviceEvent(NamedTuple):
    """A kernel or a copy; `correlation` is that of its launch, `args` are all that Kineto says of it."""

    name: str
    stream: str
    begin_ns: int
    end_ns: int
    correlation: Any
    args: Mapping[str, Any]


@dataclass(eq=False)
class HostEvents:
    """Operators and calls of the runtime, a row each; `record_function` is -1 where there is none."""

    name: list[str] = field(default_factory=list)
    thread: list[int] = field(default_factory=list)
    begin_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    record_function: list[int] = field(default_factory=list)
    args: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(eq=False)
class KinetoTrace:
    """The recording of one rank. `works` are rows like those of `host`, of gloo's asynchronous work.

    `updates` are spans in which an optimizer updates parameters: thread, begin and end.
    """

    path: Path
    rank: int
    world_size: int
    host_name: str
    pid: int
    groups: tuple[Group, ...]
    host: HostEvents
    works: HostEvents
    device: list[DeviceEvent]
    steps: dict[int, Step]
    threads: dict[int, str]
    updates: list[tuple[int, int, int]] = field(default_factory=list)
    base_ns: int = 0


def read_kineto(path: Path) -> KinetoTrace:
    """Return the trace in a file; a file that does not say its rank is rank -1 of 0.

    Raises:
        InputError: the file is malformed, or an event has no time.
    """
    content = load_object(path)
    events = content.get("traceEvents")
    if not isinstance(events, list):
        raise InputError(f"{path}: traceEvents is {excerpt(events)}; it must be a list of events")
    rank, world_size, groups = _distributed(content.get("distributedInfo"), path)
    host_name = content.get("host_name")
    trace = KinetoTrace(
        path, rank, world_size, host_name if isinstance(host_name, str) else "", -1, groups, HostEvents(),
        HostEvents(), [], {}, {}, base_ns=_base_ns(content, path),
    )  # fmt: skip
    for number, event in enumerate(events):
        if not isinstance(event, dict):
            raise InputError(f"{path}: traceEvents[{number}] is {excerpt(event)}; it must be an object")
        phase = event.get("ph")
        if phase == "X":
            _add(trace, event, number)
        elif phase == "M" and event.get("name") == "thread_name":
            args = event.get("args")
            name = args.get("name") if isinstance(args, dict) else None
            if isinstance(name, str) and type(event.get("tid")) is int:
                trace.threads[event["tid"]] = name
    return trace


def _add(trace: KinetoTrace, event: dict[str, Any], number: int) -> None:
    category, name = event.get("cat"), event.get("name")
    args = event.get("args")
    if not isinstance(args, dict):
        args = {}
    if not isinstance(name, str) or not isinstance(category, str):
        raise InputError(f"{trace.path}: traceEvents[{number}] has no name or no category (cat)")
    if category.endswith(_HOST):
        _add_host(trace, trace.host, event, args, number)
    elif category == "user_annotation":
        if name.startswith("gloo:"):
            _add_host(trace, trace.works, event, args, number)
        elif name.startswith(_OPTIMIZER_STEP):
            trace.updates.append((_thread(event, trace.path, number), *_times(event, trace, number)))
        elif found := _STEP.fullmatch(name):
            begin, end = _times(event, trace, number)
            trace.steps[int(found[1])] = Step(_thread(event, trace.path, number), begin, end)
    elif category in _DEVICE:
        begin, end = _times(event, trace, number)
        stream = f"device {excerpt(event.get('pid'), 20)} stream {excerpt(event.get('tid'), 20)}"
        trace.device.append(DeviceEvent(name, stream, begin, end, args.get("correlation"), args))


def _add_host(
    trace: KinetoTrace, rows: HostEvents, event: dict[str, Any], args: dict[str, Any], number: int
) -> None:
    begin, end = _times(event, trace, number)
    call = args.get("Record function id")
    rows.name.append(event["name"])
    rows.thread.append(_thread(event, trace.path, number))
    rows.begin_ns.append(begin)
    rows.end_ns.append(end)
    rows.record_function.append(call if type(call) is int and call > 0 else -1)
    rows.args.append(args)
    if trace.pid < 0 and type(event.get("pid")) is int:
        trace.pid = event["pid"]


def _base_ns(content: Mapping[str, Any], path: Path) -> int:
    """Return the time from which all `ts` of a file count; 0 where it does not say."""
    base = content.get("baseTimeNanoseconds", 0)
    if type(base) is not int or not 0 <= base < _MOST_BASE_NS:
        raise InputError(
            f"{path}: baseTimeNanoseconds is {excerpt(base)}; it must be a time in whole ns, from 0"
        )
    return base


def _times(event: dict[str, Any], trace: KinetoTrace, number: int) -> tuple[int, int]:
    """Return begin and end in ns; `ts` and `dur` are µs with fractions."""
    begin: Any = event.get("ts")
    duration: Any = event.get("dur", 0)
    for key, value, least in (("ts", begin, -_MOST_US), ("dur", duration, 0.0)):
        if type(value) not in (int, float) or not least <= value < _MOST_US:
            raise InputError(
                f"{trace.path}: traceEvents[{number}].{key} is {excerpt(repr(value))}; "
                "it must be a time in µs"
            )
    at = trace.base_ns + round(begin * 1000)
    return at, at + round(duration * 1000)


def _thread(event: dict[str, Any], path: Path, number: int) -> int:
    thread = event.get("tid")
    if type(thread) is not int or not 0 <= thread < 2**63:
        raise InputError(
            f"{path}: traceEvents[{number}].tid is {excerpt(thread)}; it must be a thread number"
        )
    return thread


def _distributed(info: Any, path: Path) -> tuple[int, int, tuple[Group, ...]]:
    if info is None:
        return -1, 0, ()
    if not isinstance(info, dict):
        raise InputError(f"{path}: distributedInfo is {excerpt(info)}; it must be an object")
    rank, world_size = info.get("rank"), info.get("world_size")
    if type(rank) is not int or type(world_size) is not int or not 0 <= rank < world_size <= MOST_RANKS:
        raise InputError(
            f"{path}: distributedInfo has rank {excerpt(rank)} of {excerpt(world_size)}; the rank must be "
            f"from 0 to the number of ranks, which is at most {MOST_RANKS}"
        )
    return rank, world_size, tuple(groups_of(info.get("pg_config"), str(path)).values())
