"""All schedules of small problems whose links take one step each: an oracle for bounds."""

from __future__ import annotations

import itertools

from dse.collectives import Problem

Places = tuple[int, ...]  # per node and chunk whose contributions are there, as bits


def first_places(problem: Problem) -> list[int]:
    places = [0] * (problem.graph.nodes * problem.collective.chunks)
    npus, chunks = problem.collective.sources()
    for npu, chunk in zip(npus.tolist(), chunks.tolist(), strict=True):
        places[npu * problem.collective.chunks + chunk] |= 1 << npu
    return places


def can_end_by(problem: Problem, steps: int) -> bool:
    """Whether some schedule ends by a step, where all links take one: all sends of all steps are tried.

    Engines of NPUs are as many as the graph says.
    """
    chunks = problem.collective.chunks
    ends = list(zip(problem.graph.sources.tolist(), problem.graph.destinations.tolist(), strict=True))
    first = first_places(problem)
    full = [0] * chunks
    for place, bits in enumerate(first):
        full[place % chunks] |= bits
    npus, wanted = problem.collective.wants()
    wants = [(n * chunks + c, full[c]) for n, c in zip(npus.tolist(), wanted.tolist(), strict=True)]
    ways = [[0 if a == b else 99 for b in range(problem.graph.nodes)] for a in range(problem.graph.nodes)]
    for _ in ways:
        for a, b in ends:
            ways[a] = [min(now, 1 + on) for now, on in zip(ways[a], ways[b], strict=True)]
    seen: set[tuple[Places, int]] = set()

    engines = dict(problem.graph.max_sends), dict(problem.graph.max_receives)

    def has_engines(sends: tuple[int, ...]) -> bool:
        for most, end in zip(engines, (0, 1), strict=True):
            driven = [pair[end] for pair, chunk in zip(ends, sends, strict=True) if chunk >= 0]
            if any(driven.count(npu) > number for npu, number in most.items()):
                return False
        return True

    def is_late(now: Places, left: int) -> bool:
        """Whether some contribution is too far from an NPU that wants it."""
        for place, needed in wants:
            node, chunk = divmod(place, chunks)
            for bit in range(problem.graph.npus):
                holders = (n for n in range(problem.graph.nodes) if now[n * chunks + chunk] >> bit & 1)
                if needed >> bit & 1 and min(ways[n][node] for n in holders) > left:
                    return True
        return False

    def arrived(now: Places, sends: tuple[int, ...]) -> Places | None:
        """Return which NPU holds which chunk a step later; None if a contribution would be added twice."""
        then = list(now)
        for (there, to), chunk in zip(ends, sends, strict=True):
            if chunk < 0:
                continue
            comes, place = now[there * chunks + chunk], to * chunks + chunk
            if comes == full[chunk]:
                then[place] = comes
            elif then[place] & comes:
                return None
            else:
                then[place] |= comes
        return tuple(then)

    def search(now: Places, left: int) -> bool:
        if all(now[place] == needed for place, needed in wants):
            return True
        if left == 0 or (now, left) in seen or is_late(now, left):
            return False
        seen.add((now, left))
        options = []
        for there, to in ends:
            useful = [
                c
                for c in range(chunks)
                if now[there * chunks + c]
                and now[to * chunks + c] != full[c]
                and (now[there * chunks + c] == full[c] or not now[to * chunks + c] & now[there * chunks + c])
            ]
            options.append([*useful, -1])
        for sends in itertools.product(*options):
            if not has_engines(sends):
                continue
            then = arrived(now, sends)
            if then is not None and then != now and search(then, left - 1):
                return True
        return False

    return search(tuple(first), steps)
