"""Worked examples of the simulator specification: collectives, network, roofline, memory, statistics."""

from __future__ import annotations

import dataclasses

import pytest

from dse.inputs.systems import SystemSpec
from dse.simulation.workloads import Workload
from dse.testing.builders import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    coll,
    comp,
    finish,
    recv,
    run,
    send,
    system,
    workload,
)

NODE16 = "FullyConnected 8 @128.5714/20, Switch 2 @25/100"
NODE16_ALGORITHMS = "direct halvingDoubling"


def _collective(npus: int, kind: int, size: int, group_size: int | None = None) -> Workload:
    """One collective, on all ranks or on groups of neighbours."""
    groups = {}
    if group_size is not None:
        groups = {str(first): [*range(first, first + group_size)] for first in range(0, npus, group_size)}
    of_rank = {rank: name for name, members in groups.items() for rank in members}
    return workload(*([coll(1, kind, size, group=of_rank.get(rank))] for rank in range(npus)), groups=groups)


# Section 5.7, (1) to (8): every rank ends at the same tick, but for the tree


@pytest.mark.parametrize(
    ("kind", "size", "on", "expected"),
    [
        pytest.param(
            *(ALL_REDUCE, 100_000),
            system(
                "Ring 4 @100/50",
                memory_bandwidth_gbps=300,
                preferred_dataset_splits=10,
                active_chunks_per_dimension=4,
            ),
            1740,
            id="1: ring, 10 chunks, 4 at a time",
        ),
        pytest.param(
            *(ALL_REDUCE, 100_000),
            system("Ring 4 @100/50", memory_bandwidth_gbps=300, preferred_dataset_splits=10),
            5800,
            id="1: ring, 10 chunks, 1 at a time",
        ),
        pytest.param(
            *(ALL_REDUCE, 10_000),
            system("Ring 4 @100/50", memory_bandwidth_gbps=300),
            580,
            id="1: ring, a single stream",
        ),
        pytest.param(
            *(ALL_REDUCE, 1_600_000),
            system(NODE16, NODE16_ALGORITHMS),
            11054,
            id="2: reduce-scatter, all-reduce and all-gather over two dimensions",
        ),
        pytest.param(
            *(ALL_GATHER, 100_000),
            system(NODE16, NODE16_ALGORITHMS),
            5433,
            id="3: all-gather, the last dimension first",
        ),
        pytest.param(
            *(ALL_REDUCE, 80_000),
            system("Switch 8 @100/50", "halvingDoubling", memory_bandwidth_gbps=300),
            2269,
            id="5: halving-doubling all-reduce",
        ),
        pytest.param(
            *(REDUCE_SCATTER, 80_000),
            system("Switch 8 @100/50", "halvingDoubling", memory_bandwidth_gbps=300),
            1288,
            id="5: halving-doubling reduce-scatter",
        ),
        pytest.param(
            *(ALL_TO_ALL, 80_000), system("Ring 8 @100/50", "direct"), 313, id="7: direct all-to-all, 4 hops"
        ),
        pytest.param(*(ALL_TO_ALL, 80_000), system("Ring 4 @100/50"), 1486, id="8: ring all-to-all, 6 steps"),
    ],
)
def test_worked_examples_end_at_the_same_tick_on_every_rank(
    kind: int, size: int, on: SystemSpec, expected: int
) -> None:
    assert finish(_collective(on.npus, kind, size), on) == [expected] * on.npus


def test_4_groups_of_neighbours_run_one_ring_whatever_the_algorithm() -> None:
    on = system(NODE16, NODE16_ALGORITHMS, preferred_dataset_splits=10, active_chunks_per_dimension=4)
    assert finish(_collective(16, ALL_GATHER, 1_000_000, group_size=4), on) == [6816] * 16


def test_6_the_ranks_of_a_double_binary_tree_end_apart() -> None:
    on = system("Switch 4 @100/50", "doubleBinaryTree", memory_bandwidth_gbps=300)
    assert finish(_collective(4, ALL_REDUCE, 80_000), on) == [5824, 4969, 5824, 3316]


