"""Execution traces and Kineto traces of the same ranks, paired by what is in them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.simulation.recorded.pytorch.execution_trace import ExecutionTrace, read_execution_trace
from dse.simulation.recorded.pytorch.kineto import KinetoTrace, read_kineto

_MOST_ROOTS = 8
"""Calls of an execution trace that Kineto leaves out, such as the roots of threads."""

_MOST_MISSING = 0.05
_METADATA = ("[pytorch|", "## ")


class RankFiles(NamedTuple):
    """The two halves of what a rank recorded."""

    trace: ExecutionTrace
    kineto: KinetoTrace


def pairs_of(traces: Sequence[Path], kinetos: Sequence[Path], notes: list[str]) -> list[RankFiles]:
    """Return the pairs in the order of their ranks.

    Raises:
        InputError: a half is missing, two files are of one rank, or the halves are of different steps.
    """
    if not traces:
        raise InputError(
            f"{kinetos[0]}: is a Kineto trace, with times only; its execution trace is missing "
            "(torch.profiler.ExecutionTraceObserver), which has the tensors and groups"
        )
    if not kinetos:
        raise InputError(
            f"{traces[0]}: is an execution trace, without times; its Kineto trace is missing "
            "(export_chrome_trace of torch.profiler)"
        )
    read = [read_execution_trace(path) for path in traces]
    left = list(read)
    pairs = []
    for kineto in _ranked([read_kineto(path) for path in kinetos], notes):
        trace = _half_of(kineto, read, left, notes)
        left.remove(trace)
        _check_same_step(trace, kineto)
        pairs.append(RankFiles(trace, kineto))
    if left:
        raise InputError(
            f"{left[0].path}: is an execution trace of process {left[0].pid}; its Kineto trace is missing"
        )
    return pairs


def digits_of(path: Path) -> tuple[int, ...]:
    """Return the numbers in the name of a file."""
    return tuple(int(digits) for digits in re.findall(r"[0-9]{1,18}", path.name, re.ASCII))


def _ranked(kinetos: list[KinetoTrace], notes: list[str]) -> list[KinetoTrace]:
    """Return the traces by rank; those without a rank are numbered as their names are in order."""
    unknown = [kineto for kineto in kinetos if kineto.rank < 0]
    if unknown and len(unknown) < len(kinetos):
        raise InputError(
            f"{unknown[0].path}: has no distributedInfo, which says its rank; other files of the run have it"
        )
    for rank, kineto in enumerate(sorted(unknown, key=lambda kineto: digits_of(kineto.path))):
        kineto.rank, kineto.world_size = rank, len(unknown)
    if len(unknown) > 1:
        notes.append(
            "no file has distributedInfo: ranks taken in the order of the numbers in the names of the files"
        )
    ranked = sorted(kinetos, key=lambda kineto: kineto.rank)
    for one, other in itertools.pairwise(ranked):
        if one.rank == other.rank:
            raise InputError(
                f"{one.path} and {other.path} are both of rank {one.rank}; give one Kineto trace of each rank"
            )
    return ranked


def _half_of(
    kineto: KinetoTrace, read: Sequence[ExecutionTrace], left: Sequence[ExecutionTrace], notes: list[str]
) -> ExecutionTrace:
    same = [trace for trace in read if trace.pid == kineto.pid]
    if len(same) == 1 and same[0] in left:
        return same[0]
    named = [trace for trace in left if digits_of(trace.path) == digits_of(kineto.path)]
    neighbours = [trace for trace in same if trace in left and trace.path.parent == kineto.path.parent]
    for found, what in ((named, "name"), (neighbours, "folder")):
        if len(found) == 1:
            notes.append(
                f"{found[0].path.name} taken as of rank {kineto.rank} by its {what}, as process numbers do "
                "not say it"
            )
            return found[0]
    alike = [trace.path for trace in same if trace in left]
    if len(alike) > 1:
        raise InputError(
            f"{alike[0]} and {alike[1]} are both execution traces of process {kineto.pid}, rank "
            f"{kineto.rank}; give one of each rank"
        )
    raise InputError(
        f"{kineto.path}: is the Kineto trace of rank {kineto.rank}, process {kineto.pid}; its execution "
        "trace is missing"
    )


def _check_same_step(trace: ExecutionTrace, kineto: KinetoTrace) -> None:
    seen = dict(zip(kineto.host.record_function, kineto.host.name, strict=True))
    seen |= dict(zip(kineto.works.record_function, kineto.works.name, strict=True))
    known = set(seen.values())  # Kineto leaves annotations out where it was told to
    operators = [(number, call.name) for number, call in trace.calls.items()]
    operators = [(call, name) for call, name in operators if not name.startswith(_METADATA)]
    agreeing = sum(seen.get(call) == name for call, name in operators)
    wrong = sum(name in known or call in seen for call, name in operators) - agreeing
    if wrong > _MOST_ROOTS + _MOST_MISSING * len(operators) or not agreeing:
        raise InputError(
            f"{trace.path}: is of another step than {kineto.path}: {wrong} of its {len(operators)} "
            "operators are not there; give the two files of one profile"
        )
