"""Replay of recorded steps: the engine against a slow reference, waits, errors, deadlocks, trust."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from recorded_steps import Row, step_of, steps, two_ranks

from dse.base.errors import InputError
from dse.simulation.recorded.changes import Changes
from dse.simulation.recorded.critical import critical_path
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import NodeKind, RecordedStep
from dse.simulation.recorded.trust import gap_shares, reasons_for_distrust
from tests.references.swept_replay import swept


@given(steps())
def test_the_engine_plays_as_the_slow_reference(step: RecordedStep) -> None:
    played = replayed(step)
    assert [played.start_ns.tolist(), played.run_ns.tolist(), played.end_ns.tolist()] == [*swept(step)]
    assert played.status == "ok"


@given(steps(in_order=False))
def test_steps_that_may_block_end_as_far_as_those_of_the_reference(step: RecordedStep) -> None:
    played = replayed(step)
    _, _, end_ns = swept(step)
    assert played.end_ns.tolist() == end_ns
    assert (played.status == "deadlock") == (-1 in end_ns)
    if played.blocked:
        around = [*played.blocked[1:], played.blocked[0]]
        for node, awaited in zip(played.blocked, around, strict=True):
            assert node.peers == (awaited.rank,)
            assert end_ns[node.node_id] < 0
            assert f"node {awaited.node_id} " in node.cause


@given(steps())
def test_a_replay_with_changes_of_nothing_is_the_replay(step: RecordedStep) -> None:
    assert replayed(step, Changes()).end_ns.tolist() == replayed(step).end_ns.tolist()


@given(steps())
def test_the_critical_path_adds_up_to_the_replay(step: RecordedStep) -> None:
    played = replayed(step)
    path = critical_path(played)
    assert path.total_ns == played.step_ns
    assert path.waiting_ns == 0
    assert sum(path.rank_ns.values()) == played.step_ns
    for index, rank in enumerate(step.ranks):
        own = critical_path(played, rank)
        assert own.total_ns == played.rank_end_ns[index]
        assert set(own.rank_ns) <= {rank}


def test_a_rank_waits_for_the_one_that_is_late() -> None:
    played = replayed(two_ranks())
    assert played.last_rank(0) == 1
    assert played.wait_ns[list(played.step.communications[0].nodes)].tolist() == [5, 0]
    assert dict(played.waited_for_ns) == {(0, 1): 5}
    assert played.rank_end_ns.tolist() == [20, 20]
    path = critical_path(played)
    assert path.nodes.tolist() == [3, 4, 1, 2]
    assert (path.work_ns, path.communication_ns, path.gap_ns) == ({"matmul": 9, "elementwise": 2}, 7, 2)
    assert path.rank_ns == {0: 9, 1: 11}
    own = critical_path(played, 0)
    assert (own.gap_ns, own.waiting_ns, own.communication_ns) == (1, 5, 7)


def test_crossed_collectives_are_named_as_a_deadlock() -> None:
    def rank(*order: int) -> list[Row]:
        return [Row(f"nccl{number}", 1, communication=number, kind=NodeKind.COLLECTIVE) for number in order]

    played = replayed(
        step_of(rank(0, 1), rank(1, 0), communications=[("all_reduce", 8, (0, 1)), ("all_gather", 8, (0, 1))])
    )
    assert played.status == "deadlock"
    assert played.step_ns == -1
    assert played.rank_end_ns.tolist() == [-1, -1]
    assert played.last_rank(0) is None
    assert played.reason.startswith(
        "4 of 4 nodes never end; each waits for the next: rank 0: collective node 0 nccl0 on group group0_1 "
        "(waits for rank 1): the all_reduce waits for node 3 nccl0, which never begins; rank 1: collective "
    )
    assert [node.cause for node in played.blocked[1:]] == [
        "node 2 nccl1 before it never ends",
        "the all_gather waits for node 1 nccl1, which never begins",
        "node 0 nccl0 before it never ends",
    ]
    with pytest.raises(InputError, match="never ends has no critical path"):
        critical_path(played)
    assert reasons_for_distrust(played) == (played.reason,)


def test_a_replay_near_the_measured_step_is_trusted() -> None:
    step = two_ranks()
    played = replayed(replace(step, measured_ns=np.array([21, 19])))
    assert played.errors.tolist() == pytest.approx([20 / 21 - 1, 20 / 19 - 1])
    assert played.is_trusted
    assert reasons_for_distrust(played) == ()
    assert gap_shares(played) == {0: 1 / 20, 1: 2 / 20}


def test_a_lost_edge_and_one_too_many_say_where_they_are() -> None:
    step = two_ranks()
    lost = replayed(replace(step, measured_ns=np.array([20, 40]), notes=("2 edges were dropped.",)))
    assert not lost.is_trusted
    assert reasons_for_distrust(lost)[0].startswith(
        "rank 1 ends after 0.000 ms and was measured at 0.000 ms (-50.0 %): a dependency is missing, or time"
    )
    assert reasons_for_distrust(lost)[1:] == ("2 edges were dropped.",)
    slow = replace(step, duration_ns=step.duration_ns * 10**6, gap_ns=step.gap_ns * 10**6)
    slow = replace(slow, start_ns=replayed(slow).start_ns - np.array([0, 0, 0, 0, 3, 3]) * 10**6)
    reason = reasons_for_distrust(replayed(replace(slow, measured_ns=np.array([20, 17]) * 10**6)))
    assert reason == (
        "rank 1 ends after 20.000 ms and was measured at 17.000 ms (+17.6 %): a node waits for one that it "
        "did not wait for; most of it, +3.000 ms, at gloo:all_reduce; gaps are 10.0 % of its path",
    )


def test_a_step_without_a_measured_time_is_not_trusted() -> None:
    played = replayed(replace(two_ranks(), measured_ns=np.array([0, 20])))
    assert not played.is_trusted
    assert reasons_for_distrust(played) == ("rank 0 ends after 0.000 ms; its files hold no measured time",)


def test_columns_that_do_not_fit_are_refused() -> None:
    step = two_ranks()
    with pytest.raises(InputError, match=r"before\[0\] is 9; it must be from 0 to 5"):
        replayed(replace(step, before=np.array([9, 1, 3, 4])))
    with pytest.raises(InputError, match=r"lane\[0\] is -1; it must be from 0 to 3"):
        replayed(replace(step, lane=np.array([-1, 0, 0, 0, 0, 0], dtype=np.int32)))
    with pytest.raises(InputError, match="rank 7 was not recorded"):
        critical_path(replayed(step), 7)
