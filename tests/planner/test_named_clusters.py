"""Clusters of conf/cluster and of the user's own: memory comes from accelerators, mistakes are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators import accelerator
from dse.planner.problem.named_clusters import cluster_names, named_cluster


def test_the_shipped_clusters_are_read() -> None:
    found = {name: named_cluster(name).cluster for name in cluster_names()}
    gpus = {name: {type_: one.gpus_of(type_) for type_ in one.types} for name, one in found.items()}
    assert gpus == {
        "a100_v100": {"V100": 16, "A100": 16},
        "four_generations_4k": {"H200": 1024, "H100": 1024, "A100": 1024, "V100": 1024},
        "h100_a100": {"H100": 64, "A100": 64},
    }
    assert all(set(one.price_per_hour) == set(one.types) for one in found.values())


@pytest.mark.parametrize("name", cluster_names())
def test_memory_is_what_the_accelerator_leaves_to_programs(name: str) -> None:
    _, cluster, accelerators, _ = named_cluster(name)
    for type_ in cluster.types:
        assert cluster.memory_gib[type_] * 2**30 == accelerator(accelerators[type_]).usable_memory_bytes


def test_a_type_is_called_as_its_accelerator_where_it_has_no_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "nodes: [{accelerator: A100, count: 2, gpus: 4, intra_gbps: 300, inter_gbps: 50}]\n", encoding="utf-8"
    )
    name, cluster, _, _ = named_cluster(str(file))
    assert (name, cluster.types, cluster.gpus) == ("mine", ("a100_80",), 8)
    assert [host.address for host in cluster.hosts] == ["a100_80-0", "a100_80-1"]


def test_overrides_change_numbers() -> None:
    found = named_cluster("a100_v100", ["cluster.nodes.0.count=2", "cluster.nodes.1.intra_gbps=600"]).cluster
    assert found.gpus_of("V100") == 8
    assert {host.intra_gbps for host in found.hosts if host.type == "A100"} == {600.0}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cluster.nodes.5.count=1", "cluster.nodes has entries 0 to 1, not '5'"),
        (
            "cluster.nodes.0.cout=1",
            "cluster.nodes.0.cout; did you mean 'count'? Keys of cluster.nodes.0",
        ),
        ("cluster.nodes.0.intra_gbps=0", "cluster.nodes.0.intra_gbps is 0; it must be a number above 0"),
        ("cluster.nodes.0.inter_gbps=-1", "cluster.nodes.0.inter_gbps is -1; it must be a number above 0"),
        ("cluster.nodes.0.intra_gbps=nan", "cluster.nodes.0.intra_gbps is nan; it must be a number above 0"),
        ("cluster.nodes.0.count=x", "cluster.nodes.0.count is 'x'; it must be an integer"),
        ("cluster.nodes.0.gpus=0", "cluster.nodes.0.gpus is 0; it must be at least 1"),
        ("cluster.nodes.0.count=9999999", "at most 1048576 are allowed"),
        ("cluster.nodes.0.island=1", "between_islands_gbps is null, but nodes are in several islands"),
        ("cluster.between_islands_gbps=5", "is 5, but all nodes are in one island; leave it out"),
        (
            "cluster.nodes.0.accelerator=A101",
            "accelerator is 'A101'; did you mean 'a10g'? Allowed are",
        ),
        ("cluster.nodes.0.type=A100", "accelerator is a100_80, but that of A100 is v100_32 above"),
        ("cluster.nodes.0.price_per_hour=null", "V100 has no price_per_hour, but others have"),
        ("cluster.nodes.0.price_per_hour=-1", "price_per_hour is -1; it must be 0 or greater"),
        ("cluster.nodes=[]", "cluster.nodes is empty"),
        ("cluster.nodes.0.count=1,2", "override 'cluster.nodes.0.count=1,2' lists several values; write one"),
        ("~cluster.nodes", "cluster.nodes cannot be removed"),
        ("cluster.nodes.0.count.x=1", "cluster.nodes.0.count.x leads into a value"),
        ("cluster.node.0=1", "unknown key cluster.node.0; there is name, nodes"),
        ("cluster.nodes.0.count=[", "cannot be parsed: '[' is not closed"),
        (
            f"cluster.nodes.0.count={'[' * 100_000}",
            "' is nested deeper than 50",
        ),
        (f"cluster.nodes.0.count={'9' * 5000}", "is nested too deeply, or has a number with too many digits"),
        (f"cluster.nodes.{'9' * 5000}.count=8", "cluster.nodes has entries 0 to 1, not '9999"),
    ],
)
def test_impossible_numbers_are_named(override: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        named_cluster("a100_v100", [override])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "a100_v10",
            "cluster is 'a100_v10'; allowed are a100_v100, four_generations_4k, h100_a100, "
            "a system of accelerators such as dgx_h100, or a file",
        ),
        ("none.yaml", "cluster is 'none.yaml'; there is no such file"),
    ],
)
def test_an_unknown_cluster_is_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        named_cluster(name)
