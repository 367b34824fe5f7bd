"""The fastest predicted point that may fit, beside the fastest that fits."""

from __future__ import annotations

import json

import pytest

from dse.answers.selection import select
from dse.answers.summary import render, to_json
from dse.answers.verdicts import may_fit_words, verdict_of, verdict_words
from dse.studies.points import PREDICTION
from dse.studies.store import StudyRow
from tests.study_rows import row

MEMORY = 80_000_000_000
SYSTEM = json.dumps({"name": "node", "accelerator": {"name": "chip", "memory_bytes": MEMORY}})


def predicted(wall_ms: int, peak_gb: float, **changes: object) -> StudyRow:
    """A predicted point of Megatron-Core, whose margin is 15 %, on accelerators of 80 GB."""
    return row(
        **{
            "wall_time_ns": wall_ms * 1_000_000,
            "peak_memory_bytes": round(peak_gb * 1e9),
            "sp": 1,
            "system_spec": SYSTEM,
            "options": json.dumps(PREDICTION.identity()),
            **changes,
        }
    )


FITTING = predicted(300, 60)
NEAR, OVER = predicted(200, 91.99), predicted(100, 92.1)


@pytest.mark.parametrize(
    ("peak_gb", "verdict"), [(69.5, "fits"), (69.6, "may fit"), (91.9, "may fit"), (92.1, "does not fit")]
)
def test_a_point_is_judged_by_the_margin_of_its_framework(peak_gb: float, verdict: str) -> None:
    assert verdict_of(predicted(1, peak_gb), MEMORY) == verdict


def test_the_fastest_that_may_fit_is_named_beside_the_fastest_that_fits() -> None:
    found = select([FITTING, NEAR, OVER], memory_cap_bytes=MEMORY)
    assert (found.optimum, found.capped_optimum, found.may_fit) == (OVER, FITTING, NEAR)
    text = render(found)
    assert "may fit: faster, but 15.0 % above it, where predicted peaks are off by up to 15 %" in text
    assert to_json(found)["may_fit"]["wall_time_ns"] == 200_000_000


def test_it_is_named_where_nothing_fits() -> None:
    found = select([NEAR, OVER], memory_cap_bytes=MEMORY)
    assert (found.capped_optimum, found.may_fit) == (None, NEAR)


def test_a_slower_point_that_may_fit_is_not_named() -> None:
    assert select([FITTING, predicted(400, 85)], memory_cap_bytes=MEMORY).may_fit is None


def test_a_cap_that_is_not_the_memory_keeps_its_meaning() -> None:
    assert select([FITTING, predicted(200, 75)], memory_cap_bytes=70_000_000_000).may_fit is None


def test_simulated_peaks_are_exact() -> None:
    assert select([FITTING, predicted(200, 85, options=None)], memory_cap_bytes=MEMORY).may_fit is None


def test_verdicts_in_words() -> None:
    assert verdict_words(60_000_000_000, MEMORY, "megatron-core") == "fits in 80.00 GB, off by up to 15 %"
    assert may_fit_words(NEAR, MEMORY).endswith(
        "takes 200 ms; its peak is 15.0 % above the memory, and predicted peaks are off by up to 15 %"
    )


def test_the_fastest_that_surely_fits_follows_a_best_that_only_may() -> None:
    """75 GB are within 15 % of 80 GB; 69.5 GB are not."""
    close, safe = predicted(200, 75), predicted(250, 69.5)
    found = select([FITTING, close, safe], memory_cap_bytes=MEMORY)
    assert (found.capped_optimum, found.surely_fits) == (close, safe)
    assert "fits even if its peak is 15 % larger" in render(found)
    assert select([FITTING, safe], memory_cap_bytes=MEMORY).surely_fits is None
    assert select([close], memory_cap_bytes=MEMORY).surely_fits is None
