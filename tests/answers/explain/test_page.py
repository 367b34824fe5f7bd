"""The page on explanations shows what its first program prints, and names every part and category."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from dse.answers.explain import CATEGORIES, PARTS

PAGE = (Path(__file__).parents[3] / "docs" / "explain.md").read_text()


def block(language: str) -> str:
    match = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def test_the_output_on_the_page_is_that_of_its_program() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block("python"), {})
    assert printed.getvalue() == block("text")


def test_every_part_and_category_is_described() -> None:
    for name in (*PARTS, *CATEGORIES):
        assert f"`{name}`" in PAGE
