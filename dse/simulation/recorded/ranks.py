"""More ranks of the same kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.base.errors import InputError
from dse.simulation.recorded.links import on_links
from dse.simulation.recorded.step import Communication, RecordedStep
from dse.simulation.recorded.times import scaled


def grown(step: RecordedStep, factor: int, groups: tuple[str, ...], *, by_bytes: bool) -> RecordedStep:
    """Return the step of `factor` times as many ranks: rank r of copy c is c * world_size + r.

    Copies behave as the recorded ranks, so none is played twice. In `groups` (empty: all, where
    every collective is among all ranks) the members of all copies take part, and other groups are copied.
    An all-gather of a group that reduce-scatters, too, collects the same bytes from more ranks, so each gives
    fewer; all other sizes stay. With `by_bytes`, measured times grow with the bytes that a ring sends.

    Raises:
        InputError: no group or an unknown one is to grow, or a group of one rank, of which no time is known.
    """
    chosen = set(groups) or _groups_of_all(step)
    known = {each.group for each in step.communications if each.kind != "message"}
    for name in sorted(chosen - known):
        raise InputError(f"ranks.groups has {name!r}; the groups of collectives are {_listed(step)}")
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
        raise InputError("ranks.factor needs a collective among ranks of the same kind; the step has none")
    if any(len(each.members) != step.world_size for each in collectives):
        raise InputError(
            "ranks.factor needs ranks.groups, since some collectives are not among all ranks: name the "
            f"groups of data parallelism among {_listed(step)}"
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
