"""What the page says against a time is what the columns of a study say: under Node, against the package."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import subprocess
from typing import Any

from page_programs import NODE, loading, needs_node
from small_points import small_scenarios

from dse.answers.explorer.data import scenario_data
from dse.inputs.strategies import Strategy
from dse.inputs.systems import Dimension
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, doubts, scenario_of

FIELDS = ("dp", "tp", "sp", "pp")
PROGRAM = """
const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const { of, warnings, mark, summary } = explorer.doubts;
const made = input.map(({ scenario, rows }) => {
  const columns = new Map(rows.map((row) => [row, of(row, scenario)]));
  const found = rows.map((row) => [columns.get(row), warnings(columns.get(row)),
    mark(row, columns.get(row))]);
  return { found, summary: summary(rows, (row) => columns.get(row)) };
});
process.stdout.write(JSON.stringify(made));
"""

pytestmark = needs_node


def said(cases: list[tuple[Scenario, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    asked = [{"scenario": scenario_data(scenario), "rows": rows} for scenario, rows in cases]
    done = subprocess.run(
        [str(NODE), "-e", loading("doubts") + PROGRAM],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def page_row(strategy: Strategy, status: str = "ok", *, fractional: bool = False) -> dict[str, Any]:
    degrees = {name: getattr(strategy, name) for name in FIELDS}
    return {**degrees, "label": strategy.label(), "status": status, "fractional": fractional}


def test_the_doubts_about_random_points_are_those_of_the_package() -> None:
    """With unequal dimensions, sizes that do not divide, repairs of their own, and pipelines."""
    chance = random.Random(5)
    cases = []
    for scenario, _ in small_scenarios(120, seed=3):
        shape = chance.choice([(4,), (2, 4), (4, 2), (3, 4), (2, 2, 4), (3, 2, 2)])
        network = tuple(
            Dimension("Ring", npus, chance.choice([12.5, 50.0]), chance.choice([0.0, 50.0])) for npus in shape
        )
        algorithm = chance.choice(["ring", "direct", "oneRing"])
        rings = {name: (algorithm,) * len(shape) for name in vars(scenario.system.collectives)}
        system = dataclasses.replace(
            scenario.system,
            network=network,
            collectives=dataclasses.replace(scenario.system.collectives, **rings),
            network_model=chance.choice(["congestion_unaware"] * 3 + ["congestion_aware"]),
        )
        repairs = dataclasses.replace(
            scenario.model.repairs,
            contiguous_stages=chance.choice([None, True, False]),
            block_shapes=chance.choice([None, True, False]),
        )
        sizes = {"seq_len": chance.choice([128, 100, 3]), "batch_size": chance.choice([32, 7, 12])}
        model = dataclasses.replace(scenario.model, repairs=repairs, **sizes)
        on = dataclasses.replace(scenario, model=model, system=system)
        degrees = [d for d in range(1, system.npus + 1) if system.npus % d == 0]
        strategies = [
            Strategy(dp=dp, tp=tp, sp=sp, pp=pp)
            for dp, tp, sp, pp in itertools.product(degrees, repeat=4)
            if dp * tp * sp * pp == system.npus
        ]
        cases.append((on, chance.sample(strategies, min(20, len(strategies)))))
    found = said([(on, [page_row(each) for each in strategies]) for on, strategies in cases])
    expected = [[doubts(DesignPoint(on, each)) for each in strategies] for on, strategies in cases]
    assert [[columns for columns, *_ in each["found"]] for each in found] == expected
    values = [value for each in expected for columns in each for value in columns.values()]
    assert 300 < len([value for value in values if value]) < len(values) - 300


def test_a_point_that_cannot_be_believed_is_said_to_be_one() -> None:
    words = ["system=system1", "model=llama70b", "system.network.2.bandwidth_gbps=5", "model.batch_size=7"]
    on = scenario_of(compose_config(words))
    rows = [
        page_row(Strategy(dp=8, tp=1, sp=8), fractional=True),
        page_row(Strategy(tp=64), fractional=True),
        page_row(Strategy(tp=64)),
        page_row(Strategy(dp=64), "failed"),
    ]
    (found,) = said([(on, rows)])
    (columns, warnings, mark), (_, _, cut), (_, none, nothing), (failed, *_) = found["found"]
    assert columns == doubts(DesignPoint(on, Strategy(dp=8, tp=1, sp=8)))
    assert warnings == [
        "No program can split this: dp 8 does not divide batch_size 7 (nearest multiples of 8: 8)",
        "Slower links are not in this time: sp 8 crosses dimension 2 but is timed on dimension 1, "
        "as in ASTRA-sim",
    ]
    assert mark == "impossible split, slower links left out"
    assert (cut, none, nothing) == ("shards are cut", [], "")
    assert failed == {"understated_comm": None, "impossible_split": None}
    assert [text.partition(" of 4 points ")[0] for text in found["summary"]] == ["1", "1", "1"]


def test_rows_of_a_study_keep_what_they_say_of_themselves() -> None:
    on = scenario_of(compose_config(["system=system1", "model=llama70b"]))
    row = {**page_row(Strategy(dp=64)), "understated_comm": "dp 64 is", "impossible_split": None}
    ((columns, warnings, _),) = said([(on, [row])])[0]["found"]
    assert columns == {"understated_comm": "dp 64 is", "impossible_split": None}
    assert len(warnings) == 1
