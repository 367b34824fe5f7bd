"""The process group of each communication: as NCCL says it, or found by what the ranks did."""

from __future__ import annotations

from collections.abc import Sequence

from dse.base.errors import InputError, excerpt
from dse.base.texts import counted
from dse.simulation.recorded.pytorch.execution_trace import Group
from dse.simulation.recorded.pytorch.gloo_groups import name_by_threads
from dse.simulation.recorded.pytorch.matching import Match, match_collectives, match_messages
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work

_ONE_SIZE = frozenset({"all_reduce", "reduce_scatter"})
"""Collectives whose members all give the same number of bytes."""


def matched(ranks: Sequence[RecordedRank], world_size: int, notes: list[str]) -> list[Match]:
    """Return all communications of the ranks; `notes` get what had to be assumed.

    Raises:
        InputError: a communication names a group or a peer that no rank has, or the ranks reduce other bytes.
    """
    groups = _known_groups(ranks, world_size)
    unnamed = [work for rank in ranks for work in rank.works if not work.group]
    if len(groups) == 1:
        for work in unnamed:
            work.group = next(iter(groups))
    elif unnamed:
        name_by_threads(ranks, groups)
        _name_messages(ranks, groups)
        notes.append(
            f"gloo does not say which of {len(groups)} process groups a communication is of: taken from "
            "the threads that ran it and from the order of kinds and sizes on all ranks"
        )
    _number_peers(ranks, groups)
    used = dict.fromkeys(work.group for rank in ranks for work in rank.works if not work.is_message)
    found = [match for name in used for match in match_collectives(ranks, name, groups[name].ranks)]
    found += match_messages(ranks)
    _note_unmatched(found, {rank.rank for rank in ranks}, notes)
    _note_sizes(found, notes)
    _check_sizes(found, notes, is_certain=len(groups) == 1 or not unnamed)
    return found


def _known_groups(ranks: Sequence[RecordedRank], world_size: int) -> dict[str, Group]:
    groups: dict[str, Group] = {}
    for rank in ranks:
        for group in rank.groups:
            if rank.rank in group.ranks:
                groups[_key(groups, group)] = group
        for work in rank.works:
            if not work.group:
                continue
            group = Group(work.group, work.members)
            if not work.members:
                group = next((g for g in rank.groups if g.name == work.group), Group(work.group, ()))
            if rank.rank not in group.ranks:
                raise InputError(
                    f"rank {rank.rank}: {excerpt(work.name)} is of the process group "
                    f"{excerpt(work.group)}, whose ranks are {excerpt(list(group.ranks))}; it must hold "
                    "the rank"
                )
            work.group = _key(groups, group)
            groups[work.group] = group
    if any(number >= world_size for group in groups.values() for number in group.ranks):
        raise InputError(f"a process group has ranks beyond the {counted(world_size, 'rank')} of the step")
    return groups or {"0": Group("0", tuple(range(world_size)))}


def _key(groups: dict[str, Group], group: Group) -> str:
    """Return a name for a group: ranks call different groups by the same name."""
    known = groups.get(group.name)
    if known is None or known.ranks == group.ranks:
        return group.name
    return f"{group.name} of rank {group.ranks[0]}"


def _name_messages(ranks: Sequence[RecordedRank], groups: dict[str, Group]) -> None:
    """Give the messages of a rank the largest group in which the peer has as many of the same sizes."""
    by_rank = {rank.rank: rank for rank in ranks}
    largest = sorted(groups.items(), key=lambda item: -len(item[1].ranks))
    for rank in ranks:
        for kind in ("send", "receive"):
            for peer in {work.peer for work in rank.works if work.kind == kind and not work.group}:
                works = [w for w in rank.works if w.kind == kind and w.peer == peer and not w.group]
                fits = [
                    name
                    for name, group in largest
                    if rank.rank in group.ranks and 0 <= peer < len(group.ranks)
                ]
                name = next(
                    (n for n in fits if _answers(works, rank.rank, groups[n], by_rank)), "".join(fits[:1])
                )
                for work in works:
                    work.group = name or next(iter(groups))


def _answers(works: Sequence[Work], rank: int, group: Group, by_rank: dict[int, RecordedRank]) -> bool:
    other = by_rank.get(group.ranks[works[0].peer])
    if other is None:
        return False
    kind = "receive" if works[0].kind == "send" else "send"
    own = group.ranks.index(rank)
    return _signs_of_messages(works) == _signs_of_messages(
        [work for work in other.works if work.kind == kind and work.peer == own]
    )


def _signs_of_messages(works: Sequence[Work]) -> list[int]:
    return [work.size_bytes for work in works]


def _number_peers(ranks: Sequence[RecordedRank], groups: dict[str, Group]) -> None:
    for rank in ranks:
        for work in rank.works:
            if not work.is_message:
                continue
            members = groups[work.group].ranks
            if not 0 <= work.peer < len(members):
                raise InputError(
                    f"rank {rank.rank}: {excerpt(work.name)} goes to rank {work.peer} of the process "
                    f"group {excerpt(work.group)}, which has {counted(len(members), 'rank')}"
                )
            work.peer = members[work.peer]


def _note_unmatched(found: Sequence[Match], recorded: set[int], notes: list[str]) -> None:
    alone = [match for match in found if len(match.works) < len(recorded & set(match.members))]
    if alone:
        kinds = sorted({match.kind for match in alone})
        notes.append(
            f"{counted(len(alone), 'communication')} ({', '.join(kinds)}) found on some of their recorded "
            "ranks only: they wait for the ranks that have them"
        )


def _note_sizes(found: Sequence[Match], notes: list[str]) -> None:
    unknown = [match for match in found if match.size_bytes == 0 and match.kind != "barrier"]
    if unknown:
        kinds = sorted({match.kind for match in unknown})
        notes.append(
            f"{counted(len(unknown), 'communication')} ({', '.join(kinds)}) of no bytes, or whose bytes the "
            "trace does not say, as in CUDA graphs: other links leave their times as they are"
        )


def _check_sizes(found: Sequence[Match], notes: list[str], *, is_certain: bool) -> None:
    """Refuse ranks most of whose reductions differ in bytes: they are of two steps; note a few of them.

    Where it is not certain of which group a reduction is, the note is all.
    """
    sizes = {
        id(match): {rank: work.size_bytes for rank, work in match.works.items() if work.size_bytes}
        for match in found
        if match.kind in _ONE_SIZE
    }
    several = [match for match in found if len(sizes.get(id(match), ())) > 1]
    differ = [match for match in several if len(set(sizes[id(match)].values())) > 1]
    if not differ:
        return
    first = differ[0]
    shown = " and ".join(
        f"{size:,} bytes on rank {rank}"
        for rank, size in {size: (rank, size) for rank, size in sizes[id(first)].items()}.values()
    )
    count = f"{len(differ)} of {counted(len(several), 'reduction')}"
    if is_certain and 2 * len(differ) > len(several):
        raise InputError(
            f"sizes differ in {count}, such as {first.kind} of group {excerpt(first.group)} with {shown}: "
            "the files are not of one step; give the files of one run"
        )
    notes.append(f"sizes differ in {count}, such as {first.kind} with {shown}: ranks may do different things")
