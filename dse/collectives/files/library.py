"""A tuned library: programs of runtimes for several sizes, each with the bytes that it is best for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from dse.base.errors import InputError
from dse.collectives.files.exports import PROGRAMS, Exports, program_files
from dse.collectives.files.msccl_buffers import require_known
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.times_by_size import curve

TABLE, TUNER = "library.csv", "nccl_tuner.csv"
_TUNED = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce")
_RINGS, _TREES = ("ring", "biring"), ("double_tree",)


class Tuned(NamedTuple):
    """A schedule for operations of some bytes, and the times of fixed algorithms there, in ps."""

    operation_bytes: int
    schedule: Schedule
    fixed_ps: Mapping[str, int]


class Range(NamedTuple):
    """Bytes of an operation as runtimes count them, both ends included; `most` 0 means no end."""

    least: int
    most: int


def library_files(tuned: Sequence[Tuned], name: str, exports: Exports) -> dict[str, bytes]:
    """Return programs by file name in order of size, a table of them, and NCCL's tuner table if asked.

    Raises:
        InputError: nothing that a library holds is asked for, or a runtime cannot take a schedule.
    """
    if not set(exports.names) & {*PROGRAMS, "nccl"}:
        raise InputError("several sizes are a library; add export=msccl, mscclpp or nccl, or take one size")
    rows = sorted(tuned, key=lambda each: each.operation_bytes)
    files: dict[str, bytes] = {}
    lines = ["operation_bytes,min_bytes,max_bytes,chunks_per_npu,time_ps,file"]
    ranges = ranges_of(rows)
    for number, (each, own) in enumerate(zip(rows, ranges, strict=True)):
        problem = each.schedule.problem
        stem = f"{number:02d}-{problem.collective.name}-{each.operation_bytes}"
        programs = program_files(each.schedule, name, exports, own.least, own.most)
        for file, (text, _) in programs.items():
            # MSCCL reads every file of its folder, so that each runtime has one of its own.
            path = f"{'msccl' if file.endswith('.xml') else 'mscclpp'}/{file.replace('schedule', stem)}"
            files[path] = text.encode()
            cells = (each.operation_bytes, *own, problem.collective.chunks_per_npu, each.schedule.time_ps)
            lines.append(",".join(map(str, (*cells, path))))
    if "nccl" in exports.names:
        files[TUNER] = tuner_table(rows, ranges, exports.protocol).encode()
    return {**files, TABLE: "".join(f"{line}\n" for line in lines).encode()}


def ranges_of(rows: Sequence[Tuned]) -> list[Range]:
    """Return the bytes for which each schedule is the best of its neighbours; `rows` ascend by size.

    Times by size are exact (`dse.collectives.search.times_by_size`): a range ends where the next is faster.
    """
    starts = [0, *(_takes_over(one, other) for one, other in pairwise(rows))]
    return [Range(start, end - 1) for start, end in zip(starts, [*starts[1:], 1], strict=True)]


def runtime_bytes(schedule: Schedule) -> Fraction:
    """Return the bytes of the operation as MSCCL and NCCL count them: of the larger buffer of an NPU."""
    collective = schedule.problem.collective
    spread = collective.name in ("all_gather", "reduce_scatter", "all_to_all", "all_reduce")
    return schedule.problem.chunk_bytes * collective.chunks_per_npu * (collective.npus if spread else 1)


def _takes_over(one: Tuned, other: Tuned) -> int:
    """The least bytes above those of `one` from which `other` is faster; at the latest its own."""
    curves = curve(one.schedule), curve(other.schedule)
    per_byte = [each.schedule.problem.chunk_bytes / runtime_bytes(each.schedule) for each in (one, other)]
    low, high = int(runtime_bytes(one.schedule)), int(runtime_bytes(other.schedule))
    while high - low > 1:  # `other` is faster at `high`, or takes over there anyway
        middle = (low + high) // 2
        times = [line.time_ps(share * middle) for line, share in zip(curves, per_byte, strict=True)]
        low, high = (low, middle) if times[1] < times[0] else (middle, high)
    return high


def tuner_table(rows: Sequence[Tuned], ranges: Sequence[Range], protocol: str) -> str:
    """Return a table for NCCL's tuner plugin: which of its algorithms is the fastest on this network.

    A ring or a tree, by the times of fixed algorithms; -1 leaves a choice to NCCL.

    Raises:
        InputError: NCCL has no choice of algorithms for the collective.
    """
    collective = rows[0].schedule.problem.collective
    if collective.name not in _TUNED:
        raise InputError(f"nccl: no algorithm is chosen for {collective.name}; it is for {', '.join(_TUNED)}")
    # A line that is no comment is a choice: of a header the plugin would make an all-reduce of rings.
    lines = [
        "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff"
    ]
    coll = require_known(collective, "nccl")
    for each, own in zip(rows, ranges, strict=True):
        ring, tree = (
            min((each.fixed_ps[name] for name in names if name in each.fixed_ps), default=None)
            for names in (_RINGS, _TREES)
        )
        if ring is None and tree is None:
            raise InputError("nccl: no fixed algorithm has a time here; take a smaller network")
        is_tree = ring is None or (tree is not None and tree < ring)
        most = own.most or (1 << 63) - 1
        cells = (coll, own.least, most, "tree" if is_tree else "ring", protocol.lower(), -1, -1)
        lines.append(",".join(map(str, (*cells, collective.npus, -1, -1))))
    return "".join(f"{line}\n" for line in lines)