# Chunks (section 5.2): one stream of a tiny direct exchange between two takes 70 ns, of an all-reduce 130 ns

PAIR = system("FullyConnected 2 @100/50", "direct", preferred_dataset_splits=10)


@pytest.mark.parametrize(
    ("kind", "size", "expected"),
    [
        (ALL_GATHER, 100, 10 * 70),
        (ALL_GATHER, 105, 11 * 70),  # chunks of 10: the eleventh carries 10 bytes too
        (ALL_GATHER, 10, 10 * 70),
        (ALL_GATHER, 19, 19 * 70),  # chunks of 1
        (ALL_REDUCE, 100, 10 * 130),
        (ALL_REDUCE, 105, 11 * 130),
        (ALL_REDUCE, 15, 10 * 130),  # a chunk has at least a byte for each NPU
        (ALL_REDUCE, 0, 10 * 130),
        (REDUCE_SCATTER, 105, 11 * 70),
        (ALL_TO_ALL, 105, 11 * 70),
    ],
)
def test_the_number_of_chunks(kind: int, size: int, expected: int) -> None:
    assert finish(_collective(2, kind, size), PAIR) == [expected] * 2


def test_the_least_chunk_counts_all_npus_even_in_a_small_group() -> None:
    on = system("FullyConnected 4 @100/50", preferred_dataset_splits=10)
    # 25 bytes: chunks of 4, hence 10 of them; chunks of 2 would be 13
    assert finish(_collective(4, ALL_REDUCE, 25, group_size=2), on) == [10 * 130] * 4


def test_chunks_run_as_many_at_a_time_as_the_queue_has_places() -> None:
    work = _collective(2, ALL_GATHER, 105)  # 11 chunks
    times = []
    for places in (1, 2, 3, 4, 11, 100):
        on = system("FullyConnected 2 @100/50", "direct", **_chunks(10, places))
        times.append(finish(work, on)[0])
    assert times == [770, 420, 280, 210, 70, 70]


def _chunks(splits: int, places: int) -> dict[str, int]:
    return {"preferred_dataset_splits": splits, "active_chunks_per_dimension": places}


# Communicators (section 5.1)


def test_a_group_of_all_npus_uses_the_configured_algorithms_and_its_order_does_not_matter() -> None:
    on = system("Switch 8 @100/50", "halvingDoubling", memory_bandwidth_gbps=300)
    nodes = [coll(1, ALL_REDUCE, 80_000, group="all")]
    work = workload(*[nodes] * 8, groups={"all": [3, 1, 4, 0, 5, 7, 2, 6]})
    assert finish(work, on) == [2269] * 8


def test_the_ring_of_a_group_takes_10_ns_an_end_whatever_the_endpoint_delay() -> None:
    on = system("FullyConnected 4 @100/50", endpoint_delay_ns=100)
    assert finish(_collective(4, ALL_GATHER, 1000, group_size=2), on) == [10 + 59 + 10] * 4
    # in full mode the endpoint delay counts: three steps of a ring
    assert finish(_collective(4, ALL_GATHER, 1000), on) == [100 + 3 * (59 + 100)] * 4


def test_the_ring_of_a_group_follows_the_order_of_its_list() -> None:
    on = system("Ring 8 @100/50")

    def run_groups(even: list[int]) -> list[int]:
        groups = {"even": even, "odd": [rank + 1 for rank in even]}
        nodes = [[coll(1, ALL_GATHER, 50, group=("even", "odd")[rank % 2])] for rank in range(8)]
        return finish(workload(*nodes, groups=groups), on)

    assert run_groups([0, 2, 4, 6]) == [10 + 3 * (2 * 50 + 10)] * 8  # 2 hops to each next member
    # 4, 2, 4 and 2 hops: the recurrence of section 10.2 by hand
    assert run_groups([0, 4, 2, 6]) == [440, 440, 440, 440, 540, 540, 540, 540]


