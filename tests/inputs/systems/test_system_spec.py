"""Systems: every rule, named by the key as a user writes it."""

from dataclasses import replace
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.inputs.systems import CollectiveAlgorithms, Dimension, InvalidSystem, RemoteMemory, SystemSpec

RINGS = ("ring", "ring")
TORUS = SystemSpec(
    name="torus",
    network=(Dimension("Ring", 4, 100, 50), Dimension("Switch", 8, 37.5, 0.5)),
    collectives=CollectiveAlgorithms(RINGS, RINGS, RINGS, RINGS),
    peak_tflops=450,
    memory_bandwidth_gbps=3000,
)


def _changed(path: str, value: object) -> SystemSpec:
    head, _, rest = path.partition(".")
    if head == "network" and rest:
        dimension = replace(TORUS.network[1], **{rest.removeprefix("1."): value})  # type: ignore[arg-type]
        return replace(TORUS, network=(TORUS.network[0], dimension))
    if rest:
        value = replace(getattr(TORUS, head), **{rest.partition(".")[0]: value})
    return replace(TORUS, **{head: value})  # type: ignore[arg-type]


def test_npus_are_the_product_of_the_dimensions() -> None:
    assert TORUS.npus == 32


def test_the_injection_scale_multiplies_and_truncates_the_endpoint_delay() -> None:
    assert TORUS.scaled_endpoint_delay_ns == 10
    assert replace(TORUS, endpoint_delay_ns=7, injection_scale=1.5).scaled_endpoint_delay_ns == 10


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("name", "", "is empty"),
        ("network", (), "is empty; it must list at least one dimension"),
        ("network.1.topology", "Mesh", "is 'Mesh'; allowed are Ring, FullyConnected, Switch"),
        ("network.1.topology", "switch", "did you mean 'Switch'?"),
        ("network.1.npus", 1, "is 1; it must be an integer from 2 to 16777216"),
        ("network.1.npus", 4.0, "is 4.0; it must be an integer from 2"),
        ("network.1.npus", True, "is True; it must be an integer from 2"),
        ("network.1.bandwidth_gbps", 0, "is 0; it must be a number greater than 0"),
        ("network.1.bandwidth_gbps", -5.0, "is -5.0; it must be a number greater than 0"),
        ("network.1.bandwidth_gbps", float("nan"), "is nan; it must be a number greater than 0"),
        ("network.1.bandwidth_gbps", float("inf"), "is inf; it must be a number greater than 0"),
        ("network.1.bandwidth_gbps", 10**400, "it must be a number greater than 0"),
        ("network.1.bandwidth_gbps", "fast", "is 'fast'; it must be a number greater than 0"),
        ("network.1.latency_ns", -0.5, "is -0.5; it must be a number 0 or greater"),
        ("collectives.all_reduce", ("ring",) * 3, "lists 3 algorithms for 2 network dimensions"),
        (
            "collectives.all_gather.1",
            ("ring", "tree"),
            "is 'tree'; allowed are ring, direct, halvingDoubling",
        ),
        ("collectives.reduce_scatter.0", ("rings",), "did you mean 'ring'?"),
        ("collectives.all_to_all.0", ("direct123456",), "is 'direct123456'; allowed are"),
        ("collectives.all_to_all.0", ("direct0",), "is 'direct0'; allowed are"),
        ("collectives.all_to_all.0", ("ring2",), "is 'ring2'; allowed are"),
        ("network_model", "aware", "allowed are congestion_unaware, congestion_aware"),
        ("peak_tflops", 0, "is 0; it must be greater than 0 unless the roofline model is off"),
        ("peak_tflops", -1, "is -1; it must be a number 0 or greater"),
        ("memory_bandwidth_gbps", 0.0, "is 0; it must be greater than 0 unless the roofline model is off"),
        ("memory_bandwidth_gbps", -1, "is -1; it must be a number 0 or greater"),
        ("scheduling_policy", "lifo", "is 'lifo'; allowed are LIFO, FIFO, EXPLICIT"),
        ("collective_optimization", "none", "is 'none'; allowed are baseline, localBWAware"),
        ("endpoint_delay_ns", -1, "is -1; it must be an integer from 0"),
        ("active_chunks_per_dimension", 0, "is 0; it must be an integer from 1"),
        ("preferred_dataset_splits", 0, "is 0; it must be an integer from 1"),
        ("queues_per_dimension", 0, "is 0; it must be an integer from 1"),
        ("injection_scale", -1.0, "is -1.0; it must be a number 0 or greater"),
        ("injection_scale", 1e300, "times endpoint_delay_ns 10 must be at most 2147483647 ns"),
        ("model_shared_bus", True, "is on; the bus model is not supported, set it to 0"),
        ("local_memory_trace_filename", "", "is empty; it must be a file name"),
        ("remote_memory.memory_type", "PER_NODE_MEMORY_EXPANSION", "the reference reads freed memory"),
        ("remote_memory.memory_type", "POOL", "allowed are NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION"),
        ("remote_memory.latency_ns", -1, "is -1; it must be an integer from 0"),
        ("inert", (("peak-perf", 1),), "is no inert key; allowed are boost-mode"),
        ("inert", (("o", 1), ("o", 2)), "occurs twice"),
        ("inert", (("o", None),), "is None; it must be a string or a number"),
        ("remote_memory.num_nodes", 0, "is 0; it must be an integer from 1"),
    ],
)
def test_what_breaks_a_rule_is_named(path: str, value: Any, problem: str) -> None:
    with pytest.raises(InvalidSystem) as caught:
        _changed(path, value)
    assert isinstance(caught.value, InputError)
    assert str(caught.value).startswith(f"system.{path}")
    assert problem in str(caught.value)


def test_used_remote_memory_has_a_bandwidth() -> None:
    with pytest.raises(InputError, match=r"system\.remote_memory\.bandwidth_bytes_per_ns is 0.* from 1 to"):
        replace(TORUS, remote_memory=RemoteMemory("MEMORY_POOL", 100, 0))


@pytest.mark.parametrize(
    "name",
    [
        *("ring", "direct", "direct1", "direct99999", "halvingDoubling", "doubleBinaryTree"),
        *("oneRing", "oneDirect", "oneDirect12", "oneHalvingDoubling"),
    ],
)
def test_the_algorithms_of_the_reference_are_known_and_lists_may_be_short(name: str) -> None:
    collectives = CollectiveAlgorithms(all_reduce=(name,))
    assert replace(TORUS, collectives=collectives).collectives.all_reduce == (name,)


def test_without_roofline_peaks_may_be_zero() -> None:
    spec = replace(TORUS, roofline_enabled=False, peak_tflops=0, memory_bandwidth_gbps=0)
    assert (spec.peak_tflops, spec.memory_bandwidth_gbps) == (0, 0)


def test_a_network_has_at_most_as_many_npus_as_an_int_counts() -> None:
    with pytest.raises(InputError, match=r"system\.network has 4294967296 NPUs in all"):
        replace(TORUS, network=(Dimension("Switch", 65536, 1, 1), Dimension("Switch", 65536, 1, 1)))
