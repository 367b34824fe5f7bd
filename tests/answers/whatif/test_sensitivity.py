"""Elasticities: literal ones, their signs, and that a system k times as slow takes k times as long."""

from __future__ import annotations

import dataclasses
import math

import pytest
from tiny_points import LLAMA4, TINY, brute_force, candidates, rows, scenario

from dse.answers.whatif import (
    Candidates,
    binding_constraint,
    optima,
    parameters_named,
    parameters_of,
    sensitivity,
)
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, evaluate, strategy_of_row

CAPPED = Strategy(dp=8, tp=2, activation_recompute=True)  # of tiny under 96468992 bytes


def test_every_number_of_the_system_that_matters_is_a_parameter() -> None:
    found = parameters_of(scenario(*TINY).system)
    assert [(parameter.key, parameter.value) for parameter in found] == [
        ("system.peak_tflops", 450),
        ("system.memory_bandwidth_gbps", 3000),
        ("system.network.0.bandwidth_gbps", 100),
        ("system.network.1.bandwidth_gbps", 100),
        ("system.network.0.latency_ns", 50),
        ("system.network.1.latency_ns", 50),
        ("system.endpoint_delay_ns", 10),
    ]


def test_what_has_no_effect_or_is_zero_is_no_parameter() -> None:
    system = scenario(*TINY).system
    first, second = system.network
    changed = dataclasses.replace(
        system,
        roofline_enabled=False,
        endpoint_delay_ns=0,
        network=(dataclasses.replace(first, latency_ns=0), second),
    )
    assert [parameter.key for parameter in parameters_of(changed)] == [
        "system.network.0.bandwidth_gbps",
        "system.network.1.bandwidth_gbps",
        "system.network.1.latency_ns",
    ]


def test_integers_stay_integers_above_zero() -> None:
    (delay,) = parameters_named(scenario(*TINY).system, ["endpoint_delay_ns"])
    assert [delay.scaled(factor) for factor in (0.01, 0.5, 0.77, 1, 2.56)] == [1, 5, 8, 10, 26]


def test_literal_sensitivities_of_tiny() -> None:
    answers = sensitivity(DesignPoint(scenario(*TINY), CAPPED), (0.5, 2))
    found = {
        answer.parameter.key.removeprefix("system."): [
            round(answer.elasticity or 0, 4),
            *[sample.wall_time_ns for sample in answer.samples],
        ]
        for answer in answers
    }
    assert {answer.wall_time_ns for answer in answers} == {752_576}
    assert found == {
        "peak_tflops": [-0.4064, 1_131_437, 603_413],
        "memory_bandwidth_gbps": [-0.1827, 895_214, 697_139],
        "network.0.bandwidth_gbps": [-0.1145, 832_854, 718_630],
        "network.1.bandwidth_gbps": [-0.2145, 952_114, 681_335],
        "network.0.latency_ns": [0.0475, 734_726, 761_960],
        "network.1.latency_ns": [0.0191, 745_376, 766_976],
        "endpoint_delay_ns": [0.0, 752_576, 752_576],
    }


def test_literal_sensitivities_of_llama() -> None:
    answers = sensitivity(
        DesignPoint(scenario(*LLAMA4), Strategy(dp=32, tp=2, activation_recompute=True)), (0.5, 2)
    )
    assert [round(answer.elasticity or 0, 4) for answer in answers] == [
        *(-0.9305, -0.0442),
        *(0, 0, -0.0252),
        *(0, 0, 0),
        0,
    ]
    assert [sample.wall_time_ns for sample in answers[0].samples] == [431_743_572, 118_957_790]


@pytest.mark.parametrize("overrides", [TINY, LLAMA4])
def test_a_faster_part_makes_no_point_of_these_slower(overrides: tuple[str, ...]) -> None:
    """Not a law (an earlier message can be in the way of another), but so in these spaces."""
    on = scenario(*overrides)
    for row in rows(*overrides):
        for answer in sensitivity(DesignPoint(on, strategy_of_row(row)), ()):
            is_rate = not answer.parameter.key.endswith("_ns")
            assert answer.elasticity is not None
            assert (answer.elasticity <= 1e-12) if is_rate else (answer.elasticity >= -1e-12)


