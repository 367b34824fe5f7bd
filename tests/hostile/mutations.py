"""Mutations of valid files: bytes, numbers, texts, structure; the same input for the same generator."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

NUMBERS = (
    *("0", "-1", "1e308", "1e400", "-1e400", "1e-99999999", "1e99999999", "9" * 400, "9" * 5000, "0x10"),
    *("nan", "NaN", "inf", "-Infinity", "1_000", "1.5", "-0.0", "4294967296", "9223372036854775808", "2e0"),
)
TEXTS = (
    *(
        "",
        "null",
        "true",
        "~",
        "[]",
        "{}",
        "[" * 3000,
        "{a: " * 500,
        "&a [*a, *a]",
        "*a",
        "<<: {x: 1}",
        "!!int ''",
    ),
    *(
        "${oc.env:HOME}",
        "${x}",
        "'",
        '"',
        "\\",
        "\x00",
        "é" * 300,
        "../../x",
        "a\nb",
        "-",
        ": :",
        "%",
        "2001-02-30",
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        1e308,
        float("inf"),
        float("nan"),
        10**400,
        "",
        "x" * 5000,
        "nan",
        [],
        {},
    ),
    *([[]], {"": None}, [None], -(2**63), "9" * 5000, [1, [2, [3]]]),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*")


def mutated(rng: random.Random, seed: bytes) -> bytes:
    """Return one to three mutations of a file, some of which leave it valid."""
    content = seed
    for _ in range(rng.choice((1, 1, 2, 3))):
        content = rng.choice(_MUTATIONS)(rng, content)
    return content


def _flip(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _repeat(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    at = rng.randrange(len(lines))
    return b"".join([*lines[:at], *[lines[at]] * rng.choice((0, 2, 2, 50)), *lines[at + 1 :]])


def _swap(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _other_number(rng: random.Random, content: bytes) -> bytes:
    return _replaced(rng, content, _NUMBER, NUMBERS)


def _other_word(rng: random.Random, content: bytes) -> bytes:
    return _replaced(rng, content, _WORD, TEXTS)


def _replaced(
    rng: random.Random, content: bytes, pattern: re.Pattern[bytes], texts: tuple[str, ...]
) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content + rng.choice(texts).encode()
    place = rng.choice(found)
    return content[: place.start()] + rng.choice(texts).encode() + content[place.end() :]


def _other_structure(rng: random.Random, content: bytes) -> bytes:
    """A JSON document with one value replaced, removed or doubled; other files change a word."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return _other_word(rng, content)
    places: list[tuple[Any, Any]] = []
    _collect(data, places)
    if not places:
        return _other_word(rng, content)
    parent, key = rng.choice(places)
    if rng.random() < 0.2:
        del parent[key]
    elif rng.random() < 0.2 and isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = rng.choice(VALUES)
    try:
        return json.dumps(data).encode()
    except ValueError:  # a number of more digits than Python writes
        return content


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        places.append((value, key))
        _collect(inner, places)


_MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(_flip, _cut, _repeat, _swap, _other_number, _other_number, _other_word),
    *(_other_structure, _other_structure, _other_structure),
)
