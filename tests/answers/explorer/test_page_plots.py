"""What the plots over many points show, under Node, against the package: caps, heat maps and their levels."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from page_programs import drawn_row, needs_node, page_row, run_beside

from dse.answers import cap_curve, ranking
from dse.studies.store import StudyRow

MODULES = (
    "format",
    "answers",
    "plots",
    "heat",
    "caps",
)

pytestmark = needs_node


def run(script: str, given: Any) -> Any:
    """Evaluate `script`, a function of the given data, beside the modules that are tested here."""
    return run_beside(MODULES, script, given)


def random_rows(seed: int) -> list[StudyRow]:
    """Rows with ties; some have no peak memory, some are not ok; sp has one value under an odd seed."""
    chance = random.Random(seed)
    found = []
    for dp, tp, sp, again in itertools.product(
        (1, 2, 16), (1, 8), (1,) if seed % 2 else (1, 4), (False, True)
    ):
        fields = {"dp": dp, "tp": tp, "sp": sp, "activation_recompute": again}
        found.append(drawn_row(chance, fields))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_steps_of_caps_are_those_of_the_package(seed: int) -> None:
    rows = random_rows(seed)
    script = """(rows) => explorer.caps.capCurve(explorer.answers.front(rows))
      .map((step) => [step.memory_cap_bytes, step.row.label])"""
    found = run(script, list(map(page_row, rows)))
    assert found == [[step.memory_cap_bytes, step.row.label()] for step in cap_curve(rows)]


@pytest.mark.parametrize("seed", range(6))
def test_a_cell_of_a_heat_map_is_the_first_of_the_ranking_with_its_degrees(seed: int) -> None:
    rows = random_rows(seed)
    script = """(rows) => {
      const ranked = explorer.answers.finished(rows);
      const axis = (name, values) => ({ values, place: (row) => values.indexOf(row[name]) });
      const figure = { of: (row) => row.wall_time_ns };
      const at = explorer.heat_map.bestOf(ranked, axis("dp", [1, 2, 16]), axis("tp", [1, 8]), figure);
      return [0, 1, 2].map((y) => [0, 1].map((x) => at(y, x)?.row.label ?? null));
    }"""
    best: dict[tuple[int, int], str] = {}
    for each in ranking(rows):
        best.setdefault((each.dp, each.tp), each.label())
    assert run(script, list(map(page_row, rows))) == [
        [best.get((dp, tp)) for tp in (1, 8)] for dp in (1, 2, 16)
    ]


@pytest.mark.parametrize(
    ("values", "is_high_better", "levels"),
    [
        ([1000, 1019, 1020, 1099, 1100, 1250, 1999, 2000], False, [0, 0, 1, 2, 3, 4, 5, 6]),
        ([100, 99, 98, 50, 49], True, [0, 0, 1, 6, 6]),
        ([-7, 0, 7], False, [0, 3, 6]),
        ([-7, 0, 7], True, [6, 3, 0]),
        ([0, 0], False, [0, 0]),
    ],
    ids=["times", "shares", "of both signs", "of both signs, high is better", "all alike"],
)
def test_levels_say_how_far_from_the_best_a_cell_is(
    values: list[float], is_high_better: bool, levels: list[int]
) -> None:
    script = """([values, isHighBetter]) => {
      const { of } = explorer.heat_map.levelsOf(values, { isHighBetter });
      return values.map(of);
    }"""
    assert run(script, [values, is_high_better]) == levels
