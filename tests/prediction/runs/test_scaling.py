"""Scaling laws against figures that their papers print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.prediction.runs.scaling import LAWS


def test_chinchilla_reaches_its_loss() -> None:
    """Hoffmann et al. 2022: 70 billion parameters, 1.4 T tokens; their own fit gives 1.937."""
    assert LAWS["hoffmann"].loss(70e9, 1.4e12) == pytest.approx(1.9366, abs=1e-3)
    assert LAWS["hoffmann"].tokens(70e9, 1.9366) == pytest.approx(1.4e12, rel=0.01)


@given(st.sampled_from(sorted(LAWS)), st.floats(1e8, 1e12), st.floats(1e9, 1e14))
def test_tokens_are_the_inverse_of_the_loss(name: str, parameters: float, tokens: float) -> None:
    law = LAWS[name]
    assert law.tokens(parameters, law.loss(parameters, tokens)) == pytest.approx(tokens, rel=1e-6)


def test_a_loss_below_what_a_model_can_reach_is_refused() -> None:
    with pytest.raises(InputError, match=r"loss is 1\.8; a model of 8e\+09 parameters stays above 1\.99"):
        LAWS["besiroglu"].tokens(8e9, 1.8)
