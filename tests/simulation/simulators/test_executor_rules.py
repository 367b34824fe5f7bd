"""Rules of the graph executor (simulator specification, section 4) on traces of a few nodes.

Between the two NPUs of the default system a message of up to 107 bytes takes 50 ns, and a compute node of
`dse.testing.builders.comp` 33333 ns; with the roofline off a compute node takes its recorded microseconds.
"""

from __future__ import annotations

import dataclasses

import pytest

from dse.base.errors import InputError, SimulationError
from dse.inputs.systems import RemoteMemory, SystemSpec
from dse.simulation.simulators import BlockedNode, NativeSimulator, Outcome, RankMetrics
from dse.testing.builders import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    Node,
    coll,
    comp,
    finish,
    invalid,
    load,
    recv,
    run,
    send,
    store,
    system,
    workload,
)

RECORDED = system(roofline_enabled=False)
IDLE = [comp(1, micros=1)]


def _simulate(*ranks: list[Node], on: SystemSpec | None = None, **groups: list[int]) -> Outcome:
    return NativeSimulator().simulate(workload(*ranks, groups=groups), on or system())


def _rank0(*nodes: Node, on: SystemSpec = RECORDED) -> RankMetrics:
    return run(workload(list(nodes), IDLE), on)[0]


def _blocked(outcome: Outcome) -> list[BlockedNode]:
    assert outcome.status == "deadlock"
    return list(outcome.blocked)


# Slots


def test_a_broadcast_takes_its_recorded_time_and_is_exposed_communication() -> None:
    """It is no work of the GPU: nothing hides its 7000 ns."""
    metrics = _rank0(coll(1, BROADCAST, 1000, micros=7))
    assert (metrics.finish_ns, metrics.comm_time_ns, metrics.gpu_time_ns) == (7000, 7000, 0)
    assert metrics.exposed_comm_ns == 7000


def test_compute_nodes_run_one_after_the_other() -> None:
    assert _rank0(comp(1, micros=3), comp(2, micros=4)).finish_ns == 7000


def test_a_cpu_node_runs_beside_a_compute_node() -> None:
    metrics = _rank0(comp(1, micros=3), comp(2, micros=4, cpu=True))
    assert (metrics.finish_ns, metrics.gpu_time_ns, metrics.cpu_time_ns) == (4000, 3000, 4000)


def test_cpu_nodes_run_one_after_the_other() -> None:
    assert _rank0(comp(1, micros=3, cpu=True), comp(2, micros=4, cpu=True)).finish_ns == 7000


def test_a_cpu_node_takes_its_recorded_time_even_with_the_roofline() -> None:
    metrics = _rank0(comp(1, micros=40, cpu=True), comp(2), on=system())
    assert (metrics.cpu_time_ns, metrics.gpu_time_ns, metrics.finish_ns) == (40_000, 33_333, 40_000)
    # the denominator of the averages counts CPU nodes: 100 * 33333 / 73334, with 1 added
    assert f"{metrics.memory_utilization_pct:.3f}" == "45.454"
    # exposed communication counts the GPU alone
    assert metrics.exposed_comm_ns == 40_000 - 33_333


def test_compute_and_communication_overlap_and_communication_does_not_overlap_itself() -> None:
    sender = [comp(1, micros=3), send(2, to=1, size=100), send(3, to=1, size=100, tag=1)]
    receiver = [recv(1, source=0, size=100), recv(2, source=0, size=100, tag=1)]
    ranks = run(workload(sender, receiver), RECORDED)
    assert [metrics.finish_ns for metrics in ranks] == [3000, 100]
    assert ranks[0].comm_time_ns == 100


def test_a_collective_excludes_a_send() -> None:
    nodes = [coll(1, ALL_GATHER, 50), coll(2, ALL_GATHER, 50)]
    assert finish(workload(nodes, nodes), system(algorithms="direct")) == [140, 140]
    ranks = [nodes[0], send(2, to=1, size=100)], [nodes[0], recv(2, source=0, size=100)]
    assert finish(workload(*ranks), system(algorithms="direct")) == [120, 120]


def test_memory_nodes_and_communication_share_a_slot() -> None:
    on = dataclasses.replace(RECORDED, remote_memory=RemoteMemory("PER_NPU_MEMORY_EXPANSION", 100, 10))
    sender = [load(1, 1000), send(2, to=1, size=100)]
    assert finish(workload(sender, [recv(1, source=0, size=100)]), on) == [250, 250]


