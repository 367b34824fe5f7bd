"""The reference table's rows as problems: clusters and profiles from the golden files' rule."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet, plain_sum

GOLDEN = Path(__file__).parents[1] / "golden" / "planner"
SIZES = {1: (10, 4), 2: (20, 8), 3: (20, 16), 4: (40, 32)}
"""Layers of a row, and hosts of each type."""


@lru_cache
def golden(row: int) -> Any:
    """Return what is recorded of row 1, 2 or 3."""
    return json.loads(gzip.decompress((GOLDEN / f"row{row}.json.gz").read_bytes()))


@lru_cache
def row_problem(row: int, mixed: bool = True, type_order: tuple[str, ...] = ("A100", "V100")) -> PlanProblem:
    """Return the problem of a row of the table; row 4 follows from the rule of row 1."""
    layers, hosts = SIZES[row]
    inputs = golden(1)["inputs"]
    cluster = MixedCluster(
        tuple(
            Host(address, node["instance_type"], 4, node["intra_bandwidth"], node["inter_bandwidth"])
            for address, node in inputs["nodes"].items()
            for _ in range(hosts)
        ),
        {node["instance_type"]: node["memory"] for node in inputs["nodes"].values()},
    )
    profiles = _profiles(inputs["profile_rule"], layers)
    return PlanProblem(cluster, profiles, type_order, allow_mixed_stages=mixed)


def plan_of(record: dict[str, Any]) -> ClusterPlan:
    """Return the plan of a golden record."""
    return ClusterPlan(
        tuple(record["type_sequence"]),
        tuple(record["device_groups"]),
        tuple((dp, tp) for dp, tp in record["strategies_dp_tp"]),
        record["batches"],
        tuple(record["layer_partition"]),
        record.get("costed_stages", len(record["device_groups"])),
    )


def plan_of_line(line: str) -> ClusterPlan:
    """Return the plan of a line of `structure_sha256`."""
    types, costed, groups, strategies, batches, partition, attempt, delta = line.split("|")
    degrees = [tuple(map(int, pair.split("x"))) for pair in strategies.split(",")]
    return ClusterPlan(
        tuple(types.split(",")),
        tuple(map(int, groups.split(","))),
        tuple((dp, tp) for dp, tp in degrees),
        int(batches),
        tuple(map(int, partition.split(","))),
        int(costed),
        int(attempt),
        int(delta),
    )


def _profiles(rule: Any, layers: int) -> ProfileSet:
    samples: dict[tuple[int, int], tuple[list[float], float, float, float]] = {}
    for name, s in rule["samples"].items():
        tp, batch = (int(part[2:]) for part in name.split("_"))
        first, middle, last = s["first_layer_ms"], s["middle_layer_ms"], s["last_layer_ms"]
        between = s["forward_backward_ms"] - plain_sum([first, *[middle] * 8, last])
        times = [first, *[middle] * (layers - 2), last]
        optimizer = s["optimizer_ms"] / 10 * layers
        samples[tp, batch] = (times, between + plain_sum(times), optimizer, s["batch_generator_ms"])
    for batch in (8, 16, 32, 64, 128):
        for tp in (1, 2, 4):
            times, both, optimizer, generator = samples[tp, batch // 2]
            samples[tp, batch] = ([t * 2 for t in times], both * 2, optimizer, generator)
    for tp in (8, 16, 32, 64, 128):
        for batch in (1, 2, 4, 8, 16, 32, 64, 128):
            times, both, optimizer, generator = samples[tp // 2, batch]
            samples[tp, batch] = ([t / 2 for t in times], both / 2, optimizer, generator)
    memory = rule["memory_mb"]
    memories = (memory["first"], *[memory["middle"]] * (layers - 2), memory["last"])
    profiles = {}
    for type_, factor in ((rule["base_type"], 1), (rule["slow_type"], rule["slow_factor"])):
        for (tp, batch), (times, both, optimizer, generator) in samples.items():
            scaled = tuple(t * factor for t in times)
            profiles[ProfileKey(type_, tp, batch)] = Profile(
                scaled,
                tuple(map(float, memories)),
                both * factor - plain_sum(scaled),
                optimizer * factor,
                generator * factor,
            )
    parameters = rule["parameters"]
    return ProfileSet(
        profiles,
        ProfileKey("A100", 1, 16),
        (parameters["first"], *[parameters["middle"]] * (layers - 2), parameters["last"]),
    )