def test_involve_dims_selects_dimensions() -> None:
    on = system(NODE16, NODE16_ALGORITHMS)

    def gather(*dims: bool) -> list[int]:
        return finish(workload(*[[coll(1, ALL_GATHER, 100_000, dims=dims)]] * 16), on)

    assert gather(True, False) == [10 + 744 + 10] * 16
    assert gather(False, True) == [3945] * 16
    assert gather(True, True) == [5433] * 16
    assert gather(True, True, False) == [5433] * 16


@pytest.mark.parametrize("optimization", ["baseline", "localBWAware"])
def test_the_optimization_shapes_all_reduce_only(optimization: str) -> None:
    on = system("FullyConnected 2 @100/50, FullyConnected 2 @100/50", "direct direct")
    on = dataclasses.replace(on, collective_optimization=optimization)
    # baseline: two all-reduces of 130; else a reduce-scatter, an all-reduce and an all-gather: 70 + 130 + 70
    expected = 2 * 130 if optimization == "baseline" else 70 + 130 + 70
    assert finish(_collective(4, ALL_REDUCE, 40), on) == [expected] * 4
    assert finish(_collective(4, ALL_GATHER, 40), on) == [2 * 70] * 4
    assert finish(_collective(4, REDUCE_SCATTER, 40), on) == [2 * 70] * 4


def test_one_ring_runs_over_all_npus_and_ends_the_list() -> None:
    work = _collective(8, ALL_GATHER, 50)
    alone = finish(work, system("Ring 8 @100/50"))
    assert alone == [10 + 7 * 60] * 8
    # two dimensions of 50 ns; a ring over ranks 0..7 crosses one link, or wraps a ring of 4 in one hop
    folded = system("Ring 4 @100/50, FullyConnected 2 @100/50", "oneRing ring")
    assert finish(work, folded) == alone


@pytest.mark.parametrize("policy", ["FIFO", "EXPLICIT"])
def test_the_scheduling_policy_has_no_effect(policy: str) -> None:
    nodes = [coll(1, ALL_REDUCE, 10**6), coll(2, ALL_GATHER, 10**5), coll(3, ALL_TO_ALL, 10**6, after=[1])]
    work = workload(*[nodes] * 16)
    on = system(NODE16, "direct ring", **_chunks(10, 4))
    assert run(work, dataclasses.replace(on, scheduling_policy=policy)) == run(work, on)


# Network (section 6.2)


@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        (1, 8, 744),  # addresses (1, 0) and (0, 1): only the lowest dimension that differs counts
        (0, 8, 3925),  # addresses (0, 0) and (0, 1): two hops of the switch
        (0, 1, 744),
    ],
)
def test_a_message_is_charged_in_the_lowest_dimension_that_differs(
    source: int, destination: int, expected: int
) -> None:
    ranks = [[comp(1)] for _ in range(16)]
    ranks[source] = [send(1, to=destination, size=100_000)]
    ranks[destination] = [recv(1, source=source, size=100_000)]
    times = finish(workload(*ranks), system(NODE16, NODE16_ALGORITHMS))
    assert (times[source], times[destination]) == (expected, expected)


@pytest.mark.parametrize(
    ("network", "destination", "hops"),
    [
        *(("Ring 8 @100/50", to, hops) for to, hops in enumerate([1, 2, 3, 4, 3, 2, 1], 1)),
        ("FullyConnected 8 @100/50", 5, 1),
        ("Switch 8 @100/50", 5, 2),
    ],
)
def test_hops_of_the_topologies(network: str, destination: int, hops: int) -> None:
    ranks = [[comp(1)] for _ in range(8)]
    ranks[0] = [send(1, to=destination, size=1)]
    ranks[destination] = [recv(1, source=0, size=1)]
    assert finish(workload(*ranks), system(network))[0] == hops * 50


def test_fractions_of_latency_and_transfer_add_up_before_they_are_cut() -> None:
    # 0.6 + 54 / 107.37 = 1.10
    work = workload([send(1, to=1, size=54)], [recv(1, source=0, size=54)])
    assert finish(work, system("FullyConnected 2 @100/0.6")) == [1, 1]


