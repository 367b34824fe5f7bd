"""How long a sweep takes: which points are tried, when no further one is, and what the range says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from command_lines import TINY, run_ok

from dse.studies.config import compose_config
from dse.studies.points import DesignPoint
from dse.studies.sweeps import design_points, estimated, survey
from dse.studies.sweeps.estimate import (
    BUDGET_S,
    Estimate,
    Kind,
    estimate,
    of_feasible,
)

REALISTIC = ["model=llama70b", "system=system1", "space=full", "model.fidelity=realistic"]


class Machine:
    """A clock that only evaluating moves; a unit of cost takes `unit_s` of CPU, `load` times that of wall."""

    def __init__(self, unit_s: float, load: float = 1.0) -> None:
        self.now = 100.0
        self.tried: list[DesignPoint] = []
        self._unit_s, self._load = unit_s, load

    def clock(self) -> float:
        return self.now

    def measure(self, point: DesignPoint, limit_s: float) -> float | None:
        self.tried.append(point)
        seconds = self._unit_s * point.scenario.method.cost_units(point)
        self.now += min(seconds * self._load, limit_s)
        return seconds if seconds * self._load <= limit_s else None


def kinds_of(overrides: list[str]) -> list[Kind]:
    return list(survey(design_points(compose_config(overrides)), set()).kinds)


def test_a_kind_is_its_layers_micro_batches_and_stages() -> None:
    kinds = sorted(kinds_of(REALISTIC), key=lambda kind: (kind.units, kind.slow_ranks))
    assert [(kind.units, kind.slow_ranks, kind.count) for kind in kinds] == [
        (80, 1, 112),
        *((640, 1, 42), (640, 64, 42)),
        *((1280, 1, 30), (1280, 64, 30)),
        *((2560, 1, 20), (2560, 64, 20)),
        *((5120, 1, 12), (5120, 64, 12)),
        *((10240, 1, 6), (10240, 64, 6)),
        *((20480, 1, 2), (20480, 64, 2)),
    ]
    assert [kind.units for kind in kinds_of(["model=tiny", "system=torus_4x4"])] == [4]


@pytest.mark.parametrize("together", [1, 3, 64, 1000])
def test_probes_are_few_and_spread_over_all_points_of_a_kind(together: int) -> None:
    config = compose_config(["model=llama70b", "system=system1"])
    (point, *_) = design_points(config)
    kind, alone = Kind(1), Kind(1)

    def point_at(number: int) -> DesignPoint:
        return dataclasses.replace(point, strategy=dataclasses.replace(point.strategy, dp=number + 1))

    for first in range(0, 1000, together):
        kind.add(range(1000)[first : first + together], point_at)
    for number in range(1000):
        alone.add([number], point_at)
    assert kind == alone
    numbers = [probe.strategy.dp - 1 for probe in kind.probes]
    assert kind.count == 1000
    assert numbers == sorted(numbers)
    assert 2 <= len(numbers) <= 4
    assert numbers[0] == 0
    assert numbers[-1] >= 500


def test_the_cheapest_kind_is_tried_first_and_no_point_that_may_not_end_in_time() -> None:
    machine = Machine(unit_s=0.0002)  # the deepest kind takes 4.1 s, the next one 2 s, then 1, 0.5, 0.26
    answer = estimate(kinds_of(REALISTIC), 1, measure=machine.measure, clock=machine.clock)
    tried = [point.scenario.method.cost_units(point) for point in machine.tried[:8]]
    assert tried == [80, 640, 640, 1280, 1280, 2560, 80, 640]
    assert machine.now - 100 <= BUDGET_S
    true_s = 0.0002 * sum(kind.units * kind.count for kind in map(of_feasible, kinds_of(REALISTIC)))
    assert answer.low_s < true_s < answer.high_s
    assert abs(answer.likely_s - true_s) < 1e-9


def test_another_load_of_the_machine_changes_what_is_tried_but_not_the_answer() -> None:
    quiet, busy = Machine(0.0001), Machine(0.0001, load=8)
    answers = [
        estimate(kinds_of(REALISTIC), 2, measure=machine.measure, clock=machine.clock)
        for machine in (quiet, busy)
    ]
    assert len(busy.tried) < len(quiet.tried)
    assert busy.now - 100 <= BUDGET_S
    assert abs(answers[0].likely_s - answers[1].likely_s) < 1e-9


class Uneven(Machine):
    """As a machine on which tensor parallelism makes points slow that may be."""

    def seconds(self, point: DesignPoint) -> float:
        return (
            self._unit_s
            * point.scenario.method.cost_units(point)
            * (point.scenario.method.slow_ranks(point) if point.strategy.tp > 1 else 1)
        )

    def measure(self, point: DesignPoint, limit_s: float) -> float | None:
        self.tried.append(point)
        seconds = self.seconds(point)
        self.now += min(seconds, limit_s)
        return seconds if seconds <= limit_s else None


def test_points_that_cannot_be_simplified_are_given_up_soon_and_counted_by_their_share() -> None:
    machine, plain = Uneven(35e-6), Machine(35e-6)
    answer = estimate(kinds_of(REALISTIC), 1, measure=machine.measure, clock=machine.clock)
    assert machine.now - 100 <= BUDGET_S
    points = [
        point
        for point in design_points(compose_config(REALISTIC))
        if point.scenario.method.may_take_time(point)
    ]
    true_s = sum(machine.seconds(point) for point in points)
    assert 200 < true_s < 250
    assert answer.low_s < true_s < answer.high_s
    assert estimate(kinds_of(REALISTIC), 1, measure=plain.measure, clock=plain.clock).high_s < 50


def test_infeasible_points_cost_nothing() -> None:
    kinds = {(kind.units, kind.slow_ranks): of_feasible(kind).count for kind in kinds_of(REALISTIC)}
    assert kinds[80, 1] == 112
    assert kinds[20480, 1] == kinds[20480, 64] == 0  # 64 stages of 80 layers


def test_a_point_that_is_given_up_widens_the_range_and_is_the_last() -> None:
    machine = Machine(unit_s=1.0)  # even the cheapest point takes 80 s
    answer = estimate(kinds_of(REALISTIC), 1, measure=machine.measure, clock=machine.clock)
    assert len(machine.tried) == 1
    assert machine.now - 100 == BUDGET_S
    assert answer.extrapolated == 304
    assert answer.high_s >= 4 * answer.likely_s


def test_cores_share_the_work_but_not_a_point() -> None:
    kinds = kinds_of(REALISTIC)

    def on(cores: int) -> Estimate:
        machine = Machine(1e-5)
        return estimate(kinds, cores, measure=machine.measure, clock=machine.clock)

    assert abs(on(1).likely_s - 2 * on(2).likely_s) < 1e-9
    assert abs(on(1000).likely_s - 20480e-5) < 1e-9  # the deepest point


def test_a_sample_takes_its_share() -> None:
    found = survey(design_points(compose_config(["model=tiny", "system=torus_4x4"])), set())
    kinds, machines = list(found.kinds), (Machine(0.1), Machine(0.1))
    whole = estimate(kinds, 1, measure=machines[0].measure, clock=machines[0].clock)
    third = estimate(kinds, 1, share=1 / 3, measure=machines[1].measure, clock=machines[1].clock)
    assert (round(whole.likely_s, 6), round(third.likely_s, 6)) == (12.0, 4.0)  # 30 points of 0.4 s


def test_what_is_said() -> None:
    assert Estimate(0, 0, 0).describe() == "none"
    assert Estimate(0.1, 0.2, 0.4).describe() == "less than 1 s"
    assert Estimate(23.4, 40, 100).describe() == "about 23 s to 2 min"
    assert Estimate(7, 7.1, 7.2).describe() == "about 7 s"
    assert Estimate(600, 1000, 9000, 4).describe() == (
        "about 10 min to 2 h; 4 of them are too slow to try, so extrapolated"
    )


def test_nothing_missing_takes_no_time_and_external_programs_are_unknown() -> None:
    points = list(design_points(compose_config(["model=tiny", "system=torus_4x4"])))
    found = survey(iter(points), {point.key for point in points})
    assert (found.missing, found.kinds, len(found.keys)) == (0, (), 30)
    assert estimated(found, 2) == Estimate(0.0, 0.0, 0.0)
    assert estimated(dataclasses.replace(found, stored=0, is_external=True), 2) is None


def test_a_dry_run_says_a_range(tmp_path: Path) -> None:
    out = run_ok("sweep", *TINY, "--dry-run", "search=random", "search.samples=5", cwd=tmp_path).out
    assert "\n  time on this machine for 5 missing ones: " in out
