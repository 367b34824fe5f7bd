"""What the page says against a time is what the columns of a study say: under Node, against the package."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import subprocess
from typing import Any

from engine_points import Group, found
from page_programs import NODE, loading, needs_node
from small_points import small_scenarios

from dse.inputs.strategies import Strategy
from dse.inputs.systems import Dimension
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, doubts, scenario_of

PROGRAM = """
const input = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const { warnings, mark, summary } = explorer.doubts;
const found = input.map((row) => [warnings(row), mark(row)]);
process.stdout.write(JSON.stringify({ found, summary: summary(input) }));
"""

pytestmark = needs_node


def said(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the notes that the page shows for each row, and for all rows together."""
    done = subprocess.run(
        [str(NODE), "-e", loading("doubts") + PROGRAM],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    made: dict[str, Any] = json.loads(done.stdout)
    return made


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
    values = []
    for on, strategies in cases:
        for row, strategy in zip(found(Group(on, strategies)), strategies, strict=True):
            columns = {name: row[name] for name in ("understated_comm", "impossible_split")}
            if row["status"] in ("ok", "deadlock"):
                assert columns == doubts(DesignPoint(on, strategy)), (on, strategy)
            else:
                assert columns == {"understated_comm": None, "impossible_split": None}
            values += columns.values()
    assert 300 < len([value for value in values if value]) < len(values) - 300


def test_a_point_that_cannot_be_believed_is_said_to_be_one() -> None:
    split = "dp 8 does not divide batch_size 7 (nearest multiples of 8: 8)"
    slow = "sp 8 is charged for dimension 1, not for 2"
    believed = {"fractional": False, "understated_comm": None, "impossible_split": None}
    rows = [
        {"fractional": True, "understated_comm": slow, "impossible_split": split},
        {**believed, "fractional": True},
        believed,
        believed,
    ]
    made = said(rows)
    (warnings, mark), (_, cut), (none, nothing), _ = made["found"]
    assert warnings == [
        "No program can split this: dp 8 does not divide batch_size 7 (nearest multiples of 8: 8)",
        "Slower links are not in this time: sp 8 crosses dimension 2 but is timed on dimension 1, "
        "as in ASTRA-sim",
    ]
    assert mark == "impossible split, slower links left out"
    assert (cut, none, nothing) == ("shards are cut", [], "")
    assert [text.partition(" of 4 points ")[0] for text in made["summary"]] == ["1", "1", "1"]


def test_the_engine_says_what_is_in_doubt_of_the_rows_of_the_lab() -> None:
    words = ["system=system1", "model=llama70b", "system.network.2.bandwidth_gbps=5", "model.batch_size=7"]
    on = scenario_of(compose_config(words))
    (row,) = found(Group(on, [Strategy(dp=8, tp=1, sp=8)]))
    assert row["impossible_split"] == "dp 8 does not divide batch_size 7 (nearest multiples of 8: 8)"
    assert row["understated_comm"] == "sp 8 is charged for dimension 1, not for 2"
