"""Values of keys: whole numbers, numbers, flags, words and lists, and one line for each that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.base.settings.values import assignments, entries, file, flag, listed, number, one_of, whole


def test_a_key_that_is_not_given_has_its_default() -> None:
    assert whole({}, "top", 10) == 10
    assert whole({}, "top", None) is None
    assert number({}, "gap", 0.5) == 0.5
    assert flag({}, "mixed", True)
    assert one_of({}, "format", ("table", "json")) == "table"
    assert file({}, "csv") is None


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: whole({"top": "12"}, "top", 1), 12),
        (lambda: number({"gap": ".5"}, "gap", None), 0.5),
        (lambda: number({"gap": "+1.5e-3"}, "gap", None), 0.0015),
        (lambda: flag({"mixed": "false"}, "mixed", True), False),
        (lambda: one_of({"format": "json"}, "format", ("table", "json")), "json"),
        (lambda: file({"csv": "a/b.csv"}, "csv"), Path("a/b.csv")),
        (lambda: entries("tp", "a"), ["a"]),
        (lambda: entries("tp", "a, b"), ["a", "b"]),
        (lambda: entries("tp", "[a,a]"), ["a", "a"]),
        (lambda: assignments({"set": "A=1,B=x=y,C="}, "set"), {"A": "1", "B": "x=y", "C": ""}),
        (lambda: assignments({}, "set"), {}),
        (lambda: listed("topology", "[torus__dim=[4,4],ring.csv]"), ["torus__dim=[4,4]", "ring.csv"]),
        (lambda: listed("topology", "torus__dim=[4,4]"), ["torus__dim=[4,4]"]),
    ],
)
def test_a_text_is_read(read: Callable[[], object], expected: object) -> None:
    assert read() == expected


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: whole({"top": "0"}, "top", 1, least=1, most=9),
            "top is '0'; it must be a whole number, 1 to 9",
        ),
        (
            lambda: whole({"top": str(2**63)}, "top", 1),
            "top is '9223372036854775808'; it must be a whole number, 0 to 9223372036854775807",
        ),
        (
            lambda: whole({"root": "4"}, "root", 0, most=3, why="the network has 4 NPUs"),
            "root is '4'; it must be a whole number, 0 to 3, as the network has 4 NPUs",
        ),
        (
            lambda: whole({"seed": "²"}, "seed", 0),
            "seed is '²'; it must be a whole number of at least 0",
        ),
        (lambda: number({"gap": "inf"}, "gap", 0.0), "gap is 'inf'; it must be a number of at least 0"),
        (lambda: number({"gap": "1e999"}, "gap", 0.0), "gap is '1e999'; it must be a number of at least 0"),
        (lambda: number({"gap": "0"}, "gap", 0.0, above=0), "gap is '0'; it must be a number above 0"),
        (
            lambda: number({"gap": "1"}, "gap", 0.0, below=1),
            "gap is '1'; it must be a number of at least 0 and below 1",
        ),
        (lambda: number({"gap": "11"}, "gap", 0.0, most=10), "gap is '11'; it must be a number from 0 to 10"),
        (lambda: flag({"mixed": "yes"}, "mixed"), "mixed is 'yes'; allowed are true, false"),
        (
            lambda: one_of({"format": "jsn"}, "format", ("table", "json")),
            "format is 'jsn'; allowed are table, json; did you mean 'json'?",
        ),
        (
            lambda: assignments({"set": "A=1,2B=3"}, "set"),
            "set has '2B=3'; it must be NAME=VALUE, several with commas between them",
        ),
        (lambda: entries("tp", "[a"), "tp is '[a', which lacks a bracket; write tp=[a,b]"),
        (
            lambda: entries("tp", "[a,]"),
            "tp is '[a,]'; a list has entries, as in tp=[a,b], none empty",
        ),
        (
            lambda: listed("tp", "[a,a]"),
            "tp is '[a,a]'; a list has different entries, as in tp=[a,b], none empty",
        ),
    ],
)
def test_a_wrong_text_is_one_line(read: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as refused:
        read()
    assert str(refused.value) == message
