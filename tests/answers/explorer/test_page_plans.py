"""Rules of plans in a page: refusals, filled fields, kinds and labels are those of the package."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from page_programs import needs_node, run_beside

from dse.answers.explorer.predicted_data import axis_data, cluster_data
from dse.inputs.models import ModelSpec
from dse.inputs.models.fidelity import RECOMPUTES
from dse.inputs.models.settings import models_of_conf
from dse.inputs.strategies import AXES, InfeasibleStrategy, Strategy, StrategyAxis, strategy_values
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.settings import systems_of_conf
from dse.prediction.intervals.kinds import kind_of
from dse.prediction.steps.plan_rules import FILLED
from dse.prediction.steps.strategies import plan_of
from dse.studies.points import DesignPoint, Scenario
from dse.studies.points.inputs import model_json
from dse.studies.points.methods.method import require_filled

READ = """({ axes, cases }) => cases.map(({ rows, ...scenario }) => {
  const { labelOf, Plans, ruled } = explorer.plans;
  const plans = new Plans(axes);
  rows.forEach((row) => plans.add(row));
  const { refusals, filled, kindOf } = ruled(plans, scenario);
  const of = (rules, row) => Object.fromEntries([...rules].map(([name, say]) => [name, say(row)]));
  return rows.map((_, row) => ({
    reason: refusals.map((say) => say(row)).find(Boolean) ?? "",
    filled: of(filled, row), kind: kindOf(row), label: labelOf(axes, plans.at(row)),
  }));
})"""


def drawn_value(axis: StrategyAxis, chance: random.Random) -> Any:
    """A value of an axis: most often that which it has by default."""
    if axis.kind == "degree":
        return 1 if axis.name == "sp" and chance.random() < 0.97 else chance.choice([1, 1, 2, 4, 8, 12])
    if chance.random() < 0.8:
        return axis.default
    if axis.kind == "flag":
        return chance.random() < 0.5
    return (
        chance.choice(axis.choices)
        if axis.kind == "choice"
        else chance.randint(axis.least, min(axis.most, 4))
    )


def drawn_strategy(system: SystemSpec, chance: random.Random) -> Strategy:
    """A strategy that most often fills a system."""
    found = Strategy(**{axis.name: drawn_value(axis, chance) for axis in AXES})
    dp, rest = divmod(system.npus, found.npus // found.dp)
    return replace(found, dp=dp) if rest == 0 and chance.random() < 0.95 else found


def drawn_model(models: list[ModelSpec], chance: random.Random) -> ModelSpec:
    """A model of conf/, perhaps with so many micro-batches and another word for recomputation."""
    model = replace(chance.choice(models), batch_size=chance.choice([48, 96, 1536]))
    repairs = replace(model.repairs, recompute=chance.choice([None, *RECOMPUTES]))
    return replace(model, micro_batches=chance.choice([None, 1, 2, 3, 8]), repairs=repairs)


def in_package(model: ModelSpec, system: SystemSpec, strategy: Strategy) -> dict[str, Any]:
    assert system.cluster is not None
    try:
        require_filled(DesignPoint(Scenario("any", model, system), strategy))
        plan = plan_of(model, strategy)
    except InfeasibleStrategy as refusal:
        return {"reason": str(refusal), "label": strategy.label()}
    return {
        "reason": "",
        "filled": {name: getattr(plan, name) for name in FILLED},
        "kind": kind_of(model, plan, system.cluster)._asdict(),
        "label": strategy.label(),
    }


@needs_node
def test_plans_are_filled_and_refused_as_in_the_package() -> None:
    chance = random.Random(11)
    models = [
        spec for _, spec in models_of_conf() if isinstance(spec, ModelSpec) and spec.fidelity != "stage"
    ]
    systems = [spec for _, spec in systems_of_conf() if spec.cluster is not None]
    cases = []
    for _ in range(60):
        model, system = drawn_model(models, chance), chance.choice(systems)
        rows = [drawn_strategy(system, chance) for _ in range(60)]
        cases.append((model, system, rows))
    given = [
        {
            "model": json.loads(model_json(model)),
            "system": cluster_data(system),
            "rows": list(map(strategy_values, rows)),
        }
        for model, system, rows in cases
    ]
    axes = list(map(axis_data, AXES))
    pages = run_beside(["predicted/plans"], READ, {"axes": axes, "cases": given})
    reasons: set[str] = set()
    kinds: set[str] = set()
    for page, (model, system, rows) in zip(pages, cases, strict=True):
        for found, strategy in zip(page, rows, strict=True):
            own = in_package(model, system, strategy)
            assert {name: found[name] for name in own} == own, strategy
            reasons.add(own["reason"])
            kinds |= {own["kind"]["blocks"]} if "kind" in own else set()
    for words in (
        " NPUs, but system dgx_h100 has 64",
        "which is STAGE's sequence parallelism",
        "with weight_sharded it is 3",
        "weights are not sharded",
        "schedule=zb-v has 2",
        "schedule=1f1b has one",
        "strategy.schedule=gpipe: pp is 1",
        "strategy.stages=spread: pp is 1",
        "strategy.sequence_parallel=true: tp is 1",
        "strategy.overlap_tp=true: tp is 1",
        "strategy.context=ulysses: cp is 1",
        "nothing is recomputed",
        "does not divide batch_size",
        "leave one of them out",
        "strategy.activation_recompute says it too",
        "which no framework does",
    ):
        assert any(words in each for each in reasons), words
    assert kinds == {"dense", "experts", "experts across nodes"}
