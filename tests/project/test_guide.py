"""The guide is short, and every page begins with its purpose, in plain English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_language import NO_SUBJECT, PRIVATE_IDIOM

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
MOST_WORDS = 40_000  # as `wc -w` counts them: programs, outputs and tables too
_BLOCK = re.compile(r"^```.*?^```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`[^`]*`")  # a key, a command or a word that a program prints
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def prose(text: str) -> str:
    """Return the text of a page without programs, comments and addresses."""
    return _LINK.sub(r"\1", _BLOCK.sub("", text))


def first_sentence(text: str) -> str:
    """Return the first sentence below the title of a page."""
    lines = [line for line in prose(text).splitlines() if not line.startswith("#")]
    return re.split(r"(?<=[.:?!])\s", " ".join(" ".join(lines).split()))[0]


def sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and lists."""
    paragraphs = [
        part for part in _PARAGRAPH.split(prose(text)) if "|" not in part and part.strip()[:1] != "#"
    ]
    return [sentence for part in paragraphs for sentence in re.split(r"(?<=[.?!])\s", " ".join(part.split()))]


def words_of(pages: list[Path]) -> int:
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_the_guide_has_at_most_forty_thousand_words() -> None:
    assert len(PAGES) > 30
    assert words_of(PAGES) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_begins_with_its_purpose(page: Path) -> None:
    """In one sentence, with a subject and of at most 25 words; not with a table, a list or a command."""
    sentence = first_sentence(page.read_text(encoding="utf-8"))
    assert sentence.startswith("This page "), sentence
    assert sentence.endswith((".", ":")), sentence
    assert 4 <= len(sentence.split()) <= 25, sentence
    assert not NO_SUBJECT.match(sentence)


@pytest.mark.parametrize("name", ["accuracy", "partition", "synthesis"])
def test_pages_of_methods_have_sentences_of_at_most_32_words(name: str) -> None:
    found = sentences((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    assert len(found) > 30
    assert [sentence for sentence in found if len(sentence.split()) > 32] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_has_no_private_idiom(page: Path) -> None:
    text = _NAME.sub("", prose(page.read_text(encoding="utf-8")))
    assert PRIVATE_IDIOM.findall(text) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# A\n\nThis page says how.\nMore.\n", "This page says how."),
        ("# A\n\n<!-- made -->\nThis page lists keys: all.\n", "This page lists keys:"),
        ("# A\n\n```bash\ndse sweep\n```\n\n| Key |\n", "| Key |"),
        ("# A\n\nThis [page](a.md) says\nhow. What not.\n", "This page says how."),
    ],
)
def test_the_first_sentence_of_a_page_is_found(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
