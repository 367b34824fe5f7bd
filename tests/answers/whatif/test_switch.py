"""Switches: where bisection ends, against a scan that evaluates every strategy at every value."""

from __future__ import annotations

import math

import pytest
from tiny_points import LLAMA4, TINY, brute_force, candidates, rows

from dse.answers import best
from dse.answers.whatif import (
    Candidates,
    Switch,
    cap_switches,
    parameters_named,
    parameters_of,
    switch_among,
)
from dse.answers.whatif.switch import GRID
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.points import strategy_of_row

CAP = 96_468_992


def switch(overrides: tuple[str, ...], key: str, cap: int | None = None, limit: float = 64) -> Switch | None:
    found = candidates(*overrides, cap=cap)
    (parameter,) = parameters_named(found.scenario.system, [key])
    return switch_among(found, parameter, limit)


@pytest.mark.parametrize("cap", [None, CAP])
def test_both_ends_of_every_bracket_are_those_of_all_strategies(cap: int | None) -> None:
    found = candidates(*TINY, cap=cap)
    present = strategy_of_row(found.winner)
    switches = 0
    for parameter in parameters_of(found.scenario.system):
        answer = switch_among(found, parameter)
        if answer is None:
            continue
        switches += 1

        def truth(value: float, parameter=parameter) -> Strategy | None:  # type: ignore[no-untyped-def]
            return brute_force(parameter, value, rows(*TINY), found.scenario, cap)

        assert truth(answer.last_value) == present
        assert truth(answer.first_value) == answer.strategy != present
        width = abs(answer.first_value - answer.last_value)
        assert width <= (1 if parameter.is_integer else 1e-6 * answer.last_value)
        # No value of the grid nearer to the present one has another winner, in either direction.
        nearer = [factor for factor in GRID if factor < math.exp(abs(math.log(answer.factor or 1)))]
        for factor in nearer:
            assert truth(parameter.scaled(factor)) == truth(parameter.scaled(1 / factor)) == present
    assert switches == (7 if cap is None else 5)


def test_a_switch_is_where_a_scan_finds_it() -> None:
    answer = switch(TINY, "endpoint_delay_ns")
    assert answer is not None
    assert (answer.value, answer.last_value, answer.first_value) == (10, 404, 405)
    assert (answer.strategy, answer.wall_time_ns) == (Strategy(dp=8, tp=2), 659_220)
    assert (answer.old_wall_time_ns, answer.cause, answer.factor) == (659_448, "faster", 40.5)
    found = candidates(*TINY)
    (delay,) = parameters_named(found.scenario.system, ["endpoint_delay_ns"])
    winners = [
        brute_force(delay, value, rows(*TINY), found.scenario, None) for value in (1, 5, 100, 400, 404, 405)
    ]
    assert winners == [*[Strategy(dp=16)] * 5, Strategy(dp=8, tp=2)]


def test_literal_switches_of_llama() -> None:
    answer = switch(LLAMA4, "network.2.bandwidth_gbps")
    assert answer is not None
    assert answer.first_value == pytest.approx(221.106, abs=1e-3)
    assert answer.strategy == Strategy(dp=32, tp=2)
    assert (answer.wall_time_ns, answer.old_wall_time_ns) == (186_675_241, 186_675_242)
    assert switch(LLAMA4, "peak_tflops") is None
    assert switch(LLAMA4, "network.2.bandwidth_gbps", limit=2.2) is None


def test_a_strategy_that_begins_to_fit_says_so() -> None:
    answer = switch(TINY, "peak_tflops", CAP)
    assert answer is not None
    assert (answer.cause, answer.strategy) == ("fits", Strategy(dp=8, sp=2, activation_recompute=True))


@pytest.mark.parametrize("overrides", [TINY, LLAMA4])
def test_caps_change_the_answer_exactly_there(overrides: tuple[str, ...]) -> None:
    all_rows = rows(*overrides)
    peaks = sorted({row.peak_memory_bytes or 0 for row in all_rows})
    others = [candidate for peak in peaks for candidate in (peak - 1, peak)]
    winners = {other: best(all_rows, memory_cap_bytes=other) for other in others}
    for cap in peaks:
        winner = winners[cap]
        assert winner is not None
        below, above = cap_switches(Candidates(all_rows, winner, cap))
        assert below is not None
        same = [other for other in others if winners[other] == winner]
        assert (below.first_value, below.last_value) == (min(same) - 1, min(same))
        under = best(all_rows, memory_cap_bytes=min(same) - 1)
        assert below.strategy == (None if under is None else strategy_of_row(under))
        larger = [other for other in others if other > cap and winners[other] != winner]
        assert (None if above is None else above.first_value) == min(larger, default=None)
        if above is not None:
            over = best(all_rows, memory_cap_bytes=int(above.first_value))
            assert over is not None
            assert (above.strategy, above.wall_time_ns) == (strategy_of_row(over), over.wall_time_ns)


def test_without_a_cap_there_is_only_one_below() -> None:
    below, above = cap_switches(candidates(*TINY))
    assert below is not None
    assert (below.value, below.factor, below.first_value) == (None, None, 147_849_215)
    assert (below.cause, above) == ("misfit", None)


def test_a_limit_is_above_1() -> None:
    with pytest.raises(InputError, match="limit 1 is not a number above 1"):
        switch(TINY, "peak_tflops", limit=1)
