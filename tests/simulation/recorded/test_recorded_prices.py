"""Communications of recorded steps on systems: simulated alone, instead of the measured or in a ratio."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recorded_steps import Row, step_of, two_ranks

from dse.base.errors import InputError
from dse.simulation.recorded.changes import Changes, changed
from dse.simulation.recorded.prices import price_ns
from dse.simulation.recorded.step import Communication, NodeKind, RecordedStep
from dse.testing.builders import ALL_REDUCE, coll, finish, recv, send, system, workload

RING = system("Ring 4 @100/50")
MEGABYTE = 10**6


def _collectives(*kinds: str, members: tuple[int, ...] = (0, 1), size: int = MEGABYTE) -> RecordedStep:
    rows = [
        Row(kind, 100_000, communication=number, kind=NodeKind.COLLECTIVE)
        for number, kind in enumerate(kinds)
    ]
    return step_of(rows, rows, communications=[(kind, size, members) for kind in kinds])


def test_a_collective_of_all_ranks_costs_what_its_simulation_takes() -> None:
    alone = workload(*[[coll(1, ALL_REDUCE, MEGABYTE)]] * 4)
    whole = Communication("all_reduce", MEGABYTE, "g", (0, 1, 2, 3), ())
    assert price_ns(whole, RING) == max(finish(alone, RING))


def test_a_group_and_a_message_cost_what_their_simulation_takes() -> None:
    pair = Communication("all_reduce", MEGABYTE, "g", (3, 1), ())
    assert price_ns(pair, RING) > price_ns(replace(pair, size_bytes=MEGABYTE // 2), RING) > 0
    sent = workload([send(1, to=1, size=MEGABYTE)], [recv(1, source=0, size=MEGABYTE)])
    two = system("Ring 2 @100/50")
    message = Communication("message", MEGABYTE, "", (0, 1), ())
    assert price_ns(message, two) == max(finish(sent, two))


def test_a_system_replaces_measured_times() -> None:
    step = _collectives("all_reduce", "all_gather")
    priced = changed(step, Changes(system=RING))
    assert priced.duration_ns.tolist() == [price_ns(each, RING) for each in step.communications] * 2
    assert step.duration_ns.tolist() == [100_000] * 4
    assert priced.notes == ()


def test_a_base_system_scales_measured_times() -> None:
    step = _collectives("all_reduce")
    slow = system("Ring 4 @25/50")
    assert changed(step, Changes(system=RING, base_system=RING)).duration_ns.tolist() == [100_000] * 2
    priced = changed(step, Changes(system=slow, base_system=RING)).duration_ns.tolist()
    ratio = price_ns(step.communications[0], slow) / price_ns(step.communications[0], RING)
    assert priced == [round(100_000 * ratio)] * 2
    assert 3.5 < ratio < 4


def test_more_ranks_are_priced_on_the_system_that_has_them() -> None:
    step = _collectives("all_reduce")
    priced = changed(step, Changes(rank_factor=2, system=RING, base_system=RING))
    [grown] = priced.communications
    assert grown.members == (0, 1, 2, 3)
    ratio = price_ns(grown, RING) / price_ns(step.communications[0], RING)
    assert priced.duration_ns.tolist() == [round(100_000 * ratio)] * 2


def test_other_algorithms_and_synthesised_schedules_change_prices() -> None:
    step = _collectives("all_reduce")
    ring, halving, made = (
        system("Ring 4 @100/50", names, network_model="congestion_aware")
        for names in ("ring", "halvingDoubling", "synthesized")
    )
    step = replace(
        step, world_size=4, communications=(replace(step.communications[0], members=(0, 1, 2, 3)),)
    )
    times = [int(changed(step, Changes(system=each)).duration_ns[0]) for each in (ring, halving, made)]
    assert len(set(times)) == 3
    assert times[2] <= times[0]


def test_kinds_without_an_algorithm_keep_their_times_and_are_named() -> None:
    step = _collectives("all_reduce", "barrier", "broadcast", "broadcast")
    priced = changed(step, Changes(system=RING))
    assert priced.duration_ns[1:4].tolist() == [100_000] * 3
    assert priced.notes == (
        "1 barrier, 2 broadcast kept their measured times: a system has no algorithm for them.",
    )


def test_what_a_system_cannot_price_is_refused() -> None:
    with pytest.raises(InputError, match="no algorithm for any communication of the step: barrier"):
        changed(_collectives("barrier", size=0), Changes(system=RING))
    with pytest.raises(InputError, match="not say the bytes of any communication of the step: all_reduce"):
        changed(_collectives("all_reduce", size=0), Changes(system=RING))
    with pytest.raises(InputError, match="system has 4 NPUs; the step has 6 ranks"):
        changed(replace(two_ranks(), world_size=6), Changes(system=RING))
    with pytest.raises(InputError, match="base_system has 2 NPUs; the step has 4 ranks"):
        changed(two_ranks(), Changes(rank_factor=2, system=RING, base_system=system("Ring 2 @100/50")))
    with pytest.raises(InputError, match="base_system is given without system"):
        Changes(base_system=RING)


def test_a_group_that_had_one_rank_has_no_ratio() -> None:
    row = Row("nccl", 1, communication=0, kind=NodeKind.COLLECTIVE)
    step = step_of([row], communications=[("all_reduce", 8, (0,))])
    with pytest.raises(InputError, match="group 'group0' had one rank when it was measured"):
        changed(step, Changes(rank_factor=4, system=RING, base_system=RING))
    assert changed(step, Changes(rank_factor=4, system=RING)).duration_ns[0] > 1
