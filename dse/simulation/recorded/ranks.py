"""More ranks of the same kind, and which recorded rank stands for one that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.base.errors import InputError
from dse.simulation.recorded.links import on_links
from dse.simulation.recorded.step import Communication, RecordedStep
from dse.simulation.recorded.times import scaled

_MOST_SHOWN = 4


def stand_in(step: RecordedStep, rank: int) -> int | None:
    """Return the recorded rank that behaves as `rank`, which is itself if it was recorded.

    A missing rank behaves as a recorded one of the smallest group of collectives that has both: the next
    lower one there, or else the next higher one. None if no collective has both.
    """
    return _stand_in(step, rank, _groups(step))


def note_of_missing_ranks(step: RecordedStep) -> str:
    """Return which recorded ranks stand for the missing ones, in a sentence; empty if none is missing."""
    missing, groups = step.missing_ranks, _groups(step)
    if not missing:
        return ""
    pairs = [(rank, _stand_in(step, rank, groups)) for rank in missing[:_MOST_SHOWN]]
    known = [f"{rank} behaves as rank {other}" for rank, other in pairs if other is not None]
    unknown = [f"nothing is known of {rank}" for rank, other in pairs if other is None]
    more = [f"and so on for {len(missing) - len(pairs)} more"] if len(missing) > len(pairs) else []
    return f"missing ranks are taken by symmetry: rank {', '.join([*known, *unknown, *more])}"


def _groups(step: RecordedStep) -> list[tuple[int, ...]]:
    """The members of each group of collectives, the smallest first."""
    groups = {each.members for each in step.communications if each.kind != "message"}
    return sorted(groups, key=lambda group: (len(group), group))


def _stand_in(step: RecordedStep, rank: int, groups: Sequence[tuple[int, ...]]) -> int | None:
    if rank in step.ranks:
        return rank
    for members in groups:
        if rank in members and (found := set(step.ranks).intersection(members)):
            return max((each for each in found if each < rank), default=min(found))
    return None


def grown(step: RecordedStep, factor: int, groups: tuple[str, ...], *, by_bytes: bool) -> RecordedStep:
    """Return the step of `factor` times as many ranks: rank r of copy c is c * world_size + r.

    Copies behave as the recorded ranks, so none is played twice (`stand_in`). In `groups` (empty: all, where
    every collective is among all ranks) the members of all copies take part, and other groups are copied.
    An all-gather of a group that reduce-scatters, too, collects the same bytes from more ranks, so each gives
    fewer; all other sizes stay. With `by_bytes`, measured times grow with the bytes that a ring sends.

    Raises:
        InputError: no group or an unknown one is to grow, or a group of one rank, of which no time is known.
    """
    chosen = set(groups) or _groups_of_all(step)
    known = {each.group for each in step.communications if each.kind != "message"}
    for name in sorted(chosen - known):
        raise InputError(f"grown_groups has {name!r}; the groups of collectives are {_listed(step)}")
    gathered = {each.group for each in step.communications if each.kind == "reduce_scatter"}
    communications = tuple(
        [
            _grown(each, factor, step.world_size, is_sharded=each.group in gathered)
            if each.kind != "message" and each.group in chosen
            else each
            for each in step.communications
        ]
    )
    result = replace(
        step,
        world_size=factor * step.world_size,
        communications=communications,
        notes=(*step.notes, _note(step, factor, chosen)),
    )
    if not by_bytes:
        return result
    ratios = np.array([_ratio(*pair) for pair in zip(step.communications, communications, strict=True)])
    mask = on_links(result)
    duration_ns = step.duration_ns.copy()
    duration_ns[mask] = scaled(duration_ns[mask], ratios[step.communication[mask]])
    return replace(result, duration_ns=duration_ns)


def ring_bytes(communication: Communication) -> float:
    """Return the bytes that each rank of a ring sends: of an all-reduce of S bytes, 2 S (n - 1) / n."""
    ranks, size = len(communication.members), communication.size_bytes
    if communication.kind == "all_gather":
        return float(size * (ranks - 1))
    if communication.kind in ("all_reduce", "reduce_scatter", "all_to_all"):
        times = 2 if communication.kind == "all_reduce" else 1
        return times * size * (ranks - 1) / ranks
    return float(size)


def _grown(each: Communication, factor: int, world_size: int, *, is_sharded: bool) -> Communication:
    members = tuple([copy * world_size + member for copy in range(factor) for member in each.members])
    size_bytes = each.size_bytes
    if each.kind == "all_gather" and is_sharded:
        size_bytes = -(-size_bytes // factor)
    return replace(each, members=members, size_bytes=size_bytes)


def _ratio(old: Communication, new: Communication) -> float:
    """The time of a grown communication over the measured one."""
    if old.members == new.members:
        return 1.0
    if len(old.members) == 1:
        raise InputError(
            f"group {old.group!r} has one rank, so that no time of its {old.kind} among more was measured; "
            "give a system without base_system, which prices it"
        )
    before = ring_bytes(old)
    return ring_bytes(new) / before if before else 1.0


def _groups_of_all(step: RecordedStep) -> set[str]:
    collectives = [each for each in step.communications if each.kind != "message"]
    if not collectives:
        raise InputError("rank_factor needs a collective among ranks of the same kind; the step has none")
    if any(len(each.members) != step.world_size for each in collectives):
        raise InputError(
            "rank_factor needs grown_groups, since some collectives are not among all ranks: name the groups "
            f"of data parallelism among {_listed(step)}"
        )
    return {each.group for each in collectives}


def _listed(step: RecordedStep) -> str:
    sizes = {each.group: len(each.members) for each in step.communications if each.kind != "message"}
    return ", ".join(f"{name!r} ({size} ranks)" for name, size in sorted(sizes.items())) or "none"


def _note(step: RecordedStep, factor: int, chosen: set[str]) -> str:
    added, names = (factor - 1) * step.world_size, ", ".join(map(repr, sorted(chosen)))
    return (
        f"{added} ranks were added by symmetry: each behaves as a recorded one, and there are {factor} times "
        f"as many members in the process groups {names}."
    )
