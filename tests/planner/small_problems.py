"""Random small problems: one to three types, odd batches, missing profiles, hosts of unequal bandwidth."""

from __future__ import annotations

from random import Random

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import PlanProblem, Profile, ProfileKey, ProfileSet

BANDWIDTHS = (10.0, 25.0, 46.0, 50.0, 12.5)


def small_problem(seed: int, compat: bool) -> PlanProblem:
    """Return a problem whose space has at most some thousand plans."""
    random = Random(seed)
    kinds = ["A100", "V100", "T4"][: random.choice([1, 2, 2, 2, 3])]
    random.shuffle(kinds)
    host_gpus = random.choice([1, 2])
    hosts = []
    for number in range(random.randint(len(kinds), 4 if len(kinds) < 3 else 3)):
        gpus = host_gpus if compat else random.choice([1, 2, 3])
        type_ = kinds[number] if number < len(kinds) else random.choice(kinds)
        hosts.append(
            Host(
                f"10.0.0.{number}",
                type_,
                gpus,
                random.choice(BANDWIDTHS),
                random.choice(BANDWIDTHS),
                random.choice([0, 0, 1]),
            )
        )
    random.shuffle(hosts)
    layers, gbs = random.choice([2, 3, 3, 4]), random.choice([1, 2, 3, 4, 5, 6])
    missing = random.choice([0.0, 0.0, 0.05, 0.3])
    odd = random.random() < 0.5
    profiles, first = {}, None
    for type_ in kinds:
        speed = random.uniform(0.3, 4)
        for tp in (1, 2, 4, 8):
            for batch in range(1, 2 * gbs + 1):
                if batch & (batch - 1) and not odd:
                    continue
                if (first or batch > 1 or tp > 1) and random.random() < missing:
                    continue
                key = ProfileKey(type_, tp, batch)
                first = first or key
                profiles[key] = Profile(
                    tuple(speed * batch / tp**0.8 * random.uniform(1, 9) for _ in range(layers)),
                    tuple(random.uniform(100, 900) * (1 + batch / 2) for _ in range(layers)),
                    random.uniform(-0.3, 4) if random.random() < 0.95 else 0.0,
                    random.uniform(1, 60),
                    random.uniform(0, 2),
                )
    assert first is not None
    spacious = random.random() < 0.5
    order = list(kinds)
    random.shuffle(order)
    return PlanProblem(
        MixedCluster(
            tuple(hosts),
            {type_: random.uniform(8, 40) if spacious else random.uniform(0.5, 8) for type_ in kinds},
            between_islands_gbps=random.choice([None, 3.0]),
        ),
        ProfileSet(
            profiles,
            first,
            tuple(float(random.randint(1, 300)) * 1e6 for _ in range(layers)),
            memory_has_states=random.random() < 0.5,
        ),
        tuple(order),
        gbs=gbs,
        hidden=256,
        sequence=random.choice([16, 1024]),
        vocabulary=1000,
        max_tp=random.choice([1, 2, 128]),
        max_batch=random.choice([2, 4, 128]),
        group_scale=random.choice([0, 1, 1]),
        allow_mixed_stages=random.random() < 0.6,
        shard_optimizer=random.random() < 0.3,
    )
