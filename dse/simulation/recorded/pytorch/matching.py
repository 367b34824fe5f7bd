"""Communications of several ranks: which work of one rank belongs to which work of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work

_MOST_SHIFT = 8
_ALL_WAIT = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
_CLOCK_TOLERANCE_NS = 100_000


@dataclass(eq=False)
class Match:
    """Works of recorded ranks, by rank, that are one communication of `members`."""

    kind: str
    group: str
    members: tuple[int, ...]
    works: dict[int, Work]

    @property
    def size_bytes(self) -> int:
        """The largest input of a recorded member."""
        return max(work.size_bytes for work in self.works.values())

    @property
    def is_timely(self) -> bool:
        """Whether no rank was done before another one, for which it must wait, had begun."""
        if self.kind not in _ALL_WAIT:
            return True
        latest = max(work.begin for work in self.works.values())
        return all(work.end + _CLOCK_TOLERANCE_NS >= latest for work in self.works.values())


def match_collectives(ranks: Sequence[RecordedRank], group: str, members: tuple[int, ...]) -> list[Match]:
    """Return the collectives of a group: the k-th of one rank is the k-th of another one.

    A rank whose recording began or ended some collectives earlier is shifted, so that kinds and sizes agree.
    """
    rows = {
        rank.rank: [work for work in rank.works if work.group == group and not work.is_message]
        for rank in ranks
        if rank.rank in members
    }
    longest = max(rows.values(), key=len, default=[])
    found: dict[tuple[int, str], Match] = {}
    for rank, works in rows.items():
        shift = _shift(longest, works)
        for at, work in enumerate(works):
            match = found.setdefault((at + shift, work.kind), Match(work.kind, group, members, {}))
            match.works[rank] = work
    return list(found.values())


def match_messages(ranks: Sequence[RecordedRank]) -> list[Match]:
    """Return the messages: the k-th send of a rank to another one is the k-th that this one receives."""
    queues: dict[tuple[str, int, int], dict[str, list[Work]]] = {}
    for rank in ranks:
        for work in rank.works:
            if work.is_message:
                pair = (rank.rank, work.peer) if work.kind == "send" else (work.peer, rank.rank)
                queues.setdefault((work.group, *pair), {}).setdefault(work.kind, []).append(work)
    found = []
    for (group, source, target), sides in queues.items():
        sends, receives = sides.get("send", []), sides.get("receive", [])
        shift = _shift(sends, receives)
        messages: dict[int, dict[int, Work]] = {}
        for at, work in enumerate(sends):
            messages.setdefault(at, {})[source] = work
        for at, work in enumerate(receives):
            messages.setdefault(at + shift, {})[target] = work
        found += [Match("message", group, (source, target), works) for works in messages.values()]
    return found


def _shift(longest: Sequence[Work], works: Sequence[Work]) -> int:
    """Return the place in `longest` at which `works` begin: where most of them agree, the nearest to 0."""
    if [_sign(work) for work in longest] == [_sign(work) for work in works]:
        return 0
    signs = [_sign(work) for work in longest]

    def agreeing(shift: int) -> int:
        pairs = ((at + shift, _sign(work)) for at, work in enumerate(works))
        return sum(0 <= at < len(signs) and signs[at] == sign for at, sign in pairs)

    return max(sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs), key=agreeing)


def _sign(work: Work) -> tuple[str, int]:
    return ("message" if work.is_message else work.kind, work.size_bytes)


def untimely(matches: Iterable[Match]) -> Mapping[bool, int]:
    """Count the communications of several ranks that are timely, and those that are not."""
    counts = {True: 0, False: 0}
    for match in matches:
        if len(match.works) > 1:
            counts[match.is_timely] += 1
    return counts