# Roofline (section 4.4), memory tracker (8) and statistics (9)


@pytest.mark.parametrize(
    ("ops", "size", "expected"),
    [
        (17_179_869_184_000, 4_862_246_912, 19_088_743),
        (10**9, 10**8, 33_333),
    ],
)
def test_roofline_durations(ops: int, size: int, expected: int) -> None:
    nodes = [comp(1, ops, size)]
    assert finish(workload(nodes, nodes), system()) == [expected, expected]


def _example_of_sections_8_and_9() -> Workload:
    return workload(
        [
            comp(1, 17_179_869_184_000, 4_862_246_912, reads={"w": 100}, writes={"a": 10}),
            send(2, to=1, size=1_000_000, after=[1], reads={"a": 10}),
            comp(3, 10**9, 10**8, after=[1], reads={"a": 10}, writes={"b": 7}),
        ],
        [recv(1, source=0, size=1_000_000)],
    )


def test_statistics_of_the_example() -> None:
    sender, receiver = run(_example_of_sections_8_and_9(), system(track_local_memory=True))
    assert sender.finish_ns == sender.wall_time_ns == sender.gpu_time_ns == 19_122_076
    assert sender.exposed_comm_ns == 0
    assert sender.comm_time_ns == 9363
    assert sender.cpu_time_ns == sender.remote_memory_time_ns == 0
    printed = [
        f"{value:.3f}"
        for value in (
            sender.compute_bound_pct,
            sender.compute_utilization_pct,
            sender.memory_utilization_pct,
            sender.operation_intensity,
        )
    ]
    assert printed == ["99.826", "99.831", "8.650", "3527.177"]
    # the receive begins at 0 and ends when the message arrives
    assert receiver.finish_ns == receiver.comm_time_ns == receiver.exposed_comm_ns == 19_088_743 + 9363
    assert receiver.compute_bound_pct == receiver.operation_intensity == 0.0


def test_peak_memory_of_the_example() -> None:
    sender, receiver = run(_example_of_sections_8_and_9(), system(track_local_memory=True))
    assert sender.peak_memory_bytes == 110
    assert receiver.peak_memory_bytes == 0


def _peak(*nodes: dict[str, object]) -> int | None:
    return run(workload(list(nodes), [comp(1)]), system(track_local_memory=True))[0].peak_memory_bytes


def test_a_tensor_that_is_never_read_stays() -> None:
    assert _peak(comp(1, writes={"a": 5}), comp(2, after=[1], writes={"b": 6})) == 11


def test_a_tensor_lives_from_the_start_of_its_producer_to_the_end_of_its_last_reader() -> None:
    chain = [
        comp(1, writes={"a": 100}),
        comp(2, after=[1], reads={"a": 100}, writes={"b": 10}),
        comp(3, after=[2], reads={"b": 10}, writes={"c": 1}),
    ]
    # a and b are alive during node 2, though at its first tick a total is noted, at its last a is gone
    assert _peak(*chain) == 110
    assert _peak(*chain[:2], comp(3, after=[2], reads={"a": 100, "b": 10}, writes={"c": 1})) == 111


def test_an_input_that_nobody_writes_lives_from_time_0() -> None:
    assert _peak(comp(1, writes={"a": 3}), comp(2, after=[1], reads={"w": 50})) == 53


def test_a_tensor_has_the_size_of_its_first_mention() -> None:
    assert _peak(comp(1, writes={"a": 3}), comp(2, after=[1], reads={"a": 70})) == 3


def test_communication_holds_tensors_too() -> None:
    nodes = [send(1, to=1, size=10**6, writes={"a": 8}), comp(2, reads={"w": 20})]
    outcome = run(
        workload(nodes, [recv(1, source=0, size=10**6, writes={"got": 9})]), system(track_local_memory=True)
    )
    assert [metrics.peak_memory_bytes for metrics in outcome] == [28, 9]
