"""Switches and elasticities of the page equal those of `dse.answers.whatif` to the last bit."""

from __future__ import annotations

import pytest
from asking import Asking
from page_programs import needs_engine, needs_node
from tiny_points import LLAMA4, TINY, candidates

from dse.answers.explorer.page import engine_file
from dse.answers.whatif import (
    Candidates,
    cap_switches,
    optima,
    parameters_named,
    parameters_of,
    sensitivity,
    switch_among,
)
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, strategy_of_row

CAP = 96_468_992

pytestmark = needs_node

PROGRAM = """
  const { switches, parameters } = explorer;
  const askOne = (key, value, rows) => ask([[key, value]], rows);
  const found = new switches.Candidates(request.rows, request.cap, askOne);
  const varied = parameters.parametersOf(request.system);
  const answer = { winner: found.winner.label, each: [], parameters: varied };
  for (const parameter of answer.parameters) {
    const each = await switches.sensitivity(found, request.label ?? found.winner.label, parameter);
    for (const sample of each.samples) delete sample.row;
    each.optima = await switches.optima(found, parameter);
    each.change = await switches.switchAmong(found, parameter);
    if (each.change) delete each.change.row;
    answer.each.push(each);
  }
  answer.caps = switches.capSwitches(found);
  for (const each of Object.values(answer.caps)) if (each) delete each.row;
  const valuesOf = ({ key }) => (found.contests.get(key)?.evaluated.size ?? 1) - 1; // the present one aside
  answer.values = answer.parameters.reduce((sum, parameter) => sum + valuesOf(parameter), 0);
"""


def _label(strategy: Strategy | None) -> str | None:
    return None if strategy is None else strategy.label()


CASES = [(TINY, None), (TINY, CAP), (LLAMA4, None), (LLAMA4, 9_000_000_000)]


@pytest.fixture(scope="module", params=CASES, ids=["tiny", "tiny, capped", "llama", "llama, capped"])
def both(request: pytest.FixtureRequest) -> tuple[Candidates, Asking]:
    """Candidates here, and what the page answers about them."""
    overrides, cap = request.param
    found = candidates(*overrides, cap=cap)
    return found, Asking(PROGRAM, found)


def test_the_page_varies_the_parameters_of_the_command(both: tuple[Candidates, Asking]) -> None:
    found, page = both
    assert page.answer["winner"] == strategy_of_row(found.winner).label()
    assert page.answer["parameters"] == [
        {**vars(parameter)} for parameter in parameters_of(found.scenario.system)
    ]


def test_switches_of_the_page_are_those_of_the_command(both: tuple[Candidates, Asking]) -> None:
    found, page = both
    names = (
        "key",
        "value",
        "last_value",
        "first_value",
        "factor",
        "wall_time_ns",
        "old_wall_time_ns",
        "cause",
    )
    changes = 0
    for parameter, each in zip(parameters_of(found.scenario.system), page.answer["each"], strict=True):
        here, there = switch_among(found, parameter), each["change"]
        changes += here is not None
        if here is None:
            assert there is None, parameter.key
            continue
        expected = {name: getattr(here, name) for name in names}
        assert there == {**expected, "label": _label(here.strategy)}
    assert changes > 0


def test_elasticities_and_times_of_the_page_are_those_of_the_command(both: tuple[Candidates, Asking]) -> None:
    found, page = both
    here = sensitivity(DesignPoint(found.scenario, strategy_of_row(found.winner)))
    for one, other in zip(here, page.answer["each"], strict=True):
        assert other["wall_time_ns"] == one.wall_time_ns
        assert other["samples"] == [vars(sample) for sample in one.samples]
        assert other["elasticity"] == pytest.approx(
            one.elasticity, rel=1e-12
        )  # libraries differ in logarithms


def test_winners_at_factors_are_those_of_the_command(both: tuple[Candidates, Asking]) -> None:
    found, page = both
    for parameter, each in zip(parameters_of(found.scenario.system), page.answer["each"], strict=True):
        assert each["optima"] == [
            {
                "factor": optimum.factor,
                "value": optimum.value,
                "label": _label(optimum.strategy),
                "wall_time_ns": optimum.wall_time_ns,
            }
            for optimum in optima(found, parameter)
        ]


def test_caps_at_which_the_answer_changes_are_those_of_the_command(both: tuple[Candidates, Asking]) -> None:
    found, page = both
    below, above = cap_switches(found)
    for here, there in ((below, page.answer["caps"]["below"]), (above, page.answer["caps"]["above"])):
        if here is None:
            assert there is None
            continue
        assert (there["last_value"], there["first_value"], there["label"], there["cause"]) == (
            here.last_value,
            here.first_value,
            _label(here.strategy),
            here.cause,
        )


def test_strategies_that_cannot_win_are_not_evaluated() -> None:
    found = candidates(*LLAMA4)
    page = Asking(PROGRAM, found)
    assert page.points < 0.5 * page.answer["values"] * len(found.rows)


def test_a_literal_switch_of_llama() -> None:
    found = candidates(*LLAMA4)
    (parameter,) = parameters_named(found.scenario.system, ["network.2.bandwidth_gbps"])
    index = [each.key for each in parameters_of(found.scenario.system)].index(parameter.key)
    change = Asking(PROGRAM, found).answer["each"][index]["change"]
    assert change["first_value"] == pytest.approx(221.106, abs=1e-3)
    assert (change["label"], change["cause"]) == ("dp32 tp2 sp1 pp1", "faster")


def test_the_page_follows_a_point_that_does_not_win() -> None:
    found = candidates(*TINY)
    loser = Strategy(dp=8, tp=2, activation_recompute=True)
    page = Asking(PROGRAM, found, label=loser.label())
    here = sensitivity(DesignPoint(found.scenario, loser))
    assert [each["wall_time_ns"] for each in page.answer["each"]] == [one.wall_time_ns for one in here]
    assert [each["elasticity"] for each in page.answer["each"]] == pytest.approx(
        [one.elasticity for one in here], rel=1e-12
    )


ENGINE = """
  const { switches, parameters } = explorer;
  const host = explorer.host.create(require("node:fs").readFileSync(request.wasm));
  const { model, system, divisibility, rows, cap } = request;
  const evaluate = async (key, value, some) => {
    const changed = parameters.applied({ model, system, divisibility }, key, value);
    return host.evaluate(changed, some.map(explorer.strategy.strategyOf));
  };
  const found = new switches.Candidates(rows, cap, evaluate);
  const answer = [];
  for (const parameter of parameters.parametersOf(system)) {
    const change = await switches.switchAmong(found, parameter);
    answer.push(change && [change.key, change.last_value, change.first_value, change.label]);
  }
"""


@needs_engine
def test_the_engine_of_the_page_gives_the_same_switches() -> None:
    found = candidates(*LLAMA4, cap=9_000_000_000)
    page = Asking(ENGINE, found, wasm=str(engine_file()))
    assert page.points == 0
    here = [switch_among(found, parameter) for parameter in parameters_of(found.scenario.system)]
    assert page.answer == [
        change and [change.key, change.last_value, change.first_value, _label(change.strategy)]
        for change in here
    ]
    assert len([change for change in here if change is not None]) == 5
