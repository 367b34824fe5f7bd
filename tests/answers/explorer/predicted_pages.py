"""Pages that predict, for tests in a browser: what they found, and what the package finds of the same."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from chromium import Chromium

from dse.inputs.strategies import STRATEGY_FIELDS, Strategy
from dse.inputs.strategies.columns import Strategies
from dse.prediction.steps.predict import CATEGORIES, PARTS
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, scenario_of
from dse.studies.points.blocks import PointBlock
from dse.studies.points.evaluate import evaluate_block
from dse.studies.points.methods.prediction import prediction_of
from dse.studies.store import POINTS, StudyRow

SETTLED = "explorer.predicted_app.page.isIdle && explorer.predicted_app.page.frame"
FIGURES = {
    "wall_time_ns": "wall_time_ns",
    "low_ns": "wall_time_low_ns",
    "high_ns": "wall_time_high_ns",
    "peak_memory_bytes": "peak_memory_bytes",
    "mfu_pct": "mfu_pct",
    "tokens_per_s": "tokens_per_s",
}
"""Columns of the page, and those of a row of a study."""

_READ = """
(() => {
  const { frame } = explorer.predicted_app.page;
  const rows = Array.from({ length: frame.count }, (_, row) => row);
  const listed = Object.entries(frame.columns).map(([name, values]) => [name, [...values]]);
  const label = (row) => (row < 0 ? null : frame.label(row));
  return JSON.stringify({
    labels: rows.map((row) => frame.label(row)), plans: rows.map((row) => frame.planAt(row)),
    columns: Object.fromEntries(listed),
    reasons: rows.map((row) => frame.reasons[frame.reasonOf[row]] ?? null),
    best: label(frame.best), fitting: label(frame.fitting),
  });
})()
"""


def settled(browser: Chromium) -> None:
    browser.until(SETTLED)


def found(browser: Chromium) -> dict[str, Any]:
    """The content of the page: plans in their order, columns (NaN as None), reasons, the fastest."""
    settled(browser)
    read: dict[str, Any] = json.loads(browser.evaluate(_READ))
    return read


def set_changes(browser: Chromium, changes: Mapping[str, Any], **others: Any) -> None:
    """Change figures as the form does."""
    browser.evaluate(f"explorer.state.set({json.dumps({'changes': changes, **others})})")
    settled(browser)


def strategies_of(words: Sequence[str]) -> tuple[DesignPoint, ...]:
    """The points of a sweep."""
    config = compose_config([*words], command="sweep")
    scenario = scenario_of(config)
    return tuple(
        DesignPoint(scenario, strategy) for strategy in config.space.strategies(config.model, config.system)
    )


def rows_of(points: Sequence[DesignPoint]) -> list[StudyRow]:
    """The rows of points of one scenario."""
    strategies = Strategies.of([point.strategy for point in points])
    return POINTS.rows(evaluate_block(PointBlock(points[0].scenario, strategies)))


def require_equal(read: Mapping[str, Any], points: Sequence[DesignPoint]) -> int:
    """Compare all plans of a page with the package, to the bit; return how many can run."""
    assert read["labels"] == [point.strategy.label() for point in points]
    ran, rows = 0, rows_of(points)
    for place, point in enumerate(points):
        plan = read["plans"][place]
        assert Strategy(**{name: plan[name] for name in STRATEGY_FIELDS}) == point.strategy
        row = rows[place]
        assert (read["reasons"][place] is None) == (row.status == "ok"), (row, read["reasons"][place])
        if row.status != "ok":
            assert read["reasons"][place] == row.reason
            continue
        ran += 1
        columns = {name: values[place] for name, values in read["columns"].items()}
        for name, own in FIGURES.items():
            assert columns[name] == getattr(row, own), (name, point.strategy.label())
        exact = prediction_of(point)
        assert [columns[f"part_{name}"] for name in PARTS] == [exact.parts_s[name] * 1e9 for name in PARTS]
        sizes = [columns[f"memory_{name}"] for name in CATEGORIES]
        assert sizes == [exact.memory_bytes[name] for name in CATEGORIES]
        assert columns["bubble_share"] == exact.bubble_share
        assert math.isfinite(columns["wall_time_ns"])
    return ran
