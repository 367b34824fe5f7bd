"""Comments of the engine begin with a subject, and cite only what a reader can open."""

from __future__ import annotations

import re

import pytest
from package_copy import ROOT
from test_language import NO_SUBJECT, PRIVATE_IDIOM

COMMENT = re.compile(r"^\s*//[/!]? ?(.*)$")
UNPUBLISHED = re.compile(
    r"\(?\b(spec|specification|sections?),? (section )?\d|\b\w+ spec\b(?!/)", re.IGNORECASE
)


def comments(source: str) -> list[str]:
    """Return the comments that stand on lines of their own, each as one text."""
    texts: list[str] = []
    inside = False
    for line in source.splitlines():
        match = COMMENT.match(line)
        if match and inside:
            texts[-1] += " " + match[1]
        elif match:
            texts.append(match[1])
        inside = match is not None
    return texts


def engine_comments() -> list[str]:
    paths = sorted((ROOT / "engine").rglob("*.[ch]pp"))
    return [text for path in paths for text in comments(path.read_text(encoding="utf-8"))]


def test_comments_of_the_engine_begin_with_a_subject_or_a_verb() -> None:
    found = engine_comments()
    assert len(found) > 1000
    assert [text for text in found if NO_SUBJECT.match(text)] == []


def test_comments_of_the_engine_have_no_private_idiom() -> None:
    assert [text for text in engine_comments() if PRIVATE_IDIOM.search(text)] == []


def test_comments_of_the_engine_cite_nothing_unpublished() -> None:
    assert [text for text in engine_comments() if UNPUBLISHED.search(text) and "et al" not in text] == []


def test_lines_of_a_comment_are_one_text() -> None:
    source = "// One,\n// two.\nint a;  // beside\n    /// Three.\nint b;\n"
    assert comments(source) == ["One, two.", "Three."]


@pytest.mark.parametrize(
    "text",
    ["Timers of ranks (simulator spec, section 3).", "Samples (spec 5.2).", "Beam search (section 7.4)."],
)
def test_the_check_finds_unpublished_citations(text: str) -> None:
    assert UNPUBLISHED.search(text)