# Issue order


@pytest.mark.parametrize("in_file_order", [True, False])
def test_the_smallest_ready_id_takes_the_slot_whatever_the_order_in_the_file(in_file_order: bool) -> None:
    # node 5 first: 3000, then node 9 until 4000, then its child until 9000; node 9 first would give 7000
    nodes = [comp(5, micros=3), comp(9, micros=1), comp(10, micros=5, cpu=True, after=[9])]
    assert _rank0(*(nodes if in_file_order else nodes[::-1])).finish_ns == 9000
    swapped = [comp(9, micros=3), comp(5, micros=1), comp(10, micros=5, cpu=True, after=[5])]
    assert _rank0(*(swapped if in_file_order else swapped[::-1])).finish_ns == 6000


def test_a_busy_slot_does_not_hold_back_larger_ids_of_another_slot() -> None:
    nodes = [comp(1, micros=5), comp(2, micros=5), comp(3, micros=7, cpu=True)]
    assert _rank0(*nodes).finish_ns == 10_000


def test_control_and_data_dependencies_are_both_waited_for() -> None:
    first = [comp(1, micros=3), comp(2, micros=5, cpu=True)]
    assert _rank0(*first, comp(3, micros=1, after=[1], control=[2])).finish_ns == 6000
    assert _rank0(*first, comp(3, micros=1, after=[1])).finish_ns == 5000
    assert _rank0(*first, comp(3, micros=1, control=[1, 1], after=[1])).finish_ns == 5000


# Messages


def test_a_receive_does_not_take_the_communication_slot() -> None:
    nodes = [recv(1, source=1, size=100), send(2, to=1, size=100)]
    others = [recv(1, source=0, size=100), send(2, to=0, size=100)]
    assert finish(workload(nodes, others), system()) == [50, 50]


def test_a_receive_ends_at_arrival_or_when_it_is_posted_and_a_send_at_arrival() -> None:
    late = [comp(1, micros=2), recv(2, source=0, size=100, after=[1])]
    sender = [send(1, to=1, size=100), send(2, to=1, size=1000, tag=1)]
    ranks = run(workload(sender, [*late, recv(3, source=0, size=1000, tag=1)]), RECORDED)
    # 50, then floor(50 + 9.3) more; the late receive ends when it is posted
    assert [metrics.finish_ns for metrics in ranks] == [109, 2000]
    assert ranks[1].comm_time_ns == 109


def test_the_time_of_a_receive_counts_from_its_post() -> None:
    sender = [comp(1, micros=2), send(2, to=1, size=100, after=[1])]
    ranks = run(workload(sender, [recv(1, source=0, size=100)]), RECORDED)
    assert [metrics.comm_time_ns for metrics in ranks] == [50, 2050]


def test_messages_of_equal_key_match_in_the_order_of_posting() -> None:
    sender = [send(1, to=1, size=100), comp(2, micros=3), send(3, to=1, size=100, after=[2])]
    first_waits = [recv(7, source=0, size=100), recv(8, source=0, size=100), comp(9, micros=5, after=[7])]
    second_waits = [*first_waits[:2], comp(9, micros=5, after=[8])]
    assert finish(workload(sender, first_waits), RECORDED)[1] == 5050
    assert finish(workload(sender, second_waits), RECORDED)[1] == 8050


def test_tags_count_modulo_500_million() -> None:
    sender = [send(1, to=1, size=100, tag=500_000_007)]
    assert finish(workload(sender, [recv(1, source=0, size=100, tag=7)]), system()) == [50, 50]


@pytest.mark.parametrize(
    ("sent", "awaited"), [((100, 0), (101, 0)), ((100, 0), (100, 1))], ids=["size", "tag"]
)
def test_a_message_of_another_size_or_tag_is_not_the_one_awaited(
    sent: tuple[int, int], awaited: tuple[int, int]
) -> None:
    outcome = _simulate([send(1, 1, *sent)], [recv(1, 0, *awaited)])
    sender = outcome.rank(0)
    assert sender is not None
    assert sender.finish_ns == 50
    assert [(node.rank, node.node_id, node.kind, node.peers) for node in _blocked(outcome)] == [
        (1, 1, "receive", (0,))
    ]


# Nodes that are skipped or never end


