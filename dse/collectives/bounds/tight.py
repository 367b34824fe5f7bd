"""How all-reduces past passive switches begin and end in parts of nodes, where messages are fewest.

A chunk is tight if it has 2 G - 2 messages between G parts with NPUs (`crossings`).

If all chunks are tight, count how many sums there are. A part of n NPUs with the sum of its own has got n - 1
messages from inside. Of a chunk with r < G such parts r messages have left at most: each part that has one
sends one towards a first part or, if some part u lacks its sum, lies on the way of u to the first part and
sends none towards it. Then at most as many have got all from others as lie on that way, with the first part.
So the k-th message of all leaves when so many parts have their sums, and not before the link is free again
that began another L messages ago, of L links. It takes the shortest way. Backwards in time the same holds, so
the k-th message from the start and the k-th from the end fit into T, for each k.

The messages until a first part knows all are a tree into it, and the later ones a tree out of it. If G is 4
or more, and no three messages follow each other, both are stars around one part. What it sends first needs
the sums of all parts but the receiver, and each further message all of them. So j messages of stars have left
only when enough sums have come, and the j-th from the start and its like from the end, two ways apart, fit
into T.

If L links out of parts are all alike, and L links into them, and 2 K (G - 1) messages of K chunks fill each,
let T be less than what one more message on a link takes, plus the time in which two NPUs get a sum, or a
copy. Then with E messages more E links begin with an early one, which has what one NPU contributes, and E end
with a late one, of use to one NPU. Of a chunk let x be only early or only late, b both, and e more than 2 G -
2. Choose an NPU of each part as its sender, and one as its receiver. Of the early and late messages leave out
all but theirs: the rest still joins all parts, so there are 2 G - 2 or more. Choose them at random from n
NPUs: in the mean x / n and b / n² stay. If x < n / 2, choose from those without messages that are only early,
or late: b / (n (n - x)) stay, in whole numbers. So x + 2 b < 2 e unless x is 0 or b > n² / 2, or n < 4. In
all x + 2 b is 2 E or more, and b less than L if there is any x. With 2 (L - 1) < n² there is none, and b is e
for each chunk: without these messages all are tight. The NPUs of each part still reach some of any other.

Where all links between parts join NPUs, a first message of a link is not its last one: b is 0. Let T be less
than with the time in which k NPUs get a sum, or a copy, where k is n / 2, rounded up. An early message has
what k - 1 NPUs contribute, at most, and a late one is of use to as many. Of x messages x (k - 1) / n stay in
the mean, so x is e n / (n - k + 1) at most, and not 2 e: all chunks are tight.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.spreads import Spreads
from dse.collectives.bounds.view import NEVER, View

_MOST_MESSAGES = 100_000  # of tight chunks, whose starts are listed


class Ends(NamedTuple):
    """When the first messages of tight chunks leave parts at the earliest, and the last before the end.

    `first_ps` and `last_ps` are the least times of sums and of copies in a part, `leaves_ps` and `comes_ps`
    when the k-th message from part to part leaves at the earliest, and comes before the end, if all chunks
    are tight. Its way takes `way_ps`, and `there_and_back_ps` is the least time with messages to a part and
    back. If not all chunks are tight, `more_ps` is the least time; 0: not known.
    """

    first_ps: int
    last_ps: int
    leaves_ps: list[int]
    comes_ps: list[int]
    way_ps: int
    there_and_back_ps: int
    more_ps: int

    @property
    def inside_ps(self) -> int:
        """Return the time that messages of a tight chunk leave for sums and copies inside of parts."""
        return self.first_ps + self.last_ps

    @property
    def all_tight_ps(self) -> int:
        """The least time if all chunks are tight."""
        ends = zip(self.leaves_ps, reversed(self.comes_ps), strict=True)
        fitting = max((leaves + self.way_ps + comes for leaves, comes in ends), default=0)
        return max(fitting, self.there_and_back_ps)

    @classmethod
    def of(cls, view: View, part: NDArray[np.int64]) -> Ends | None:
        """Return those of parts with two NPUs or more each; None where a switch copies or adds."""
        graph, collective = view.problem.graph, view.problem.collective
        back = View(replace(view.problem, graph=graph.transposed), view.deadline)
        into, out = Spreads.of(view, turned=True), Spreads.of(view)
        if into is None or out is None or len(collective.members) != graph.npus:
            return None
        members = part[: graph.npus].tolist()
        npus = min(map(members.count, set(members)))
        sums, copies = (spreads.least_times(npus) for spreads in (into, out))
        if npus < 2 or min(len(sums), len(copies)) < npus:
            return None
        made, spread = _sums(view, part, npus, sums[-1]), _sums(back, part, npus, copies[-1])
        leaves, comes = _starts(view, part, made), _starts(back, part, spread)
        way_ps = _shortest_way(view, part)
        around_ps = _there_and_back(made, spread, len(set(members)), way_ps)
        more_ps = _more(view, part, way_ps, [min(both) for both in zip(sums, copies, strict=False)][:npus])
        return cls(sums[-1], copies[-1], leaves, comes, way_ps, around_ps, more_ps)


def _has_npus(view: View, part: NDArray[np.int64]) -> NDArray[np.bool_]:
    graph = view.problem.graph
    return np.isin(part, part[: graph.npus])


def _sums(view: View, part: NDArray[np.int64], npus: int, first_ps: int) -> list[int]:
    """When 1, 2, … parts can have the sum of a chunk: of `npus` NPUs, which take `first_ps` or longer.

    Nothing where they are too many.
    """
    graph, chunks = view.problem.graph, view.problem.collective.chunks
    parts = len(set(part[: graph.npus].tolist()))
    if 2 * (parts - 1) * chunks > _MOST_MESSAGES:
        return []
    inside = (part[graph.sources] == part[graph.destinations]) & (graph.destinations < graph.npus)
    times = _deliveries(view, inside, parts * chunks * (npus - 1))[npus - 2 :: npus - 1]
    return [max(first_ps, time) for time in times]


def _starts(view: View, part: NDArray[np.int64], sums: list[int]) -> list[int]:
    """When 1, 2, … messages of tight chunks leave parts, which have 1, 2, … sums at such times."""
    graph, chunks = view.problem.graph, view.problem.collective.chunks
    parts = len(set(part[: graph.npus].tolist()))
    each = 2 * (parts - 1)
    leaves = (part[graph.sources] != part[graph.destinations]) & _has_npus(view, part)[graph.sources]
    links, held = int(leaves.sum()), int(view.problem.held_ps[leaves].min(initial=NEVER))
    starts: list[int] = []
    for number in range(1, chunks * each + 1 if sums else 0):
        needed = parts * (number // each) + min(number % each, parts)
        start = sums[needed - 1] if needed <= len(sums) else NEVER
        starts.append(max(start, starts[-links] + held) if number > links else start)
    return starts


def _there_and_back(sums: list[int], copies: list[int], parts: int, way_ps: int) -> int:
    """The least time of tight chunks with messages to a part and back, or with three after each other.

    Parts have their sums, and before the end what they are to copy, at such times.
    """
    others = parts - 1
    count = min(len(sums), len(copies)) // parts * others
    if parts < 4 or not count:
        return 0
    least = 0
    for one, other in ((sums, copies), (copies, sums)):
        for number in range(1, count + 1):
            full, more = divmod(number, others)
            needed = full * others + (0, others - 1)[more] if more < 2 else (full + 1) * others
            least = max(least, one[needed - 1] + 2 * way_ps + other[count - number])
    return min(least, sums[0] + 3 * way_ps + copies[0])


def _deliveries(view: View, chosen: NDArray[np.bool_], need: int) -> list[int]:
    """When chosen links can have made 1, 2, … up to so many deliveries; none if they never can."""
    problem, graph = view.problem, view.problem.graph
    until = view.deliveries_ps(chosen, need)
    if until == NEVER:
        return []
    first = (view.first_ps[graph.sources] + problem.arrival_ps)[chosen]
    held = np.maximum(problem.held_ps[chosen], 1)
    counts = np.maximum((until - first) // held + 1, 0)
    number = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    times: list[int] = np.sort(np.repeat(first, counts) + number * np.repeat(held, counts)).tolist()
    return times[:need]


def _shortest_way(view: View, part: NDArray[np.int64]) -> int:
    """The least time from when a message begins to leave a part with NPUs until it is in another."""
    graph, ends = view.problem.graph, _has_npus(view, part)
    onward = view.links.distances(np.flatnonzero(ends).astype(np.uint32), reversed=True)
    leaves = (part[graph.sources] != part[graph.destinations]) & ends[graph.sources]
    return int((view.problem.arrival_ps + onward[graph.destinations])[leaves].min(initial=NEVER))


def _more(view: View, part: NDArray[np.int64], way_ps: int, whole_ps: list[int]) -> int:
    """The least time in which not all chunks are tight, but for messages in vain; 0 if not known.

    Sums, or copies, of 1, 2, … up to the NPUs of a part take the times `whole_ps`.
    """
    graph = view.problem.graph
    crosses, ends = part[graph.sources] != part[graph.destinations], _has_npus(view, part)
    joins_npus = not (crosses & ((graph.sources >= graph.npus) | (graph.destinations >= graph.npus))).any()
    messages = 2 * (len(set(part[: graph.npus].tolist())) - 1) * view.problem.collective.chunks
    least, npus = NEVER, len(whole_ps)
    early_ps = whole_ps[(npus - 1) // 2 if joins_npus else 1]
    for nodes in (graph.sources, graph.destinations):
        chosen = crosses & ends[nodes]
        links, held = int(chosen.sum()), np.unique(view.problem.held_ps[chosen])
        of_npus = np.bincount(nodes[chosen], minlength=graph.nodes)
        if len(held) != 1 or messages % links or npus < (3 if joins_npus else 4):
            return 0
        if not joins_npus and (2 * (links - 1) >= npus**2 or of_npus.max() >= npus):
            return 0
        if of_npus[graph.npus :].any():
            return 0
        least = min(least, messages // links * int(held[0]) + way_ps + min(early_ps, int(held[0])))
    return least
