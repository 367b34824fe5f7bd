"""Transformer shapes: what is refused."""

from dataclasses import replace

import pytest

from dse.errors import InputError
from dse.models import MODEL_DIMENSIONS, ModelSpec

TINY = ModelSpec("tiny", 4096, 4096, 1024, 4096, 16, 512, 32, 4)


@pytest.mark.parametrize("key", MODEL_DIMENSIONS)
@pytest.mark.parametrize("value", [0, -1, 2**63, 1.5, True, "8"])
def test_a_dimension_that_is_no_positive_count_is_named(key: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        replace(TINY, **{key: value})  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"model.{key} is {value!r}; it must be an integer from 1 to 9223372036854775807"
    )


@pytest.mark.parametrize("key", MODEL_DIMENSIONS)
def test_the_greatest_count_is_accepted(key: str) -> None:
    assert getattr(replace(TINY, **{key: 2**63 - 1}), key) == 2**63 - 1  # type: ignore[arg-type]


def test_a_single_layer_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"model\.num_layers is 1; it must be at least 2: .*unconnected"):
        replace(TINY, num_layers=1)


def test_a_model_has_a_name() -> None:
    with pytest.raises(InputError, match=r"model\.name is empty"):
        replace(TINY, name="")
