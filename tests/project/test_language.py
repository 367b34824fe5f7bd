"""The language of the package: docstrings and comments have named subjects, in the words of plain English."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
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
EVERYWHERE = (PRIVATE_IDIOM.search, CLOSED_SOURCE.search)
NAME = re.compile(r"`[^`]*`")  # of a field or a key, which may be any word


def docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield " ".join(text.split())


def comments(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def test_docstrings_and_comments_are_in_plain_words_with_subjects() -> None:
    found = []
    for path in sorted((ROOT / "dse").rglob("*.py")):
        source = path.read_text("utf-8")
        checked = [(text, (NO_SUBJECT.match, *EVERYWHERE)) for text in docstrings(source)]
        checked += [(text, EVERYWHERE) for text in comments(source)]
        for text, searches in checked:
            words = NAME.sub("", text)
            if any(search(words) for search in searches):
                found.append(f"{path.relative_to(ROOT).as_posix()}: {text[:80]}")
    assert found == []


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
