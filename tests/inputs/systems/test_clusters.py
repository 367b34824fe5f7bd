"""Systems that are clusters: what follows from accelerator, nodes and tiers, in files, axes and rows."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.inputs.systems import CollectiveAlgorithms, SystemSpec
from dse.inputs.systems.values import memory_of_spec
from dse.studies.config import compose_config
from dse.studies.points.inputs import system_json, system_of_json
from dse.studies.space.fields import replace_field, replace_fields

CLUSTERS = [
    path.stem
    for path in sorted((conf_folder() / "system").glob("*.yaml"))
    if re.search("^accelerator:", path.read_text(), re.MULTILINE)
]


def system(*overrides: str) -> SystemSpec:
    return compose_config(overrides).system


def test_a_cluster_yields_the_network_and_the_roofline_of_the_engine() -> None:
    found = system("system=dgx_h100", "system.nodes=64")
    assert found.npus == 512
    assert [(d.topology, d.npus, d.latency_ns) for d in found.network] == [
        ("Switch", 8, 1000.0),
        ("Switch", 64, 2500.0),
    ]
    rates = [dimension.bandwidth_gbps * 2**30 for dimension in found.network]
    assert rates == pytest.approx([450e9, 50e9], rel=1e-15)
    assert (found.peak_tflops, found.memory_bandwidth_gbps) == (989.4, 3350.0)
    assert found.collectives == CollectiveAlgorithms(*[("ring", "ring")] * 4)
    assert found.cluster is not None
    assert [(t.name, t.npus, t.bandwidth_gbps) for t in found.cluster.tiers] == [
        ("NVLink", 8, 450.0),
        ("InfiniBand", 512, 50.0),
    ]


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_cluster_of_conf_composes_and_survives_storing(name: str) -> None:
    found = system(f"system={name}")
    assert found.name == name
    assert found.cluster is not None
    assert found.npus == found.cluster.npus > 8
    assert system_of_json(system_json(found)) == found
    assert "sources" not in json.loads(system_json(found))["accelerator"]


def test_generic_systems_are_no_clusters_and_store_no_key_of_one() -> None:
    found = system("system=system1")
    assert found.cluster is None
    assert not {"accelerator", "nodes", "npus_per_node", "tiers"} & json.loads(system_json(found)).keys()


def test_a_pod_that_is_filled_in_part_joins_the_tier_above() -> None:
    found = system("system=grand_teton", "system.nodes=2048")
    assert [dimension.npus for dimension in found.network] == [8, 2048]
    assert found.network[1].bandwidth_gbps * 2**30 == pytest.approx(50e9 / 7)
    assert found.cluster is not None
    assert [tier.npus for tier in found.cluster.tiers] == [8, 3072, 16384]


def test_what_follows_follows_changes_of_single_fields() -> None:
    base = system("system=dgx_h100", "system.nodes=64")
    assert replace_field(base, ("nodes",), 16) == system("system=dgx_h100", "system.nodes=16")
    b200 = replace_field(base, ("accelerator",), "B200")
    assert (b200.peak_tflops, b200.memory_bytes) == (2250.0, (183_359 - 730) * 2**20)
    slower = replace_field(base, ("tiers", "1", "oversubscription"), 2.0)
    assert slower.network[1].bandwidth_gbps == base.network[1].bandwidth_gbps / 2
    memory = replace_field(base, ("accelerator", "memory_bandwidth_gbps"), 4000.0)
    assert memory.memory_bandwidth_gbps == 4000.0
    peak = replace_field(base, ("accelerator", "peak_tflops", "bf16"), 500.0)
    assert (peak.peak_tflops, base.peak_tflops) == (500.0, 989.4)
    assert replace_field(base, ("nodes",), 1).network[0].npus == 8
    both = replace_fields(base, [(("network", "1", "latency_ns"), 7.0), (("nodes",), 2)])
    assert (both.network[1].npus, both.network[1].latency_ns) == (2, 7.0)


def test_chosen_algorithms_of_collectives_stay() -> None:
    base = system("system=dgx_h100", "system.collectives.all_reduce=[direct,halvingDoubling]")
    assert replace_field(base, ("nodes",), 16).collectives.all_reduce == ("direct", "halvingDoubling")


def test_clusters_are_axes_of_a_space() -> None:
    config = compose_config(
        [
            "system=dgx_h100",
            "model=tiny",
            "space.axes={system.nodes:[1,2],system.accelerator:[h100_sxm,b200]}",
        ]
    )
    found = [
        (s.npus, s.memory_bytes, s.peak_tflops)
        for _, s, _ in config.space.scenarios(config.models, config.systems)
    ]
    h100, b200 = (81_559 - 551) * 2**20, (183_359 - 730) * 2**20  # what their drivers leave
    assert found == [(8, h100, 989.4), (8, b200, 2250), (16, h100, 989.4), (16, b200, 2250)]


def test_an_accelerator_of_ones_own_is_found_as_a_file_or_in_the_config_folder(tmp_path: Path) -> None:
    text = (conf_folder() / "accelerator" / "h200.yaml").read_text()
    (tmp_path / "accelerator").mkdir()
    path = tmp_path / "accelerator" / "mine.yaml"
    own = text.replace("name: h200", "name: mine").replace("memory: 143771MiB", "memory: 100GB")
    path.write_text(own.replace("memory_reserve: 700MiB\n", ""))
    by_path = compose_config(["system=dgx_h100", f"system.accelerator={path}"]).system
    by_name = compose_config(["system=dgx_h100", "system.accelerator=mine"], folder=tmp_path).system
    assert by_path == by_name
    assert by_path.memory_bytes == 100 * 10**9


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("system.accelerator=h1000", "system.accelerator is 'h1000'; did you mean 'h100'. Allowed are"),
        ("system.accelerator=null", "system.network has no value"),
        ("system.nodes=0", "nodes of cluster dgx_h100 is 0; it must be at least 1"),
        ("system.nodes=null", "system.nodes is null; a system with system.accelerator needs it"),
        ("system.nodes=x", "system.nodes is 'x'; it must be an integer"),
        ("system.peak_tflops=3", "system.peak_tflops follows from system.accelerator on dgx_h100"),
        ("system.tiers=[{name:a}]", "system.tiers.0.latency_us has no value"),
        ("system.tiers=[]", "cluster dgx_h100 has no tiers"),
        ("system.tiers.1.oversubscription=0.1", "oversubscription is 0.1; it must be at least 1"),
        (
            "space.axes={system.network.0.bandwidth_gbps:[1,2]}",
            "system.network.0.bandwidth_gbps cannot be an axis on dgx_h100: it follows from system.tiers",
        ),
        ("space.axes={system.accelerator:[h1000]}", "r.0 is 'h1000'; did you mean 'h100'. Allowed are"),
    ],
)
def test_mistakes_name_the_key(override: str, message: str) -> None:
    def scenarios() -> None:
        config = compose_config(["system=dgx_h100", "model=tiny", override])
        list(config.space.scenarios(config.models, config.systems))

    with pytest.raises(InputError, match=message) as caught:
        scenarios()
    assert "\n" not in str(caught.value)


def test_nodes_need_an_accelerator() -> None:
    with pytest.raises(InputError, match=r"^system\.nodes is given, but system\.accelerator is null"):
        compose_config(["system=system1", "system.nodes=4"])


def test_a_network_of_another_size_is_refused() -> None:
    base = system("system=dgx_h100")
    other = system("system=dgx_h100", "system.nodes=2")
    with pytest.raises(InputError, match=r"^system\.network has 16 NPUs, but nodes x npus_per_node are 64"):
        dataclasses.replace(base, network=other.network)


def test_the_memory_of_a_stored_cluster_is_that_of_the_cluster_and_old_rows_keep_theirs() -> None:
    system = compose_config(["system=dgx_h100"]).system
    assert memory_of_spec(system_json(system)) == system.memory_bytes == (81_559 - 551) * 2**20
    assert memory_of_spec('{"accelerator":{"memory_bytes":80000000000}}') == 80 * 10**9
