"""Clusters in a page: the records that the engine takes, and refusals, are those of the package."""

from __future__ import annotations

import json
import random
from typing import Any

from page_programs import needs_node, run_beside

from dse.answers.explorer.page import clustered
from dse.answers.explorer.predicted_data import cluster_data
from dse.base.errors import InputError
from dse.inputs.systems.settings import systems_of_conf

READ = """(systems) => systems.map((system) => {
  try {
    return explorer.clusters.clusterOf(system);
  } catch (error) {
    if (error.kind !== "input") throw error;
    return error.message;
  }
})"""
SYSTEMS = {name: cluster_data(system) for name, system in systems_of_conf() if system.cluster is not None}
VALUES: dict[str, list[Any]] = {
    "npus": [None, 1, 4, 8, 16, 24, 32, 72, 512, 0],
    "bandwidth_gbps": [None, 450.0, 0.1, 100, 0, -1.5],
    "latency_us": [0, 2.0, 1e-7, -1.0],
    "nics_per_node": [None, 1, 3, 5, 8, 9, 0],
    "nic_gbit_per_s": [None, 400, 200.5],
    "oversubscription": [1.0, 2, 0.5, 7.3],
    "in_switch_efficiency": [None, 0.61, 1, 1.5, 0],
}
COUNTS = [1, 2, 3, 7, 8, 16, 72, 100, 4096, 0, 2**24 + 1]


def changed(chance: random.Random) -> dict[str, Any]:
    """A system of conf/ with a few other figures."""
    system: dict[str, Any] = json.loads(json.dumps(chance.choice(list(SYSTEMS.values()))))
    for _ in range(chance.choice([1, 2, 3])):
        key = chance.choice(
            ["nodes", "npus_per_node", "tier", "tier", "tier", "more", "algorithms", "shares"]
        )
        if key in ("nodes", "npus_per_node"):
            system[key] = chance.choice(COUNTS)
        elif key == "tier" and system["tiers"]:
            name = chance.choice(list(VALUES))
            chance.choice(system["tiers"])[name] = chance.choice(VALUES[name])
        elif key == "more":
            tiers = [dict(each) for each in system["tiers"]] + [{"name": "it's", "latency_us": 3}]
            system["tiers"] = tiers[: chance.randrange(len(tiers) + 1)] if chance.random() < 0.5 else tiers
        elif key == "algorithms":
            system["group_algorithms"] = {chance.choice(["tp", "dp"]): chance.choice(["ring", "tre", "auto"])}
        else:
            system["accelerator"]["efficiency"]["matrix_4bit"] = chance.choice([None, 0.5, 1])
            system["accelerator"]["peak_tflops"]["bf16"] = chance.choice([1200, 0.3])
            system["accelerator"]["memory_reserve_bytes"] = chance.choice([0, 10**9, 10**13])
    return system


def in_package(system: dict[str, Any]) -> Any:
    try:
        return json.loads(json.dumps(clustered(system)))
    except InputError as error:
        return str(error)


@needs_node
def test_every_cluster_of_the_package_is_the_same_in_a_page() -> None:
    systems = list(SYSTEMS.values())
    assert run_beside(["predicted/clusters"], READ, systems) == list(map(in_package, systems))
    assert len(systems) > 10


@needs_node
def test_other_clusters_are_the_same_or_refused_in_the_same_words() -> None:
    chance = random.Random(3)
    systems = [changed(chance) for _ in range(2000)]
    refused = set()
    for page, system in zip(run_beside(["predicted/clusters"], READ, systems), systems, strict=True):
        package = in_package(system)
        assert page == package, system
        refused |= {package} if isinstance(package, str) else set()
    assert 200 < len(refused) < 1500
    for words in (
        "joins 4 NPUs; the first tier joins the 8 of a node: change npus_per_node",
        "bandwidth_gbps is -1.5; it must be a number greater than 0",
        "has no npus; only the first and the last may lack it",
        "it must be a multiple of the",
        "system.group_algorithms.tp is 'tre'; allowed are auto, ring, tree",
        "nics_per_node and nic_gbit_per_s belong together; give both",
        "nodes of cluster dgx_h100 is 16777217; at most 16777216 are allowed",
    ):
        assert any(words in each for each in refused), words
