"""The map of the page: every cell against all strategies at its values, and the order in which cells come."""

from __future__ import annotations

from typing import Any

import pytest
from asking import Asking
from page_programs import needs_node
from tiny_points import TINY, candidates

from dse.answers import best
from dse.answers.whatif import Candidates, parameters_named

pytestmark = needs_node

CAP = 96_468_992
CAP_AXIS = {"key": "memory_cap", "value": CAP, "is_integer": True, "least": 1}

PROGRAM = """
  const map = new explorer.winners.Winners(request.rows, request.cap, request.axes, ask);
  const steps = [];
  const mayStart = (step) => {
    steps.push([step, map.cells.size]);
    return step >= request.finest;
  };
  await map.run({ mayStart });
  const cells = [...map.cells].map(
    ([cell, { row }]) => [cell % 33, Math.floor(cell / 33), row && row.label, row && row.wall_time_ns],
  );
  const answer = { values: map.values, cells, steps, level: map.level, shares: map.shares() };
"""


def _axis(found: Candidates, name: str) -> dict[str, Any]:
    return vars(parameters_named(found.scenario.system, [name])[0])


AXES = [
    ("peak_tflops", "network.1.bandwidth_gbps"),
    ("memory_bandwidth_gbps", "peak_tflops"),
    ("network.0.bandwidth_gbps", "endpoint_delay_ns"),
    ("peak_tflops", None),
]


@pytest.mark.parametrize("names", AXES)
@pytest.mark.parametrize("cap", [None, CAP])
def test_cells_have_the_winners_among_all_strategies(names: tuple[str, str | None], cap: int | None) -> None:
    found = candidates(*TINY, cap=cap)
    axes = [CAP_AXIS if name is None else _axis(found, name) for name in names]
    page = Asking(PROGRAM, found, axes=axes, finest=8)
    labels = [strategy.label() for strategy in found.rows]
    for x, y, label, wall in page.answer["cells"]:
        across, up = page.answer["values"]
        values = {axes[0]["key"]: across[x], axes[1]["key"]: up[y]}
        under = values.pop("memory_cap", cap)
        rows = page.rows(values, labels)
        fitting = [row for row in rows if under is None or (row.peak_memory_bytes or 0) <= under]
        winner = best(fitting)
        assert (label, wall) == ((winner.label(), winner.wall_time_ns) if winner else (None, None)), values


def test_strategies_that_compute_too_long_are_not_evaluated() -> None:
    found = candidates(*TINY)
    axes = [_axis(found, "network.0.bandwidth_gbps"), _axis(found, "network.1.bandwidth_gbps")]
    page = Asking(PROGRAM, found, axes=axes, finest=8)
    assert page.points < 0.6 * len(found.rows) * len(page.answer["cells"])


def test_cells_come_from_coarse_to_fine_around_the_present_values() -> None:
    found = candidates(*TINY)
    axes = [_axis(found, "peak_tflops"), {**_axis(found, "network.1.bandwidth_gbps"), "most": 300}]
    answer = Asking(PROGRAM, found, axes=axes, finest=4).answer
    assert answer["steps"] == [[8, 1], [4, 20], [2, 72]]  # before the level; the top row is not allowed
    assert answer["level"] == 4
    assert answer["values"][0][::8] == [112.5, 225, 450, 900, 1800]
    assert answer["values"][1][::8] == [25, 50, 100, 200, None]
    assert answer["cells"][0] == [16, 16, "dp16 tp1 sp1 pp1", 555_332]
    assert sum(share["cells"] for share in answer["shares"]) == 33 * 29
