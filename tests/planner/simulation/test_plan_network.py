"""The network of a mixed cluster: what messages take alone, and when they share a link."""

from __future__ import annotations

import pytest

from dse.base.trace_nodes import trace_of
from dse.native import _engine
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.ranks import Ranks
from dse.planner.questions.simulation.network import engine_network
from dse.simulation.workloads.nodes import compute_node, message_node
from dse.simulation.workloads.traces import workload_of

MB = 1_000_000
CLUSTER = MixedCluster(
    (
        Host("a", "A100", 2, 50.0, 10.0),
        Host("b", "A100", 2, 50.0, 10.0),
        Host("c", "V100", 2, 25.0, 5.0, island=1),
    ),
    {"A100": 80.0, "V100": 16.0},
    {},
    between_islands_gbps=2.0,
)


def ends_ns(messages: list[tuple[int, int, int]], *, is_contended: bool) -> list[int]:
    """When the GPUs that take messages (source, destination, bytes) have them, in the order of messages."""
    nodes = [[compute_node(0, 1, ())] for _ in range(6)]
    for tag, (source, destination, size) in enumerate(messages):
        nodes[source].append(message_node(len(nodes[source]), "s", "send", tag, destination, size, (0,)))
        nodes[destination].append(
            message_node(len(nodes[destination]), "r", "receive", tag, source, size, ())
        )
    traces = [trace_of(each) for each in nodes]
    network = engine_network(Ranks(CLUSTER, ("A100", "V100")), 2.0, is_contended=is_contended)
    result = _engine.simulate(workload_of(traces).native, network, _engine.Method.GENERAL)
    return [result.classes[result.class_of_rank[to]].finish_ns - 1 for _, to, _ in messages]


@pytest.mark.parametrize(
    ("source", "destination", "ns"),
    [(0, 1, 20_000), (4, 5, 40_000), (0, 2, 100_000), (1, 4, 500_000), (5, 3, 500_000)],
)
@pytest.mark.parametrize("is_contended", [False, True])
def test_a_message_alone_takes_its_slowest_link(
    source: int, destination: int, ns: int, is_contended: bool
) -> None:
    assert ends_ns([(source, destination, MB)], is_contended=is_contended) == [ns]


def test_gpus_of_a_host_share_its_uplink() -> None:
    both = [(0, 2, MB), (1, 3, MB)]
    assert ends_ns(both, is_contended=False) == [100_000, 100_000]
    assert sorted(ends_ns(both, is_contended=True)) == [100_000, 200_000]


def test_messages_inside_a_host_do_not_disturb_those_that_leave_it() -> None:
    assert ends_ns([(0, 2, MB), (1, 0, MB)], is_contended=True) == [100_000, 100_000]
    # GPU 0 is done when its own message has arrived; the one that it takes came after 20 us.
    assert ends_ns([(1, 0, MB), (3, 2, MB)], is_contended=True) == [20_000, 20_000]


def test_islands_share_what_joins_them() -> None:
    both = [(0, 4, MB), (2, 5, MB)]
    assert ends_ns(both, is_contended=False) == [500_000, 500_000]
    assert sorted(ends_ns(both, is_contended=True)) == [500_000, 1_000_000]
