"""Transformer shapes: what is refused."""

from dataclasses import replace

import pytest

from dse.base.errors import InputError
from dse.inputs.models import MODEL_DIMENSIONS, ModelSpec

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
    greatest = 10_000 if key == "num_layers" else 2**63 - 1
    assert getattr(replace(TINY, **{key: greatest}), key) == greatest  # type: ignore[arg-type]


def test_more_layers_than_fit_into_memory_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        replace(TINY, num_layers=1_000_000)
    assert str(caught.value) == "model.num_layers is 1000000; at most 10000 are allowed"


def test_more_micro_batches_than_fit_into_memory_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        replace(TINY, num_layers=2, batch_size=10**6, micro_batches=10**6)
    assert str(caught.value) == "model.micro_batches is 1000000; with 2 layers at most 100000 are allowed"


def test_a_single_layer_is_refused_with_the_reason() -> None:
    with pytest.raises(InputError, match=r"model\.num_layers is 1; it must be at least 2: .*unconnected"):
        replace(TINY, num_layers=1)


def test_a_model_has_a_name() -> None:
    with pytest.raises(InputError, match=r"model\.name is empty"):
        replace(TINY, name="")


@pytest.mark.parametrize("name", ["a\x1b[31mb", "two\nlines", "\x00", "left\u202eright"])
def test_a_name_that_commands_the_terminal_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="it must have printable characters only") as caught:
        replace(TINY, name=name)
    assert str(caught.value).isprintable()
    assert replace(TINY, name="böse 模型").name == "böse 模型"
