"""Exports of a schedule besides its own forms: programs of runtimes, traces, and large forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.settings.values import one_of, whole
from dse.base.texts import counted
from dse.collectives.interpret.limits import MSCCL_LIMITS
from dse.collectives.problem.schedule import Schedule

PROGRAMS = ("msccl", "mscclpp")
LARGE_FORMS = ("csv", "page")  # small schedules have both without being asked
EXPORTS = (*PROGRAMS, "nccl", "chakra", "trace", *LARGE_FORMS)
_OPTIONS = {
    "limits": ("msccl",),
    "instances": ("msccl",),
    "protocol": (*PROGRAMS, "nccl"),
    "npus_per_node": ("mscclpp",),
}


class Exported(NamedTuple):
    """Files by their names, entries of the summary, rows of its table, and the large forms to write."""

    files: dict[str, bytes]
    data: dict[str, Any]
    rows: tuple[tuple[str, str], ...]
    forms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exports:
    """Names of exports, and how programs of runtimes are made."""

    names: tuple[str, ...] = ()
    limits: str = "msccl-executor"
    instances: int = 1
    protocol: str = "Simple"
    npus_per_node: int = 0


def exports_of(values: Mapping[str, str]) -> Exports:
    """Return what `export=[msccl,chakra]` and its options ask.

    Raises:
        InputError: something else than `EXPORTS`, or an option without effect on them.
    """
    names = tuple(dict.fromkeys(part.strip() for part in values.get("export", "").strip("[]").split(",")))
    for name in names if "export" in values else ():
        check_choice("export", name, EXPORTS)
    for key, forms in _OPTIONS.items():
        if key in values and not set(forms) & set(names):
            raise InputError(
                f"{key}={values[key]} has no effect without export={forms[0]}; add it, or leave {key} out"
            )
    return Exports(
        names if "export" in values else (),
        one_of(values, "limits", tuple(MSCCL_LIMITS)),
        whole(values, "instances", 1, least=1, most=32),
        one_of(values, "protocol", ("Simple", "LL")),
        whole(values, "npus_per_node", 0, least=1, most=1024),
    )


def export(schedule: Schedule, name: str, exports: Exports) -> Exported:
    """Return the files that a schedule is exported as, and what can be told about them.

    Raises:
        InputError: a form cannot hold the schedule.
    """
    if "nccl" in exports.names:
        raise InputError("export=nccl is a table over sizes; write several, operation_bytes=[64KiB,1MiB]")
    files: dict[str, bytes] = {}
    data: dict[str, Any] = {}
    rows: list[tuple[str, str]] = []
    programs = program_files(schedule, name, exports)
    for file, (text, row) in programs.items():
        files[file] = text.encode()
        rows.append(row)
    if "chakra" in exports.names:
        from dse.collectives.files.chakra import chakra_traces
        from dse.collectives.files.chakra_run import run_chakra

        traces = list(chakra_traces(schedule))
        files |= {f"schedule.{npu}.et": trace for npu, trace in enumerate(traces)}
        run = run_chakra(schedule, traces)
        data |= run.data()
        rows.append(run.row())
    if "trace" in exports.names:
        from dse.collectives.files.trace_events import trace_events

        files["trace.json"] = "".join(trace_events(schedule, name)).encode()
    forms = tuple(form for form in LARGE_FORMS if form in exports.names)
    return Exported(files, data, tuple(rows), forms)


def program_files(
    schedule: Schedule, name: str, exports: Exports, least_bytes: int = 0, most_bytes: int = 0
) -> dict[str, tuple[str, tuple[str, str]]]:
    """Return the programs of runtimes by file name, each with a row about it; all have been interpreted.

    They are for operations of `least_bytes` to `most_bytes` bytes (0: no limit).

    Raises:
        InputError: a runtime cannot take the schedule; says why.
    """
    found: dict[str, tuple[str, tuple[str, str]]] = {}
    if "msccl" in exports.names:
        from dse.collectives.files.msccl import MscclOptions, schedule_msccl

        options = MscclOptions(exports.limits, exports.instances, least_bytes, most_bytes, exports.protocol)
        text = schedule_msccl(schedule, name, options)
        found["schedule.xml"] = text, ("as MSCCL", _about(text, "<gpu ", "<tb ", "<step "))
    if "mscclpp" in exports.names:
        from dse.collectives.files.mscclpp import can_be_in_place, schedule_plan
        from dse.collectives.files.mscclpp_workers import PlanOptions
        from dse.collectives.interpret.plan_records import ON_SWITCHES

        plan_options = PlanOptions(exports.npus_per_node, exports.protocol, least_bytes, most_bytes)
        for is_in_place in (False, True) if can_be_in_place(schedule.problem.collective) else (False,):
            text = schedule_plan(schedule, name, plan_options, is_in_place=is_in_place)
            how = ".inplace" if is_in_place else ""
            about = _about(text, '"input_chunks"', '"ops"', '"name"') + how.replace(".", ", ")
            on_switches = sum(text.count(f'"name":"{operation}"') for operation in ON_SWITCHES)
            if on_switches:
                about += f"; {counted(on_switches, 'operation')} on NVLink switches, from sm_90 on"
            row = ("as MSCCL++", about)
            found[f"schedule.mscclpp{how}.json"] = text, row
    return found


def _about(text: str, gpu: str, block: str, step: str) -> str:
    gpus = text.split(gpu)[1:]
    blocks = max((part.count(block) for part in gpus), default=0)
    steps = max((part.count(step) for own in gpus for part in own.split(block)[1:]), default=0)
    most = f"at most {counted(blocks, 'block')} a GPU and {counted(steps, 'step')} a block"
    return f"{most}; interpreted: right, no race, no deadlock"


def joined_lines(lines: Iterable[str]) -> bytes:
    """Return lines as the bytes of a file."""
    return "".join(f"{line}\n" for line in lines).encode()