@pytest.mark.parametrize("overrides", [TINY, LLAMA4])
def test_all_rates_down_and_all_delays_up_scale_the_time(overrides: tuple[str, ...]) -> None:
    """Slow systems, because every step of a collective takes whole nanoseconds."""
    on = scenario(*overrides)
    strategy = Strategy(dp=on.system.npus // 2, tp=2, activation_recompute=True)
    walls = []
    for slower in (16.0, 64.0):
        then = on
        for parameter in parameters_of(on.system):
            power = 1 if parameter.key.endswith("_ns") else -1
            then = parameter.applied_to(then, parameter.scaled(slower**power))
        walls.append(evaluate(DesignPoint(then, strategy)).wall_time_ns or 0)
    assert walls[1] / walls[0] == pytest.approx(4, rel=2e-3)
    assert walls[0] / (evaluate(DesignPoint(on, strategy)).wall_time_ns or 1) == pytest.approx(16, rel=0.02)


def test_elasticities_sum_to_one() -> None:
    """By Euler's theorem, as far as the wall time is homogeneous: rounding to whole nanoseconds is not."""
    for overrides, strategy in ((TINY, CAPPED), (LLAMA4, Strategy(dp=16, tp=2, sp=2))):
        answers = sensitivity(DesignPoint(scenario(*overrides), strategy), ())
        assert math.fsum(abs(answer.elasticity or 0) for answer in answers) == pytest.approx(1, abs=0.03)


def test_sensitivity_is_deterministic_and_takes_some_parameters() -> None:
    point = DesignPoint(scenario(*TINY), CAPPED)
    some = parameters_named(point.scenario.system, ["network.0.bandwidth_gbps", "system.peak_tflops"])
    one, other = sensitivity(point, (2,), some), sensitivity(point, (2,), some)
    assert one == other
    assert [answer.parameter for answer in one] == some


def test_a_point_that_is_not_ok_has_no_elasticity() -> None:
    (answer,) = sensitivity(
        DesignPoint(scenario(*TINY), Strategy(dp=4)),
        (2,),
        parameters_named(scenario(*TINY).system, ["peak_tflops"]),
    )
    assert (answer.wall_time_ns, answer.elasticity, answer.samples[0].wall_time_ns) == (None, None, None)


@pytest.mark.parametrize("factor", [0, -1, math.inf, math.nan])
def test_a_factor_is_a_positive_number(factor: float) -> None:
    with pytest.raises(InputError, match="not a positive number"):
        sensitivity(DesignPoint(scenario(*TINY), CAPPED), (factor,))


def test_an_unknown_parameter_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        InputError,
        match=r"network\.2\.bandwidth_gbps cannot be varied on torus_4x4; known are .*did you mean",
    ):
        parameters_named(scenario(*TINY).system, ["network.2.bandwidth_gbps"])


@pytest.mark.parametrize("cap", [None, 96_468_992])
def test_optima_are_those_of_all_strategies(cap: int | None) -> None:
    found = candidates(*TINY, cap=cap)
    factors = (0.1, 0.5, 0.9, 1.3, 8.0)
    for parameter in parameters_of(found.scenario.system):
        for optimum in optima(found, parameter, factors):
            truth = brute_force(parameter, optimum.value, rows(*TINY), found.scenario, cap)
            assert optimum.strategy == truth, (parameter.key, optimum)


def test_a_cap_that_excludes_the_best_point_binds() -> None:
    binding = binding_constraint(candidates(*TINY, cap=96_468_992))
    assert binding.cap_binds
    assert (binding.winner, binding.unbound) == (CAPPED, Strategy(dp=16))
    assert (binding.wall_time_ns, binding.cost_ns, binding.needed_bytes) == (752_576, 197_244, 147_849_216)
    assert binding.sentence() == (
        "the memory cap binds: dp16 tp1 sp1 pp1 is 197.2 µs faster (the cap costs 35.5 %) and needs "
        "147.85 MB; the wall time follows compute most (elasticity -0.406)"
    )


def test_a_cap_under_which_the_best_point_fits_does_not_bind() -> None:
    binding = binding_constraint(candidates(*TINY, cap=147_849_216))
    assert (binding.cap_binds, binding.cost_ns, binding.resource) == (False, 0, "compute")
    assert binding.sentence() == (
        "the memory cap does not bind; the wall time follows compute most (elasticity -0.671)"
    )
    assert binding_constraint(candidates(*TINY)).sentence().startswith("the wall time follows compute")


def test_nothing_binds_where_nothing_fits() -> None:
    with pytest.raises(InputError, match="nothing of tiny on torus_4x4 fits under 1 bytes: the smallest"):
        Candidates(rows(*TINY), rows(*TINY)[0], 1)
