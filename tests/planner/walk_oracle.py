"""Metis's walk in plain Python, rule by rule as the specification has it: slow, and without tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, plain_sum
from dse.planner.search.engine_arrays import layer_weights

Vector = list[float]
SUBLAYERS = 7


class NeverEnds(Exception):  # noqa: N818 (what the program that is imitated does)
    """Memory balancing would loop for ever."""


def compositions(gpus: int, stages: int, scale: int) -> list[tuple[int, ...]]:
    """Return the non-decreasing tuples of powers of two with the sum `gpus`, in lexicographic order."""
    least = max(gpus // stages, stages // gpus) * scale
    shapes = [2**i for i in range(gpus.bit_length()) if least <= 2**i <= gpus]

    def grow(parts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(parts) == stages:
            if sum(parts) == gpus:
                yield parts
            return
        for shape in shapes:
            if (not parts or shape >= parts[-1]) and sum(parts) + shape * (stages - len(parts)) <= gpus:
                yield from grow((*parts, shape))

    return list(grow(()))


def merged(composition: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Return the composition as units, fused in pairs until there are at most `limit`."""
    units = [(shape,) for shape in composition]
    need = len(units) - limit
    while need > 0:
        total = sum(units[0])
        others = [i for i, unit in enumerate(units) if unit != units[0]]
        lead = others[0] + 1 if others else len(units)
        need = max(need, lead // 2)
        fused = []
        for j in range(0, len(units), 2):
            pair = units[j : j + 2]
            if len(pair) == 2 and j // 2 < need and sum(pair[0]) == sum(pair[1]) == total:
                fused.append(pair[0] + pair[1])
            else:
                fused.extend(pair)
        units = fused
        if need == len(units) - limit:
            break
        need = len(units) - limit
    return units


def arrangements(units: Sequence[tuple[int, ...]]) -> Iterator[list[int]]:
    """Visit the distinct arrangements by prefix shifts, each as one list."""
    start = sorted(units, reverse=True)
    a = start
    while True:
        yield [gpus for unit in a for gpus in unit]
        n = len(a)
        i = next((i for i in range(1, n) if a[i] > a[i - 1]), n)  # length of the non-increasing prefix
        at = n - 1 if i >= n - 1 else (i + 1 if a[i + 1] <= a[i - 1] else i)
        a = [a[at], *a[:at], *a[at + 1 :]]
        if a == start:
            return


def device_groups(gpus: int, stages: int, scale: int, limit: int) -> list[list[int]]:
    """Return all lists of groups in the order of the walk."""
    return [
        groups
        for composition in compositions(gpus, stages, scale)
        for groups in arrangements(merged(composition, limit))
    ]


def split(speeds: Sequence[float], batch: int) -> list[int]:
    """Return the samples of each replica."""
    total = plain_sum(speeds)
    shares = [batch * (speed / total) for speed in speeds]
    samples = [int(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda r: -(shares[r] - samples[r]))
    for replica in order[: batch - sum(samples)]:
        samples[replica] += 1
    return samples


def powers(samples: int) -> list[int]:
    """Return the powers of two in the binary form, the largest first."""
    return [2**k for k in reversed(range(samples.bit_length())) if samples >> k & 1]


def partition(weights: Sequence[float], shares: Sequence[float]) -> list[int]:
    """Return the bounds of the stages' layers."""
    sub = [w / SUBLAYERS for w in weights for _ in range(SUBLAYERS)]
    n, stages = len(sub), len(shares)
    room, held = list(shares), [set[int]() for _ in shares]

    def take(stage: int, q: int) -> None:
        room[stage] -= sub[q]
        held[stage].add(q)

    q = 0
    for stage in range(stages - 1):
        while q <= n - 9:
            q += 1
            if room[stage] > sub[q - 1]:
                take(stage, q - 1)
            else:
                break
    free = sorted(set(range(n)) - set().union(*held))
    for rank, q in enumerate(reversed(free)):
        if rank < 7 or (q + 1 == min(held[-1]) and room[-1] > sub[q]):
            take(stages - 1, q)
    for q in sorted(set(range(n)) - set().union(*held)):
        below = [(max(h), i) for i, h in enumerate(held) if h and max(h) < q]
        above = [(min(h), i) for i, h in enumerate(held) if h and min(h) > q]
        lower, upper = max(below)[1] if below else 0, min(above)[1] if above else stages - 1
        take(max(range(lower, upper + 1), key=lambda i: (room[i], -i)), q)
    layers = [
        {
            layer
            for layer in range(len(weights))
            if sum(layer * SUBLAYERS + k in h for k in range(SUBLAYERS)) >= 4
        }
        for h in held
    ]
    room = [
        share - plain_sum(weights[min(own) : max(own) + 1]) if own else share
        for share, own in zip(shares, layers, strict=True)
    ]
    for _ in range(3):
        if not _moved(weights, room, layers):
            break
    bounds = [0]
    for own in layers:
        bounds.append(bounds[-1] + len(own))
    return bounds


def _moved(weights: Sequence[float], room: Vector, layers: list[set[int]]) -> bool:
    most = max(room)
    i = room.index(most)
    neighbours = [j for j in (i - 1, i + 1) if 0 <= j < len(room)]
    if not neighbours:
        return False
    j = min(neighbours, key=lambda j: room[j])
    if len(layers[j]) < 2:
        return False
    layer = max(layers[j]) if j < i else min(layers[j])
    tried = list(room)
    tried[i] -= weights[layer]
    tried[j] += weights[layer]
    if max(tried) > most:
        return False
    room[:] = tried
    layers[j].remove(layer)
    layers[i].add(layer)
    return True


def rebalanced(shares: Vector, capacity: Vector, demand: Vector) -> Vector | None:
    """Return another performance vector, or None."""
    base, free, need = [], [], 0.0
    for c, m, d in zip(shares, capacity, demand, strict=True):
        if m > d:
            base.append(c)
            free.append(c * m / d - c)
        else:
            base.append(c * (m / d) * 0.9)
            free.append(0.0)
            need += c - base[-1]
    if plain_sum(free) < need:
        return None
    extra = [0.0] * len(shares)
    while need > 0.01:
        with_room = [f > 0.001 for f in free]
        total = plain_sum(c for c, has in zip(shares, with_room, strict=True) if has)
        if not any(with_room):
            raise NeverEnds
        ratios = [c / total if has else 0.0 for c, has in zip(shares, with_room, strict=True)]
        for i, ratio in enumerate(ratios):
            given = need * ratio
            given = min(given, free[i])
            extra[i] += given
            free[i] -= given
            need -= given
    return [e + b for e, b in zip(extra, base, strict=True)]


class Walked(NamedTuple):
    """What the oracle found: emitted plans, priced or not, and the count."""

    plans: list[ClusterPlan]
    count: int


class Oracle:
    """The walk over a problem whose hosts all have as many GPUs."""

    def __init__(self, problem: PlanProblem, strat: bool) -> None:
        """Weigh the layers."""
        self.problem, self.strat = problem, strat
        self.weights = layer_weights(problem.profiles)
        self.gpus = problem.cluster.gpus

    def run(self) -> Walked:
        """Walk all outer plans."""
        plans = [plan for outer in self._outer_plans() for plan in self._plans(*outer)]
        return Walked(plans, sum(plan.delta for plan in plans))

    def _outer_plans(self) -> Iterator[tuple[tuple[str, ...], list[int], int, int]]:
        problem = self.problem
        batches = [b for b in range(problem.gbs, 0, -1) if problem.gbs % b == 0]
        lists = {
            stages: device_groups(self.gpus, stages, problem.group_scale, problem.permutation_limit)
            for stages in range(1, min(self.gpus, problem.layers) + 1)
        }
        for number, types in enumerate(permutations(problem.type_order)):
            visits = [(stages, stages) for stages in lists]
            if number > 0:
                least = next((stages for stages in lists if stages > 1 and lists[stages]), None)
                visits = ([(least, 1)] if least else []) + visits[1:]
            for stages, costed in visits:
                for groups in lists[stages]:
                    for count in batches:
                        yield types, groups, costed, count

    def _plans(
        self, types: tuple[str, ...], groups: list[int], costed: int, batches: int
    ) -> Iterator[ClusterPlan]:
        problem = self.problem
        ranks = [
            host.type
            for type_ in types
            for host in problem.cluster.hosts
            if host.type == type_
            for _ in range(host.gpus)
        ]
        of_stage = [ranks[sum(groups[:i]) : sum(groups[: i + 1])] for i in range(len(groups))]
        capacity = [plain_sum(1024 * problem.cluster.memory_gib[t] for t in own) for own in of_stage]
        dps, delta = list(groups), 0
        last: Vector | None = None
        first: Vector | None = None
        while True:
            tps = [g // dp for g, dp in zip(groups, dps, strict=True)]
            sizes = [problem.gbs // (dp * batches) for dp in dps]
            if all(1 <= s <= problem.max_batch for s in sizes) and max(tps) <= problem.max_tp:
                shares = [
                    self._performance(own, dp, tp, size, batches)
                    for own, dp, tp, size in zip(of_stage, dps, tps, sizes, strict=True)
                ]
                total = plain_sum(shares)
                vector: Vector | None = [share / total for share in shares]
                last = first = None
                for attempt in (1, 2, 3):
                    assert vector is not None
                    bounds = partition(self.weights, vector)
                    demand = [
                        self._demand(ranks, types[0], own, dp, tp, size, batches, bounds[i : i + 2])
                        for i, (own, dp, tp, size) in enumerate(zip(of_stage, dps, tps, sizes, strict=True))
                    ]
                    state = [m - d for m, d in zip(capacity, demand, strict=True)]
                    if min(state) >= 0:
                        last = state
                        strategies = tuple(zip(dps, tps, strict=True))
                        yield ClusterPlan(
                            types, tuple(groups), strategies, batches, tuple(bounds), costed, attempt, delta
                        )
                        delta = 0
                        if attempt == 1:
                            return
                        break
                    delta += 1
                    if attempt == 1:
                        first = state
                    vector = rebalanced(vector, capacity, demand) if attempt < 3 else None
                    if vector is None:
                        break
            delta += 1
            keys = (first if self.strat and first else None) or last or [1 / dp for dp in dps]
            chosen = [i for i in sorted(range(len(dps)), key=lambda i: keys[i]) if dps[i] != 1]
            if not chosen:
                return
            dps[chosen[0]] //= 2

    def _profile(self, type_: str, tp: int, batch: int) -> Profile:
        return self.problem.profiles.profiles[ProfileKey(type_, tp, batch)]

    def _layers_ms(self, type_: str, tp: int, batch: int) -> float:
        return plain_sum(self._profile(type_, tp, batch).layer_ms)

    def _split(self, ranks: Sequence[str], dp: int, tp: int, batch: int) -> list[tuple[str, int]]:
        heads = [ranks[r * (len(ranks) // dp)] for r in range(dp)]
        return list(zip(heads, split([1 / self._layers_ms(t, tp, 1) for t in heads], batch), strict=True))

    def _performance(self, own: Sequence[str], dp: int, tp: int, size: int, batches: int) -> float:
        if len(set(own)) == 1:
            return 1 / self._layers_ms(own[0], tp, size)
        slowest = max(
            plain_sum(self._layers_ms(type_, tp, power) for power in powers(samples))
            for type_, samples in self._split(own, dp, tp, self.problem.gbs // batches)
        )
        return 1 / slowest if slowest else 0.0

    def _demand(
        self,
        ranks: Sequence[str],
        first: str,
        own: Sequence[str],
        dp: int,
        tp: int,
        size: int,
        batches: int,
        layers: Sequence[int],
    ) -> float:
        sizes = [size]
        if len(set(own)) > 1:
            parts = self._split(ranks, dp, tp, self.problem.gbs // batches)
            sizes = [power for _, samples in parts for power in powers(samples)]
        demand = 0.001
        for batch in sizes:
            demand += 5.0 * plain_sum(self._profile(first, tp, batch).layer_memory_mb[slice(*layers)])
        return demand