@pytest.mark.parametrize("make", [lambda: comp(1, size=0), lambda: invalid(1)], ids=["zero size", "invalid"])
def test_children_of_a_skipped_node_wait_for_another_completion_and_hang_without_one(make: object) -> None:
    skipped = make()  # type: ignore[operator]
    outcome = _simulate([skipped, comp(2, after=[1])], [comp(1)])
    (node,) = _blocked(outcome)
    assert (node.rank, node.node_id, node.kind, node.peers) == (0, 2, "compute", ())
    assert node.cause == (
        "it became ready through a skipped node (zero size), and no later completion on this rank issues it"
    )
    assert outcome.reason.startswith(
        "1 of 2 ranks never finish; rank 0: compute node 2 node2: it became ready"
    )
    assert outcome.rank(1) is not None
    # the completion of node 3 issues node 2
    assert finish(workload([skipped, comp(2, after=[1]), comp(3)], [comp(1)]), system())[0] == 66_666


def test_a_skipped_node_takes_no_time_and_leaves_its_slot_free() -> None:
    metrics = _rank0(comp(1, size=0), comp(2), comp(3, after=[1]), on=system())
    assert (metrics.finish_ns, metrics.gpu_time_ns) == (66_666, 66_666)
    assert f"{metrics.memory_utilization_pct:.3f}" == "99.999"  # 100 * 66666 / 66667 = 99.9985000


def test_a_rank_with_nothing_but_skipped_nodes_finishes_at_time_0() -> None:
    metrics = _rank0(comp(1, size=0), invalid(2), on=system())
    assert (metrics.finish_ns, metrics.wall_time_ns, metrics.gpu_time_ns) == (0, 0, 0)


def test_a_compute_node_without_operations_never_ends_and_blocks_its_slot() -> None:
    outcome = _simulate([comp(1, ops=0), comp(2), comp(3, after=[1])], [comp(1)])
    endless, waiting = _blocked(outcome)
    assert (endless.node_id, endless.cause) == (
        1,
        "it has no operations, so its roofline time is 0/0 and it never ends",
    )
    assert (waiting.node_id, waiting.cause) == (
        2,
        "it is ready, but its hardware slot is taken by a node that never ends",
    )


def test_a_collective_of_one_member_never_ends_and_blocks_the_slot() -> None:
    ranks = [coll(1, ALL_REDUCE, 100, group="me"), send(2, to=1, size=100)], [comp(1)]
    outcome = _simulate(*ranks, me=[0])
    alone, waiting = _blocked(outcome)
    assert (alone.node_id, alone.kind, alone.communicator) == (1, "all-reduce", "me")
    assert "a single member?" in alone.cause
    assert (waiting.node_id, waiting.kind) == (2, "send")
    assert waiting.cause == "it is ready, but its hardware slot is taken by a node that never ends"


def test_a_collective_over_no_dimension_or_without_an_algorithm_never_ends() -> None:
    nowhere = [coll(1, ALL_REDUCE, 100, dims=[False])]
    assert [node.rank for node in _blocked(_simulate(nowhere, [*nowhere, comp(2)]))] == [0, 1]
    assert [node.rank for node in _blocked(_simulate(nowhere, nowhere))] == [0, 1]  # not class by class
    names = dataclasses.replace(system().collectives, all_gather=())
    unset = dataclasses.replace(system(), collectives=names)
    gather = [coll(1, ALL_GATHER, 100)]
    assert [node.kind for node in _blocked(_simulate(gather, gather, on=unset))] == ["all-gather"]


def test_nodes_of_a_cycle_are_dropped_and_the_rank_finishes() -> None:
    outcome = _simulate([comp(1), comp(2, after=[3]), comp(3, after=[2]), comp(4, after=[3])], [comp(1)])
    assert outcome.status == "ok"
    assert [rank.finish_ns for rank in outcome.classes if rank] == [33_333] * len(outcome.classes)


def _crossed(size_a: int, size_b: int) -> Outcome:
    """Ranks 0 and 1 run a collective on group a and one on group b, in opposite orders."""
    one = [coll(1, ALL_REDUCE, size_a, group="a"), coll(2, ALL_REDUCE, size_b, group="b")]
    two = [coll(1, ALL_REDUCE, size_b, group="b"), coll(2, ALL_REDUCE, size_a, group="a")]
    return _simulate(
        one, two, [comp(1)], [comp(1)], on=system("FullyConnected 4 @100/50"), a=[0, 1], b=[1, 0]
    )


