"""Read files of PyTorch's profiler or of mlc-chakra into a recorded step."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dse.base.errors import InputError
from dse.base.texts import counted
from dse.simulation.recorded.pytorch.assembly import begun
from dse.simulation.recorded.pytorch.chakra import read_chakra
from dse.simulation.recorded.pytorch.groups import matched
from dse.simulation.recorded.pytorch.kineto import KinetoTrace, Step
from dse.simulation.recorded.pytorch.matching import untimely
from dse.simulation.recorded.pytorch.pairs import RankFiles, pairs_of
from dse.simulation.recorded.pytorch.ranks import RecordedRank, recorded_rank
from dse.simulation.recorded.pytorch.sources import Source, files_of
from dse.simulation.recorded.pytorch.threads import END_OF_STEP
from dse.simulation.recorded.step import RecordedStep

_MOST_SHOWN = 8
_MOST_UNTIMELY = 0.05


def read_recorded(paths: Sequence[Path]) -> RecordedStep:
    """Return the step in files, or in the files of folders: of one rank or of several.

    Pairs of an execution trace and a Kineto trace are taken where there are any, else `.et` files. The last
    step is taken that all ranks have recorded.

    Raises:
        InputError: a file is malformed, half of a pair is missing, or the files do not fit together.
    """
    was_enabled = gc.isenabled()
    gc.disable()  # it would visit millions of new objects again and again, none of them in a circle
    try:
        return _read(files_of(paths))
    finally:
        if was_enabled:
            gc.enable()


def _read(files: Mapping[Source, list[Path]]) -> RecordedStep:
    notes: list[str] = []
    if not files[Source.EXECUTION_TRACE] and not files[Source.KINETO]:
        if files[Source.CHAKRA]:
            return read_chakra(files[Source.CHAKRA])
        raise InputError(
            f"{files[Source.LINKED][0]}: is {Source.LINKED.value}; give the execution trace and the "
            "Kineto trace that it was made of"
        )
    pairs = pairs_of(files[Source.EXECUTION_TRACE], files[Source.KINETO], notes)
    for source in (Source.LINKED, Source.CHAKRA):
        if files[source]:
            notes.append(
                f"{counted(len(files[source]), 'file')} not used ({source.value}): the pairs say more"
            )
    world_size = _world_size(pairs, notes)
    number = _step_number(pairs, notes)
    ranks = [recorded_rank(pair.trace, pair.kineto, _step(pair.kineto, number)) for pair in pairs]
    matches = matched(ranks, world_size, notes)
    clocks_agree = _clocks_agree(ranks, untimely(matches), notes)
    notes += [note for rank in ranks for note in rank.notes]
    step = begun(ranks, matches, world_size, clocks_agree, notes)
    return replace(step, notes=(*notes, *_shares(step)))


def _world_size(pairs: Sequence[RankFiles], notes: list[str]) -> int:
    sizes = {pair.kineto.world_size: pair.kineto.path for pair in pairs}
    if len(sizes) > 1:
        (one, path), (other, other_path) = list(sizes.items())[:2]
        raise InputError(
            f"{path} is of {counted(one, 'rank')} and {other_path} of {other}; give one run's files"
        )
    (world_size,) = sizes
    recorded = {pair.kineto.rank for pair in pairs}
    missing = [rank for rank in range(world_size) if rank not in recorded]
    if missing:
        shown = ", ".join(map(str, missing[:_MOST_SHOWN])) + (" …" if len(missing) > _MOST_SHOWN else "")
        notes.append(
            f"{counted(len(missing), 'rank')} of {world_size} not recorded ({shown}): time spent on "
            "waiting for them is taken as time of the communication"
        )
    return world_size


def _step_number(pairs: Sequence[RankFiles], notes: list[str]) -> int | None:
    common = set(pairs[0].kineto.steps).intersection(*(pair.kineto.steps for pair in pairs[1:]))
    if common:
        if len(common) > 1:
            notes.append(
                f"step {max(common)} taken of the steps {min(common)} to {max(common)} that the files hold"
            )
        return max(common)
    if any(pair.kineto.steps for pair in pairs):
        shown = "; ".join(
            f"{pair.kineto.path}: {sorted(pair.kineto.steps)[:_MOST_SHOWN]}" for pair in pairs[:4]
        )
        raise InputError(f"no step was recorded by all ranks ({shown}); record the same steps on all ranks")
    notes.append("no step is marked (ProfilerStep#…): all that was recorded is taken as one step")
    return None


def _step(kineto: KinetoTrace, number: int | None) -> Step:
    if number is not None:
        return kineto.steps[number]
    host = kineto.host
    if not host.name:
        raise InputError(f"{kineto.path}: holds no operator of the host")
    busiest = max(dict.fromkeys(host.thread), key=host.thread.count)
    return Step(busiest, min(host.begin_ns), max(host.end_ns) + 1)


def _clocks_agree(ranks: Sequence[RecordedRank], timely: Mapping[bool, int], notes: list[str]) -> bool:
    """Return whether times of all ranks can be compared: one host, and no collective that says otherwise."""
    hosts = {rank.host_name for rank in ranks}
    if len(hosts) == 1 and timely[False] <= _MOST_UNTIMELY * (timely[True] + timely[False]):
        return True
    reason = (
        f"the ranks ran on {len(hosts)} hosts"
        if len(hosts) > 1
        else f"{counted(timely[False], 'collective')} ended on a rank before another one began: are all "
        "files of one run?"
    )
    notes.append(
        f"clocks of the ranks cannot be compared ({reason}): a communication takes the least time that "
        "any of its ranks measured, and all ranks begin their step together"
    )
    return False


def _shares(step: RecordedStep) -> list[str]:
    """Say how much of a step no node explains."""
    shares = []
    for at, rank in enumerate(step.ranks):
        nodes = slice(int(step.rank_first[at]), int(step.rank_first[at + 1]))
        names = step.name[nodes]
        main = step.lane[nodes][names == step.names.index(END_OF_STEP)][0]
        gaps = int(step.gap_ns[nodes][step.lane[nodes] == main].sum())
        shares.append((100 * gaps / max(1, int(step.measured_ns[at])), rank))
    least, most = min(shares), max(shares)
    if len(shares) == 1 or f"{least[0]:.1f}" == f"{most[0]:.1f}":
        return [
            f"{most[0]:.1f} % of the step is time of the main thread between operators, which no node "
            "explains"
        ]
    return [
        f"{least[0]:.1f} % (rank {least[1]}) to {most[0]:.1f} % (rank {most[1]}) of the step is time of "
        "the main thread between operators, which no node explains"
    ]
