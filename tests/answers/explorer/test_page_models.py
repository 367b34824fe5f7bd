"""Configurations of the Hugging Face Hub in a page: its models and refusals are those of the package."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from page_programs import needs_node, run_beside

from dse.answers.explorer.page import configured, predictable
from dse.base.errors import InputError
from dse.base.plain_data import json_data
from dse.inputs.models.families import FAMILIES, LACKING
from dse.studies.points.inputs import model_json
from tests.inputs.models.hub_configurations import MODELS

MODULES = ("predicted/model_files", "predicted/clusters")
READ = """(texts) => texts.map((text) => {
  try {
    const { spec, notes } = explorer.model_files.modelOf(text, "mine");
    return { spec, notes, ...explorer.clusters.predictableOf(spec) };
  } catch (error) {
    if (error.kind !== "input") throw error;
    return error.message;
  }
})"""
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, 7, 128, -1, 4096, 10**10, 2**64, 0.0, 0.1, 1.0, 128.0, 1e30, -0.5, 1e-7),
    *("", "8", "it's", 'a"b', "llamma", "llama", "bert", [], [0, 1], [1, 0], [True, 1.0], {}, {"a": [None]}),
    *("M-*E", ["full_attention"], float("inf"), float("nan")),
]
OTHERS = (
    *("mlp_only_layers", "attention_dropout", "sliding_window", "layer_types", "max_window_layers"),
    *("head_dim", "text_config", "n_group", "moe_layer_freq", "tie_word_embeddings", "architectures"),
)


def in_page(texts: list[str]) -> list[Any]:
    """The model of each text in a page, what predicts it, and notes; or why it is refused."""
    read: list[Any] = run_beside(MODULES, READ, texts)
    return read


def in_package(text: str) -> Any:
    """The same by the package."""
    try:
        found = configured(json_data(text, "config.json", is_finite=False), "mine")
    except InputError as error:
        return str(error)
    spec = found["spec"]
    of_steps = predictable(json.loads(model_json(spec)))
    return json.loads(json.dumps({**found, **of_steps}, default=dataclasses.asdict))


def same(page: Any, package: Any) -> bool:
    """Whether both are equal; JSON of a page may show operations, which are floats, as whole numbers."""
    for each in (page, package):
        if isinstance(each, dict):
            each["operations"] = float(each["operations"])
    return bool(page == package)


@needs_node
def test_every_configuration_is_the_same_model_in_a_page() -> None:
    texts = [json.dumps(content) for content, _ in MODELS.values()]
    for name, page, text in zip(MODELS, in_page(texts), texts, strict=True):
        package = in_package(text)
        assert page["spec"] == package["spec"], name
        assert page["spec"]["name"] == "mine"
        assert same(page, package), name


def changed() -> Iterator[dict[str, Any]]:
    """Configurations with other values, or without some."""
    chance = random.Random(20)
    for _ in range(1500):
        content = dict(MODELS[chance.choice(list(MODELS))][0])
        for _ in range(chance.choice([1, 1, 2])):
            key = chance.choice([*content, *OTHERS])
            content[key] = chance.choice(VALUES)
            if chance.random() < 0.2:
                del content[key]
        yield content


@needs_node
def test_other_entries_are_read_or_refused_in_the_same_words() -> None:
    texts = [json.dumps(content) for content in changed()]
    texts += [json.dumps({"model_type": kind}) for kind in (*FAMILIES, *LACKING, "gemma4", "unknown", None)]
    refused = 0
    for page, text in zip(in_page(texts), texts, strict=True):
        package = in_package(text)
        refused += isinstance(package, str)
        assert same(page, package), text
    assert 400 < refused < len(texts) - 400


@needs_node
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "malformed JSON at line 1, column 2"),
        ('{"a": [1,\n 2,]}', "malformed JSON at line 2, column 4"),
        ('{"a": 1} x', "malformed JSON at line 1, column 10"),
        ("[" * 200 + "]" * 200, "is nested deeper than 100 levels, the most allowed"),
        ('{"a": 1, "a": 2}', "a occurs twice; every key is allowed once"),
        ("[]", "must hold a JSON object with model_type and sizes, as a config.json does"),
        ('\n{"a": 1e999}', "line 2: 1e999 is too large; numbers must be finite, below 1.8e308"),
        ('{"a": ' + "9" * 300 + "}", f"line 1: the number {'9' * 20}… has 300 characters; at most 250 are"),
    ],
)
def test_texts_that_are_no_configuration_are_refused_at_the_same_place(text: str, message: str) -> None:
    (page,) = in_page([text])
    assert page.startswith(f"config.json: {message}")
    assert in_package(text).startswith(page)
