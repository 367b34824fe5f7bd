"""Functions of Python in a page: under Node they do what they do here."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dse.base.errors import InputError, did_you_mean
from dse.base.pages import joined
from dse.base.pages.translated import translated
from dse.base.pages.translated_expressions import RUNTIME
from dse.base.records import converted, shown

NODE = shutil.which("node")
PAGES = Path(__file__).parents[2] / "dse" / "base" / "pages"
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


class Pair(NamedTuple):
    left: str | None
    right: int = 3


@dataclass(frozen=True)
class Part:
    width: int
    share: float | None = None

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InputError(f"width is {self.width!r}; it must be an integer from 1 to {2**63 - 1}")


@dataclass
class Whole:
    name: str
    part: Part | None = None
    seen: list[str] = field(default_factory=list)

    @property
    def area(self) -> int:
        return self.part.width**2 if self.part is not None else 0

    @cached_property
    def text(self) -> str:
        return f"{self.name}: {self.area}"

    def add(self, *names: str, twice: bool = False, **others: int) -> int:
        for name in names:
            self.seen.append(name)
            if twice:
                self.seen.append(name)
        return len(self.seen) + sum(others.values())


TABLE: dict[Any, Any] = {None: 0, "a": 1, ("x", "y"): Pair("l")}


@lru_cache
def known(first: str | None) -> object:
    return TABLE[first]


def numbers(a: Any, b: Any) -> object:
    whole = a if isinstance(a, int) and not isinstance(a, bool) else 1
    total: float = 0
    for index in range(3):
        total += index * a
    return [a + b, a - b, a * b, a / b, a // b, a % b, whole**2, a < b <= 8, a == b, total, divmod(a, b), -a]


def texts(values: list[Any]) -> object:
    said = [f"{value}/{value!r}/{shown(value)}" for value in values]
    return {
        "said": said,
        "joined": " ".join(said),
        "general": [f"{x:.3g}" for x in (5.5e19, 12, 0.00001234, 999.6)],
    }


def parts(items: list[Any]) -> object:
    evens = {n: n // 2 for n in items if n % 2 == 0}
    runs = [(key, list(run)) for key, run in groupby(items, lambda n: n > 2)]
    first, *_ = [items[0]]
    places = [at + 1 for at, n in enumerate(items) if n == items[-1]]
    if (last := items[-1]) and items[1:2] != [9]:
        places.append(last)
    chosen = (items or None, items[3:] or "none", max(items), min(3, 2), sorted(set("hello") - {"l"}))
    tests = (any(items), all(items), 2 in items, "b" in "abc", "z" not in evens, math.inf > 3)
    return [evens, runs, first, places, chosen, tests]


def halved(width: int, most: int) -> Part:
    while width > most:
        width //= 2
        if width == most + 1:
            break
    return Part(width)


def records(values: dict[str, Any]) -> object:
    whole = converted(values, Whole, "whole")
    count = whole.add("x", "y", twice=True, more=5)
    left, right = Pair("a")
    both = {**values, "name": None}
    same = TABLE.get(("x", "y")) == Pair("l")
    given = [block is not None for block in Pair(None)]
    steps = [next_one - one for one, next_one in pairwise([1, 4, 9])]
    halves = [halved(width, 3) for width in (2, 13, 8)]
    return [
        whole,
        whole.text,
        count,
        left,
        right,
        both,
        same,
        given,
        known(None),
        dict.fromkeys(["q"]),
        steps,
        halves,
    ]


def refused(width: int) -> object:
    return Part(width).width


def nearest(word: str, words: list[str]) -> object:
    return did_you_mean(word, words)


def under_node(function: Callable[..., Any], *given: Any) -> Any:
    """The answer of a function in a page, or the message of its refusal."""
    rules = PAGES / "rules.js"
    modules = joined(
        rules, PAGES / "json_text.js", made={rules: lambda: translated([function], f"./{RUNTIME}")}
    )
    read = "modules.json_text.jsonData(require('node:fs').readFileSync(0, 'utf8'), 'given')"
    program = (
        f"{modules}let said; const asked = {read};"
        f" try {{ said = modules.python.plain(modules.rules.{function.__name__}(...asked)); }}"
        " catch (error) { if (error.kind !== 'input') throw error; said = error.message; }"
        " process.stdout.write(JSON.stringify(said));"
    )
    done = subprocess.run(
        [str(NODE), "-e", program], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize(
    ("function", "given"),
    [
        *[(numbers, pair) for pair in ((7, 2), (-7, 2), (7, -2), (2.5, 2), (True, 3), (8, 8.0))],
        (
            texts,
            ([1, 1.0, 1e16, 1e-5, 0.1, -0.5, True, None, "it's", 'a"b\n', "\u2028", [1, ["x"]], {"a": 1.5}],),
        ),
        *[(parts, (items,)) for items in ([1, 2, 3, 4, 4], [0, 9, 0], [3])],
        (records, ({"name": "mine", "part": {"width": 4, "share": 2}},)),
        (records, ({"name": "mine"},)),
        *[(nearest, (word, ["llama", "gemma", "gemma2", "qwen2"])) for word in ("llamma", "gema", "xyz", "")],
    ],
)
def test_a_function_does_in_a_page_what_it_does_here(function: Callable[..., Any], given: Any) -> None:
    here = json.loads(json.dumps(function(*given), default=dataclasses.asdict))
    assert under_node(function, *given) == here


@needs_node
def test_a_refusal_has_the_same_words_and_exact_numbers() -> None:
    assert under_node(refused, 5) == 5
    assert under_node(refused, 0) == "width is 0; it must be an integer from 1 to 9223372036854775807"


@needs_node
def test_numbers_that_a_page_would_round_are_refused() -> None:
    assert under_node(refused, 2**53 + 1) == "the number 9007199254740993 is too large for this page"


def waits(path: str) -> object:
    with open(path) as file:  # noqa: PTH123
        return file


def splits(text: str) -> object:
    return text[::2]


def measures(text: str) -> object:
    return json.loads(text)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (waits, r"test_translated\.py:\d+: a page cannot have With: with open\(path\) as file:"),
        (splits, r"test_translated\.py:\d+: a page cannot have Subscript: text\[::2\]$"),
        (measures, r"a page cannot have"),
    ],
)
def test_other_python_is_refused_with_its_place(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        translated([function], RUNTIME)
