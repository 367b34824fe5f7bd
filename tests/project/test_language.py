"""The language of the package: docstrings and comments have named subjects, in the words of plain English."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_SUBJECT = re.compile(r"(what|those|that|which)\b", re.IGNORECASE)
PRIVATE_IDIOM = re.compile(
    r"\b(anew|of ours|of anyone's|nobody|at hand|is told|are told|beside)\b", re.IGNORECASE
)
CLOSED_SOURCE = re.compile(
    r"\bspec \d|\b(workload|simulator|partition|planner|synthesis) specification\b|\bspecification, section",
    re.IGNORECASE,
)
NAME = re.compile(r"`[^`]*`")  # of a field or a key, which may be any word


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield " ".join(text.split())


def texts(source: str) -> Iterator[str]:
    yield from docstrings(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def found(read: Callable[[str], Iterator[str]], search: Callable[[str], re.Match[str] | None]) -> list[str]:
    """Return where a text of the package has what `search` finds, with the beginning of the text."""
    return [
        f"{path.relative_to(ROOT).as_posix()}: {text[:80]}"
        for path in sorted((ROOT / "dse").rglob("*.py"))
        for text in read(path.read_text("utf-8"))
        if search(NAME.sub("", text))
    ]


def test_every_docstring_begins_with_a_subject_or_a_verb() -> None:
    assert found(docstrings, NO_SUBJECT.match) == []


def test_docstrings_and_comments_have_no_private_idiom() -> None:
    assert found(texts, PRIVATE_IDIOM.search) == []


def test_docstrings_and_comments_cite_nothing_that_a_reader_cannot_open() -> None:
    assert found(texts, CLOSED_SOURCE.search) == []


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("What a search is.", NO_SUBJECT),
        ("those of a study", NO_SUBJECT),
        ("A plan priced anew.", PRIVATE_IDIOM),
        ("Rows are told apart.", PRIVATE_IDIOM),
        ("The report (simulator specification, section 9).", CLOSED_SOURCE),
        ("The rule (spec 11.3).", CLOSED_SOURCE),
    ],
)
def test_the_checks_find_what_they_forbid(text: str, pattern: re.Pattern[str]) -> None:
    assert pattern.search(text)


@pytest.mark.parametrize("text", ["Questions besides the best plan.", "The whatif page, at handover."])
def test_the_checks_allow_words_that_only_look_alike(text: str) -> None:
    assert not PRIVATE_IDIOM.search(text)
    assert not NO_SUBJECT.match(text)
