"""The process groups of gloo's collectives, which it does not name: by the threads that ran them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dse.simulation.recorded.pytorch.execution_trace import Group
from dse.simulation.recorded.pytorch.matching import Match
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work

_THREADS_OF_GROUP = 2
"""Gloo runs the work of a process group on two threads, which it makes when it makes the group."""

_MOST_CHOICES = 256
_MOST_CHOICES_OF_GROUPS = 8


@dataclass(frozen=True)
class Split:
    """The works of each group of a rank, in the order of its threads.

    `signs` has a hash of the kinds and sizes of each group, `between` counts the other threads that the
    machine made between the two of a pair.
    """

    works: Sequence[Sequence[Work]]
    signs: Sequence[int]
    between: int


@dataclass(frozen=True)
class Choice:
    """By rank, the name of each group, and the works of each."""

    names: Mapping[int, Sequence[str]]
    splits: Mapping[int, Split]

    def groups(self) -> Iterator[tuple[int, str, Sequence[Work]]]:
        """Yield rank, group and works."""
        for rank, split in self.splits.items():
            for name, works in zip(self.names[rank], split.works, strict=True):
                yield rank, name, works


def name_by_threads(ranks: Sequence[RecordedRank], groups: Mapping[str, Group]) -> None:
    """Give the works of each pair of threads a group.

    Groups are made in the same order as their threads. Of the choices for which all ranks of a group did the
    same, the one is taken in which the fewest works ended before another rank began, then the one with the
    fewest other threads between those of a pair, then the one with the least time after all had begun. Where
    there is none, all works are of the largest group of their rank.
    """
    own = {rank.rank: _own_groups(rank, groups) for rank in ranks}
    found: tuple[tuple[int, int, int], Choice] | None = None
    for choice in itertools.islice(_choices(ranks, own), _MOST_CHOICES):
        cost = _cost(choice, groups)
        if cost is not None and (found is None or cost < found[0]):
            found = cost, choice
    if found is not None:
        for _, name, works in found[1].groups():
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


def _choices(ranks: Sequence[RecordedRank], own: Mapping[int, Sequence[str]]) -> Iterator[Choice]:
    """Yield the choices that are of the same groups for all ranks, which run one program."""
    threads = {rank.rank: _threads(rank) for rank in ranks}
    fewest = max((-(-len(numbers) // _THREADS_OF_GROUP) for numbers in threads.values()), default=0)
    most = min((min(len(threads[rank]), len(own[rank])) for rank in threads), default=0)
    for count in range(max(1, fewest), most + 1):
        splits = {rank: _splits(numbers, count) for rank, numbers in threads.items()}
        chosen_places = itertools.combinations(range(min(map(len, own.values()))), count)
        for places in itertools.islice(chosen_places, _MOST_CHOICES):
            names = {rank: [own[rank][place] for place in places] for rank in own}
            agreeing = _agreeing(splits, names)
            for chosen in itertools.islice(itertools.product(*agreeing.values()), _MOST_CHOICES_OF_GROUPS):
                yield Choice(names, dict(zip(agreeing, chosen, strict=True)))


def _threads(rank: RecordedRank) -> list[tuple[int, list[Work]]]:
    """Return the threads that ran works without a group, by their numbers, and these works."""
    works: dict[int, list[Work]] = {}
    for work in rank.works:
        if work.runs_on is not None and not work.group:
            works.setdefault(work.runs_on, []).append(work)
    return sorted(works.items())


def _splits(threads: Sequence[tuple[int, list[Work]]], count: int) -> list[Split]:
    """Return all ways to make `count` groups of threads that follow each other, the most likely ones first.

    A thread of a pair may have had no work, and the machine may have made other threads in between.
    """
    found: list[Split] = []
    pairs = len(threads) - count
    for paired in itertools.islice(itertools.combinations(range(count), pairs), _MOST_CHOICES):
        between, at = 0, 0
        groups: list[list[Work]] = []
        for number in range(count):
            size = _THREADS_OF_GROUP if number in paired else 1
            between += threads[at + size - 1][0] - threads[at][0] - (size - 1)
            groups.append(sorted((work for _, own in threads[at : at + size] for work in own), key=_order))
            at += size
        found.append(Split(groups, [hash(_signs(works)) for works in groups], between))
    return sorted(found, key=lambda split: split.between)


def _order(work: Work) -> int:
    return work.order


def _agreeing(
    splits: Mapping[int, Sequence[Split]], names: Mapping[int, Sequence[str]]
) -> Mapping[int, Sequence[Split]]:
    """Return the splits of each rank for which each other rank has one that did the same in their group."""
    while True:
        possible: dict[str, set[int]] = {}
        for rank, own in splits.items():
            for place, name in enumerate(names[rank]):
                mine = {split.signs[place] for split in own}
                possible[name] = possible.get(name, mine) & mine
        left = {
            rank: [
                split
                for split in own
                if all(sign in possible[name] for name, sign in zip(names[rank], split.signs, strict=True))
            ]
            for rank, own in splits.items()
        }
        if left == splits:
            return left
        splits = left


def _signs(works: Sequence[Work]) -> tuple[tuple[str, int], ...]:
    return tuple((work.kind, work.size_bytes) for work in works)


def _cost(choice: Choice, groups: Mapping[str, Group]) -> tuple[int, int, int] | None:
    """Return how unlikely a choice is, the most important number first; None if it cannot be."""
    rows: dict[str, dict[int, Sequence[Work]]] = {}
    for rank, name, works in choice.groups():
        rows.setdefault(name, {})[rank] = works
    untimely = time_ns = 0
    for name, by_rank in rows.items():
        group = groups[name]
        differ = len(set(map(_signs, by_rank.values()))) > 1
        if differ or any(rank in choice.splits and rank not in by_rank for rank in group.ranks):
            return None
        for members in zip(*by_rank.values(), strict=True):
            match = Match(members[0].kind, name, group.ranks, dict(zip(by_rank, members, strict=True)))
            latest = max(work.begin for work in members)
            time_ns += sum(max(0, work.end - latest) for work in members)
            untimely += not match.is_timely
    return untimely, sum(split.between for split in choice.splits.values()), time_ns
