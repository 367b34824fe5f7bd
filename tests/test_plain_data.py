"""YAML and JSON of others: what is read, and what is refused before it costs memory or the process."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.base.plain_data import check_yaml, json_data, load_json_object, read_yaml, yaml_data

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
LINES = "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in itertools.pairwise("abcdefghi")
)
BOMB = f"a: &a [{', '.join(['x'] * 9)}]\n{LINES}"


def refusal(read: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(InputError) as refused:
        read(*arguments, **options)
    return str(refused.value)


@given(PLAIN)
def test_yaml_of_plain_data_is_read_back(data: Any) -> None:
    assert yaml_data(yaml.safe_dump(data), "x.yaml") == data


@given(PLAIN)
def test_json_of_plain_data_is_read_back(data: Any) -> None:
    assert json_data(json.dumps(data), "x.json") == data


@given(st.text(alphabet="[]{}:,-&*!|>%@`'\"#? \n\tab01.~=<") | st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    for read in (yaml_data, json_data):
        with contextlib.suppress(InputError):
            read(text, "file")
            continue
        message = refusal(read, text, "file")
        assert message.startswith("file: ")
        assert "\n" not in message
        assert len(message) < 400


@pytest.mark.parametrize("opened", ["[", "{a: ", "- ", "? "])
def test_a_hundred_levels_of_yaml_are_read_and_a_hundred_thousand_refused(opened: str) -> None:
    message = "x.yaml: line 1: is nested deeper than 100 levels, the most allowed"
    assert refusal(yaml_data, opened * 100_000, "x.yaml") == message
    assert refusal(yaml_data, "[" * 101 + "]" * 101, "x.yaml") == message
    assert str(yaml_data("[" * 100 + "]" * 100, "x.yaml")) == "[" * 100 + "]" * 100


def test_a_hundred_levels_of_json_are_read_and_more_refused() -> None:
    assert str(json_data("[" * 100 + "]" * 100, "x.json")) == "[" * 100 + "]" * 100
    for depth in (101, 100_000):
        for opened, closed in (("[", "]"), ('{"a":', "}"), ('[{"a":[0],"b":', "}]")):
            text = opened * depth + "0" + closed * depth
            message = "x.json: is nested deeper than 100 levels, the most allowed"
            assert refusal(json_data, text, "x.json") == message


def test_aliases_count_as_what_they_stand_for() -> None:
    message = (
        "x.yaml: line 7: holds more than 5000000 values, the most allowed; an alias such as *name counts as "
        "all that it stands for"
    )
    assert refusal(yaml_data, BOMB, "x.yaml") == message
    assert yaml_data("a: &a [1, 2]\nb: [*a, *a]\nc: &c 3\nd: *c", "x.yaml") == {
        "a": [1, 2],
        "b": [[1, 2], [1, 2]],
        "c": 3,
        "d": 3,
    }
    text = "a: &a [1, 2]\nb: [*a, *a]"  # a mapping, two keys, a list of two, and a list of two such lists
    check_yaml(text, "x.yaml", most_nodes=13)
    assert "more than 12 values" in refusal(check_yaml, text, "x.yaml", most_nodes=12)


def test_data_that_contain_themselves_are_refused() -> None:
    assert refusal(yaml_data, "a: &a\n  - *a\n", "x.yaml") == "x.yaml: line 2: *a contains itself"
    assert "undefined alias" in refusal(yaml_data, "a: *b\n", "x.yaml")


@pytest.mark.parametrize(
    "number", ["9" * 5000, "-" + "9" * 300, "0x" + "f" * 300, "1" + ":59" * 5000, "0." + "3" * 300]
)
def test_numbers_of_yaml_that_are_too_long_are_refused(number: str) -> None:
    for text in (f"a: {number}\n", f"a: !!int '{number}'\n", f"{number}: a\n"):
        message = (
            f"x.yaml: line 1: the number {number[:20]}… has {len(number)} characters; at most 250 are allowed"
        )
        assert refusal(yaml_data, text, "x.yaml") == message
    assert yaml_data(f"a: '{number}'\nb: {number}x\n", "x.yaml") == {"a": number, "b": f"{number}x"}


@pytest.mark.parametrize(
    "text", ["!!int ''", "!!float x", "!!bool x", "!!timestamp x", "2001-02-31", "!!set x", "!!binary x"]
)
def test_values_of_yaml_that_cannot_be_made_are_refused(text: str) -> None:
    assert refusal(yaml_data, f"a: {text}", "x.yaml").startswith("x.yaml: malformed YAML")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9" * 5000, f"line 1: the number {'9' * 20}… has 5000 characters; at most 250 are allowed"),
        (f"[1.{'9' * 300}]", f"line 1: the number 1.{'9' * 18}… has 302 characters; at most 250 are allowed"),
        ("[1,\n1e400]", "line 2: 1e400 is too large; numbers must be finite, below 1.8e308"),
        ('{"a": -1E+999}', "line 1: -1E+999 is too large; numbers must be finite, below 1.8e308"),
        ("[NaN]", "NaN is not a JSON number; numbers must be finite"),
        ("-Infinity", "-Infinity is not a JSON number; numbers must be finite"),
        ('{"a": 1, "a": 2}', "a occurs twice; every key is allowed once"),
        ('{"a": ', "malformed JSON at line 1, column 7: Expecting value"),
        ("[1\n2]", "malformed JSON at line 2, column 1: Expecting ',' delimiter"),
        ("", "malformed JSON at line 1, column 1: Expecting value"),
    ],
)
def test_json_beyond_the_standard_or_the_bounds_is_refused(text: str, message: str) -> None:
    assert refusal(json_data, text, "x.json") == f"x.json: {message}"


def test_numbers_within_the_bounds_are_exact() -> None:
    whole = int("9" * 250)
    assert json_data(f"[{whole}, 1e308, 1e-999, 0.1]", "x.json") == [whole, 1e308, 0.0, 0.1]
    assert yaml_data(f"[{whole}, 1.0e+308, 0.1]", "x.yaml") == [whole, 1e308, 0.1]
    assert float(int("f" * 248, 16)) < math.inf
    assert json_data("[NaN, Infinity]", "x.json", is_finite=False)[1] == math.inf
    assert json_data(f'"{"9" * 5000}"', "x.json") == "9" * 5000


def test_a_file_is_named_in_the_message(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1]")
    assert refusal(load_json_object, path) == f"{path}: holds a list; it must hold a JSON object {{...}}"
    assert refusal(read_yaml, tmp_path / "none.yaml") == (
        f"{tmp_path / 'none.yaml'}: cannot be read: No such file or directory"
    )
    path.write_text("a: b: c")
    assert refusal(read_yaml, path) == (
        f"{path}: malformed YAML at line 1, column 5: mapping values are not allowed in this context"
    )
