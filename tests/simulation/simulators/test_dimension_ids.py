"""Ids of streams over dimensions: they come from one counter of the rank, which every stream advances."""

from __future__ import annotations

import random

import pytest

from dse.simulation.simulators import NativeSimulator, Outcome
from dse.testing.builders import ALL_GATHER, ALL_REDUCE, BROADCAST, Node, coll, system, workload

MIB = 1 << 20
PLANE = "Ring 4 @50/500,Ring 2 @50/500"  # rank r is at place r mod 4 of dimension 0, r div 4 of dimension 1
GROUP = {"1": [0, 1, 2, 3]}


def _plane(programs: list[list[Node]], **changes: int) -> Outcome:
    on = system(PLANE, "ring ring", memory_bandwidth_gbps=1600, **changes)
    return NativeSimulator().simulate(workload(*programs, groups=GROUP), on)


def _finished(outcome: Outcome) -> list[int | None]:
    ranks = (outcome.rank(rank) for rank in range(outcome.rank_count))
    return [metrics and metrics.finish_ns for metrics in ranks]


def _waits(outcome: Outcome) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(node.rank, node.node_id, node.peers) for node in outcome.blocked]


def test_ranks_of_a_ring_with_other_numbers_of_group_streams_before_wait_for_each_other_for_ever() -> None:
    over_dimension_1 = coll(2, ALL_REDUCE, MIB, dims=[False, True])
    programs = [[coll(1, ALL_REDUCE, MIB, group="1"), over_dimension_1]] * 4 + [[over_dimension_1]] * 4
    outcome = _plane(programs)
    assert outcome.status == "deadlock"
    assert _finished(outcome) == [None] * 8
    assert _waits(outcome) == [(rank, 2, ((rank + 4) % 8,)) for rank in range(8)]
    assert outcome.reason == (
        "8 of 8 ranks never finish; rank 0: all-reduce node 2 node2 (waits for rank 4): "
        "it waits for messages that are never sent"
    )


def test_rings_whose_ranks_ran_as_many_group_streams_finish_beside_those_that_wait() -> None:
    """Over dimension 0 all ranks of a ring have the group or none: both rings finish, and only they."""
    first, second = coll(2, ALL_REDUCE, MIB, dims=[True, False]), coll(3, ALL_REDUCE, MIB, dims=[False, True])
    alone = [[first]] * 8
    grouped = [[coll(1, ALL_REDUCE, MIB, group="1"), first]] * 4 + [[first]] * 4
    assert _finished(_plane(alone)) == [33_829] * 8
    assert _finished(_plane(grouped)) == [2 * 33_829] * 4 + [33_829] * 4
    # Ranks 4 to 7 end after the ring, if they are not asked for more; the others wait for the second ring.
    some = [[*nodes, second] if rank in (0, 4) else nodes for rank, nodes in enumerate(grouped)]
    outcome = _plane(some)
    assert _finished(outcome) == [None, *[2 * 33_829] * 3, None, *[33_829] * 3]
    assert _waits(outcome) == [(0, 3, (4,)), (4, 3, (0,))]


def test_streams_count_and_not_collectives() -> None:
    """A collective has a stream for each of its chunks; a broadcast has none."""
    over = coll(9, ALL_GATHER, MIB, dims=[False, True])
    in_group = [coll(1, ALL_REDUCE, MIB, group="1"), over]
    alone = [coll(0, BROADCAST, 1, micros=1), coll(1, ALL_REDUCE, MIB, dims=[True, False]), over]
    assert _plane([in_group] * 4 + [alone] * 4, preferred_dataset_splits=4).status == "ok"
    twice = [*alone[:-1], coll(2, ALL_REDUCE, MIB, dims=[True, False]), over]
    assert _plane([in_group] * 4 + [twice] * 4, preferred_dataset_splits=4).status == "deadlock"


def test_collectives_of_all_ranks_advance_the_counter_too() -> None:
    world = coll(1, ALL_REDUCE, MIB)
    over = coll(2, ALL_REDUCE, MIB, dims=[False, True])
    assert _plane([[world, over]] * 8).status == "ok"
    # Rank 7 issues the second collective first, so it numbers both apart from its peer.
    swapped = [coll(1, ALL_REDUCE, MIB, dims=[False, True]), coll(2, ALL_REDUCE, MIB)]
    assert {0, 7} <= {node.rank for node in _plane([[world, over]] * 7 + [swapped]).blocked}


@pytest.mark.parametrize("seed", range(40))
def test_a_ring_finishes_exactly_if_its_ranks_ran_equally_many_streams_before(seed: int) -> None:
    """Random groups of neighbours run first; then every line of one dimension has a collective."""
    rng = random.Random(seed)
    first, second = rng.choice([2, 3, 4]), rng.choice([2, 3, 4])
    splits, dimension = rng.choice([1, 2, 5]), rng.randrange(2)
    npus, dims = first * second, [dimension == 0, dimension == 1]
    groups: dict[str, list[int]] = {}
    programs: list[list[Node]] = [[] for _ in range(npus)]
    for number in range(1, rng.randrange(2, 6)):
        members = rng.sample(range(npus), rng.randrange(2, npus))
        groups[str(number)] = members
        for rank in members:
            programs[rank].append(coll(number, ALL_REDUCE, 60_000, group=str(number)))
    before = [len(program) for program in programs]
    for program in programs:
        program.append(coll(99, ALL_GATHER, 60_000, dims=dims))
    on = system(f"Ring {first} @50/500,Ring {second} @50/500", "ring ring", preferred_dataset_splits=splits)
    outcome = NativeSimulator().simulate(workload(*programs, groups=groups), on)

    for rank in range(npus):
        line = [
            other
            for other in range(npus)
            if (other // first == rank // first if dimension == 0 else other % first == rank % first)
        ]
        is_equal = len({before[other] for other in line}) == 1
        assert (outcome.rank(rank) is not None) == is_equal, (rank, before, groups)