def test_collectives_in_opposite_orders_wait_for_each_other() -> None:
    nodes = [
        (node.rank, node.node_id, node.communicator, node.peers) for node in _blocked(_crossed(400, 4000))
    ]
    assert [node for node in nodes if node[1] == 1] == [(0, 1, "a", (1,)), (1, 1, "b", (0,))]


def test_collectives_of_equal_size_on_different_groups_share_their_messages() -> None:
    # every group numbers its streams from 1000000, so tag, ranks and size are the same (section 6.1)
    outcome = _crossed(400, 400)
    ranks = [outcome.rank(0), outcome.rank(1)]
    assert [metrics.finish_ns for metrics in ranks if metrics] == [264, 264]


# Replay and broadcast


def test_replay_only_takes_recorded_times_and_ranks_do_not_interact() -> None:
    nodes = [recv(1, source=1, size=5, micros=2), coll(2, ALL_REDUCE, 10**9, micros=3), comp(3, after=[1])]
    ranks = run(workload(nodes, [invalid(1, micros=7)]), system(replay_only=True))
    # node 3 has no recorded time: 1 ns
    assert [metrics.finish_ns for metrics in ranks] == [3000, 7000]
    # communication counts as a GPU timer here
    assert ranks[0].exposed_comm_ns == 3000 - (2000 + 3000 + 1)
    assert (ranks[0].gpu_time_ns, ranks[0].comm_time_ns) == (1, 3000)


def test_without_the_roofline_a_node_without_a_recorded_time_takes_1_ns() -> None:
    assert _rank0(comp(1, micros=0)).finish_ns == 1


@pytest.mark.parametrize(("micros", "expected"), [(3, 3000), (0, 1)])
def test_a_broadcast_takes_its_recorded_time_in_the_communication_slot(micros: int, expected: int) -> None:
    nodes = [coll(1, BROADCAST, 10**9, micros=micros), send(2, to=1, size=100)]
    ranks = run(workload(nodes, [recv(1, source=0, size=100)]), system())
    assert [metrics.finish_ns for metrics in ranks] == [expected + 50, expected + 50]


# Remote memory: latency 100 ns, 10 bytes a ns, so 1000 bytes take 200 ns

PER_NPU = RemoteMemory("PER_NPU_MEMORY_EXPANSION", 100, 10)
POOL = RemoteMemory("MEMORY_POOL", 100, 10)


def _memory(memory: RemoteMemory, *ranks: list[Node]) -> list[RankMetrics]:
    on = dataclasses.replace(system("Ring 3 @100/50"), remote_memory=memory)
    return run(workload(*ranks), on)


def test_remote_memory_of_each_npu_is_accessed_independently() -> None:
    ranks = _memory(PER_NPU, [load(1, 1009)], [store(1, 1000)], [load(1, 2000), store(2, 1000)])
    assert [metrics.finish_ns for metrics in ranks] == [200, 200, 500]
    assert [metrics.remote_memory_time_ns for metrics in ranks] == [200, 200, 500]


def test_a_memory_pool_serves_one_access_at_a_time_in_the_order_of_issue() -> None:
    ranks = _memory(POOL, [load(1, 1000)], [load(1, 2000)], [store(1, 1000)])
    assert [metrics.finish_ns for metrics in ranks] == [200, 500, 700]
    assert [metrics.remote_memory_time_ns for metrics in ranks] == [200, 500, 700]


def test_an_access_that_a_completion_issues_joins_the_end_of_the_pool_s_queue() -> None:
    ranks = _memory(POOL, [load(1, 1000), load(2, 1000, after=[1])], [load(1, 1000)], [load(1, 1000)])
    assert [metrics.finish_ns for metrics in ranks] == [800, 400, 600]


def test_an_idle_pool_serves_at_once() -> None:
    late = [comp(1), load(2, 1000, after=[1])]
    ranks = _memory(POOL, [load(1, 1000)], late, [comp(1)])
    assert [metrics.finish_ns for metrics in ranks] == [200, 33_533, 33_333]


# Rendezvous (section 6.5): a control message of 8192 bytes takes floor(50 + 76.29) = 126 ns


