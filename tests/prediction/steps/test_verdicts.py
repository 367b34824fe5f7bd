"""Verdicts: fits, may fit, does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.prediction.steps.predict import margin_of, verdict

WORDS = ["fits", "may fit", "does not fit"]


@pytest.mark.parametrize(
    ("peak", "word"),
    [(72.7, "fits"), (72.8, "may fit"), (80, "may fit"), (88, "may fit"), (88.1, "does not fit")],
)
def test_within_a_tenth_of_the_memory_a_peak_may_fit(peak: float, word: str) -> None:
    assert verdict(peak, 80, 0.1) == word


@given(st.floats(1, 1e12), st.floats(1, 1e12), st.floats(0, 0.5), st.floats(1, 2))
def test_a_larger_peak_never_fits_better(peak: float, capacity: float, margin: float, times: float) -> None:
    smaller, larger = verdict(peak, capacity, margin), verdict(peak * times, capacity, margin)
    assert WORDS.index(smaller) <= WORDS.index(larger)


def test_margins_are_those_of_the_framework() -> None:
    """A file that is not here has the widest."""
    assert margin_of("megatron-core") == 0.15
    assert margin_of("./not/here.yaml") == 0.15
