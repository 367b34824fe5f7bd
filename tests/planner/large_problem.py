"""A large mixed cluster: 4 types, 4,096 GPUs, 128 layers, 3 link tiers, 1,024 sequences."""

from __future__ import annotations

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import PlanProblem, Profile, ProfileKey, ProfileSet

TYPES = {
    "H100": (400.0, 80, 450.0, 50.0),
    "A100": (140.0, 80, 300.0, 25.0),
    "L40": (90.0, 48, 32.0, 12.5),
    "V100": (60.0, 32, 150.0, 12.5),
}
"""TFLOPS, GiB, GB/s inside a host and of its uplink."""


def large_problem(
    hosts_per_type: int = 128, layers: int = 128, gbs: int = 1024, hidden: int = 8192, mixed: bool = True
) -> PlanProblem:
    """Return a problem of hosts of eight, in four islands; memory grows with the batch."""
    hosts = tuple(
        Host(f"{type_}-{i}", type_, 8, intra, inter, 2 * (number // 2) + (i >= hosts_per_type // 2))
        for number, (type_, (_, _, intra, inter)) in enumerate(TYPES.items())
        for i in range(hosts_per_type)
    )
    sequence, vocabulary = 4096, 128000
    parameters = 12.0 * hidden * hidden
    ends = float(vocabulary * hidden)
    profiles = {}
    for type_, (tflops, _, _, _) in TYPES.items():
        for tp in (1, 2, 4, 8):
            for exponent in range(8):
                batch = 1 << exponent
                flops = 6.0 * parameters * sequence * batch
                efficiency = 0.85 ** (tp.bit_length() - 1) * (1 - 0.25 / batch)
                layer = flops / tp / (tflops * 1e9 * efficiency)
                head = layer * ends / parameters
                activations = 16.0 * sequence * batch * hidden / tp / 2**20
                profiles[ProfileKey(type_, tp, batch)] = Profile(
                    (layer * 0.05, *[layer] * (layers - 2), head),
                    tuple([activations] * layers),
                    0.02 * layer,
                    10.0 / tp,
                    0.5,
                )
    return PlanProblem(
        MixedCluster(
            hosts, {type_: memory for type_, (_, memory, _, _) in TYPES.items()}, between_islands_gbps=10.0
        ),
        ProfileSet(
            profiles,
            ProfileKey("A100", 1, 1),
            (2 * ends, *[2 * parameters] * (layers - 2), 2 * ends),
            memory_has_states=False,
        ),
        tuple(TYPES),
        gbs=gbs,
        hidden=hidden,
        sequence=sequence,
        vocabulary=vocabulary,
        allow_mixed_stages=mixed,
    )
