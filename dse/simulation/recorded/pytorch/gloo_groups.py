"""The process groups of gloo's collectives, which it does not name: by the threads that ran them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from dse.simulation.recorded.pytorch.execution_trace import Group
from dse.simulation.recorded.pytorch.matching import Match
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work

_THREADS_OF_GROUP = 2
"""Gloo runs the work of a process group on two threads, which it makes when it makes the group."""

_MOST_CHOICES = 256
_MOST_UNTIMELY = 0.05

Pairs = Mapping[int, Sequence[Sequence[Work]]]
"""By rank, the works of each pair of threads, in the order of the threads."""

Choice = list[tuple[str, Sequence[Work]]]
"""The group of each pair of threads of a rank."""


def name_by_threads(ranks: Sequence[RecordedRank], groups: Mapping[str, Group]) -> None:
    """Give the works of each pair of threads a group.

    Groups are made in the same order as their threads. Of the choices for which all ranks of a group did the
    same, and no rank was done before another one began, the one is taken that leaves the least time after all
    had begun. Where there is none, all works are of the largest group of their rank.
    """
    own = {rank.rank: _own_groups(rank, groups) for rank in ranks}
    pairs = {rank.rank: _pairs(rank.works, len(own[rank.rank])) for rank in ranks}
    fewest = min((len(works) for works in pairs.values()), default=0)
    pairs = {rank.rank: _pairs(rank.works, fewest) for rank in ranks}
    found: tuple[int, Mapping[int, Choice]] | None = None
    for choice in _choices(pairs, own):
        cost = _cost(choice, groups)
        if cost is not None and (found is None or cost < found[0]):
            found = cost, choice
    if found is not None:
        for named in found[1].values():
            for name, works in named:
                for work in works:
                    work.group = name
    for rank in ranks:
        largest = max(own[rank.rank], key=lambda name: len(groups[name].ranks), default=next(iter(groups)))
        for work in rank.works:
            if not work.group and not work.is_message:
                work.group = largest


def _own_groups(rank: RecordedRank, groups: Mapping[str, Group]) -> list[str]:
    """Return the groups of several ranks that a rank is in, in the order in which it made them."""
    made = {group.ranks: at for at, group in enumerate(rank.groups)}
    own = [name for name, group in groups.items() if rank.rank in group.ranks and len(group.ranks) > 1]
    return sorted(own, key=lambda name: made.get(groups[name].ranks, len(made)))


def _pairs(works: Sequence[Work], most: int) -> list[list[Work]]:
    """Return the works by the pair of threads that ran them, in the order of the threads.

    The threads of a pair have numbers one after the other, unless the machine made others in between: then,
    if no pair has one thread only, each two are a pair.
    """
    threads = sorted({work.runs_on for work in works if work.runs_on is not None and not work.group})
    pair_of: dict[int, int] = {}
    first = -1
    for thread in threads:
        if first < 0 or thread - first >= _THREADS_OF_GROUP:
            first = thread
        pair_of[thread] = first
    if len(set(pair_of.values())) > most:
        pair_of = {thread: threads[at - at % _THREADS_OF_GROUP] for at, thread in enumerate(threads)}
    pairs: dict[int, list[Work]] = {first: [] for first in sorted(set(pair_of.values()))}
    for work in works:
        if work.runs_on is not None and not work.group:
            pairs[pair_of[work.runs_on]].append(work)
    return list(pairs.values())


def _choices(pairs: Pairs, own: Mapping[int, Sequence[str]]) -> Iterable[Mapping[int, Choice]]:
    """Return the choices that are the same for all ranks, which run one program."""
    counts = {(len(own[rank]), len(pairs[rank])) for rank in pairs}
    if len(counts) != 1:
        return
    (group_count, pair_count) = next(iter(counts))
    combinations = itertools.combinations(range(group_count), pair_count)
    for places in itertools.islice(combinations, _MOST_CHOICES):
        yield {
            rank: [(own[rank][place], works) for place, works in zip(places, pairs[rank], strict=True)]
            for rank in pairs
        }


def _cost(choice: Mapping[int, Choice], groups: Mapping[str, Group]) -> int | None:
    """Return the time that all works take once everybody has begun; None for a choice that cannot be."""
    rows: dict[str, dict[int, Sequence[Work]]] = {}
    for rank, named in choice.items():
        for name, works in named:
            rows.setdefault(name, {})[rank] = works
    cost = count = untimely = 0
    for name, by_rank in rows.items():
        group = groups[name]
        signs = {tuple((work.kind, work.size_bytes) for work in works) for works in by_rank.values()}
        if len(signs) > 1 or any(rank in choice and rank not in by_rank for rank in group.ranks):
            return None
        for works in zip(*by_rank.values(), strict=True):
            match = Match(works[0].kind, name, group.ranks, dict(zip(by_rank, works, strict=True)))
            latest = max(work.begin for work in works)
            cost += sum(max(0, work.end - latest) for work in works)
            count += 1
            untimely += not match.is_timely
    return None if untimely > _MOST_UNTIMELY * count else cost
