"""Small mixed clusters with profiles of every kind, and random plans on them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs import Infeasible, price
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet

TYPES = ("A100", "V100", "P100")


def random_problem(rng: random.Random) -> PlanProblem:
    """Return a problem of 2 to 16 GPUs of one to three types on hosts of 1 to 4."""
    types = rng.sample(TYPES, rng.choice([1, 2, 2, 3]))
    per_host = rng.choice([1, 2, 4])
    islands = rng.choice([1, 1, 2])
    hosts = []
    for type_ in types:
        intra = float(rng.choice([50, 100, 300]))
        inter = float(rng.choice([2, 5, 10, 25]))
        for _ in range(rng.choice([1, 2, 2]) if per_host < 4 else 1):
            number = len(hosts)
            hosts.append(Host(f"host{number}", type_, per_host, intra, inter, rng.randrange(islands)))
    layers = rng.randint(3, 8)
    gbs = rng.choice([8, 16, 32])
    cluster = MixedCluster(
        tuple(hosts), dict.fromkeys(types, 80.0), {}, rng.choice([1.5, 4.0]) if islands > 1 else None
    )
    profiles = random_profiles(rng, types, layers, gbs)
    return PlanProblem(
        cluster,
        profiles,
        tuple(dict.fromkeys(host.type for host in hosts)),
        gbs=gbs,
        hidden=rng.choice([256, 1024, 4096]),
        sequence=1024,
    )


def random_profiles(rng: random.Random, types: list[str], layers: int, gbs: int) -> ProfileSet:
    """Return profiles of all powers of two; larger degrees and batches take less than their share."""
    slowness = {type_: rng.choice([1.0, 1.0, 1.7, 3.5]) for type_ in types}
    weights = [rng.uniform(0.5, 2.0) for _ in range(layers)]
    batches = [1 << k for k in range(gbs.bit_length())]
    profiles = {}
    for type_ in types:
        for tp in (1, 2, 4, 8, 16):
            for batch in batches:
                scale = slowness[type_] * 2.0 * batch**0.9 / tp**0.8
                times = tuple(weight * scale for weight in weights)
                memory = tuple(100.0 * batch / tp + 300.0 / tp for _ in range(layers))
                gap = rng.choice([0.4, 3.0]) * slowness[type_]
                profiles[ProfileKey(type_, tp, batch)] = Profile(times, memory, gap, 8.0 / tp, 0.3)
    parameters = tuple(rng.choice([2e7, 1e8]) for _ in range(layers))
    return ProfileSet(profiles, ProfileKey(types[0], 1, 1), parameters)


def random_plan(rng: random.Random, problem: PlanProblem) -> ClusterPlan:
    """Return a plan that may or may not be feasible."""
    types = list(problem.type_order)
    rng.shuffle(types)
    groups: list[int] = []
    left = problem.cluster.gpus
    while left:
        largest = left.bit_length() - 1
        groups.append(1 << rng.randint(max(0, largest - 2), largest))
        left -= groups[-1]
    rng.shuffle(groups)
    strategies = []
    for gpus in groups:
        tp = 1 << rng.randint(0, gpus.bit_length() - 1)
        strategies.append((gpus // tp, tp))
    batches = rng.choice([b for b in range(1, problem.gbs + 1) if problem.gbs % b == 0])
    cuts = sorted(rng.sample(range(1, problem.layers), min(len(groups), problem.layers) - 1))
    partition = (0, *cuts, problem.layers)
    return ClusterPlan(tuple(types), tuple(groups), tuple(strategies), batches, partition, len(groups))


def feasible_plans(seed: int, cost_model: str = "strict") -> Iterator[tuple[PlanProblem, ClusterPlan]]:
    """Yield plans that the cost model can price, each on a cluster of its own."""
    rng = random.Random(seed)
    while True:
        problem = random_problem(rng)
        for _ in range(20):
            plan = random_plan(rng, problem)
            if len(plan.groups) > problem.layers:
                continue
            try:
                price(problem, plan, cost_model)
            except Infeasible:
                continue
            yield problem, plan
            break
