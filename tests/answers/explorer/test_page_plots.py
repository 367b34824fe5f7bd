"""What the plots over many points show, under Node, against the package: caps, heat maps and their levels."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from page_programs import drawn_row, needs_node, page_row, run_beside

from dse.answers import cap_curve, ranking
from dse.answers.reports.page import HEAT_LIMITS, heat_level
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
    script = """(rows) => explorer.heat.heatMaps(explorer.answers.finished(rows))
      .map((map) => ({ ...map, cells: map.cells.map((cells) => cells.map((row) => row?.label ?? null)) }))"""
    expected = []
    ranked = ranking(rows)
    for down, across in itertools.combinations(("dp", "tp", "sp"), 2):
        best: dict[tuple[int, int], str] = {}
        for each in ranked:
            best.setdefault((getattr(each, down), getattr(each, across)), each.label())
        downs, acrosses = (sorted({pair[axis] for pair in best}) for axis in (0, 1))
        cells = [[best.get((one, other)) for other in acrosses] for one in downs]
        if len(downs) > 1 or len(acrosses) > 1:
            names = {"rows": down, "columns": across, "row_values": downs, "column_values": acrosses}
            expected.append({**names, "cells": cells})
    assert run(script, list(map(page_row, rows))) == expected


def test_levels_of_heat_maps_are_those_of_a_report() -> None:
    fastest = 1000
    walls = sorted({int(limit * fastest) + away for limit in (1, *HEAT_LIMITS) for away in (-1, 0, 1)})
    script = "([walls, fastest]) => walls.map((wall) => explorer.heat.level(wall, fastest))"
    found = run(script, [walls, fastest])
    assert found == [heat_level(wall, fastest) for wall in walls]
    assert set(found) == set(range(len(HEAT_LIMITS) + 1))