@pytest.mark.parametrize(("rendezvous", "expected"), [(False, [50, 50]), (True, [176, 176])])
def test_rendezvous_sends_after_a_message_of_the_receiver(rendezvous: bool, expected: list[int]) -> None:
    work = workload([send(1, to=1, size=100)], [recv(1, source=0, size=100)])
    assert finish(work, system(rendezvous_protocol=rendezvous)) == expected


def test_rendezvous_makes_the_sender_wait_for_a_late_receiver() -> None:
    late = [comp(1, micros=2), recv(2, source=0, size=100, after=[1])]
    work = workload([send(1, to=1, size=100)], late)
    assert finish(work, dataclasses.replace(RECORDED, rendezvous_protocol=True)) == [2176, 2176]


def test_rendezvous_applies_to_collectives() -> None:
    nodes = [coll(1, ALL_GATHER, 50)]
    on = system(algorithms="direct", rendezvous_protocol=True)
    assert finish(workload(nodes, nodes), on) == [10 + 126 + 50 + 10] * 2


# What the reference stops on


@pytest.mark.parametrize(
    ("nodes", "on", "problem"),
    [
        ([coll(1, ALL_REDUCE, 100)], system(endpoint_delay_ns=0), "an event falls on time 0"),
        ([comp(1, ops=1, size=1)], system(), "an event falls on time 0"),
        (
            [coll(1, ALL_TO_ALL, 100)],
            system("Switch 2 @100/50", "halvingDoubling"),
            "halvingDoubling has no all-to-all",
        ),
        (
            [coll(1, ALL_GATHER, 9)],
            system(preferred_dataset_splits=10),
            "an all-gather of 9 bytes cannot be cut",
        ),
        ([coll(1, ALL_REDUCE, 2)], system("Switch 2 @1/5", "halvingDoubling"), "a message of 0 bytes"),
        ([load(1, 10)], system(), "memory-type is NO_MEMORY_EXPANSION"),
        (
            [comp(1, writes={"a": 1}), comp(2, after=[1], writes={"a": 1})],
            system(track_local_memory=True),
            "node 2 (node2): tensor 'a' was written or read before",
        ),
        (
            [comp(1, reads={"a": 1}), comp(2, after=[1], writes={"a": 1})],
            system(track_local_memory=True),
            "node 2 (node2): tensor 'a' was written or read before",
        ),
    ],
    ids=[
        *("endpoint delay 0", "compute below 1 ns", "halving-doubling all-to-all", "empty chunks"),
        *("halved to 0 bytes", "no remote memory", "written twice", "read before written"),
    ],
)
def test_what_makes_the_reference_stop_is_a_simulation_error(
    nodes: list[Node], on: SystemSpec, problem: str
) -> None:
    with pytest.raises(SimulationError) as caught:
        _simulate(nodes, nodes, on=on)
    assert problem in str(caught.value)


def test_a_delay_of_zero_is_allowed_after_time_0() -> None:
    assert _rank0(comp(1), comp(2, ops=1, size=1, after=[1]), on=system()).finish_ns == 33_333


def test_a_tree_over_npus_that_are_no_power_of_two_is_a_simulation_error() -> None:
    nodes = [coll(1, ALL_REDUCE, 100)]
    with pytest.raises(SimulationError, match="power of two"):
        _simulate(*[nodes] * 3, on=system("Switch 3 @100/50", "doubleBinaryTree"))


def test_a_tree_in_an_algorithm_list_shorter_than_the_network_is_refused() -> None:
    nodes = [coll(1, ALL_REDUCE, 100)]
    on = system("Switch 2 @100/50, Switch 2 @100/50", "doubleBinaryTree")
    with pytest.raises((InputError, SimulationError), match="doubleBinaryTree"):
        _simulate(*[nodes] * 4, on=on)


def test_involve_dims_needs_an_entry_for_each_dimension() -> None:
    nodes = [coll(1, ALL_REDUCE, 100, dims=[True])]
    on = system("Ring 2 @100/50, Ring 2 @100/50")
    with pytest.raises(InputError, match="involve_dims list has 1 entries, but the network has 2 dimensions"):
        _simulate(*[nodes] * 4, on=on)


def test_communication_on_the_cpu_is_an_input_error() -> None:
    node = send(1, to=1, size=100)
    node["attributes"]["is_cpu_op"] = (7, 1)
    with pytest.raises(InputError, match="is_cpu_op is set on a communication node"):
        _simulate([node], [recv(1, source=0, size=100)])
