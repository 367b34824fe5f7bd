"""The reference of the API: pages list names that exist, among them every name of the library."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import dse

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
_NAME = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def listed(page: Path) -> list[str]:
    return _NAME.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_lists_names_that_exist_and_have_a_docstring(page: Path) -> None:
    names = listed(page)
    assert len(names) == len(set(names)) > 10
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__, name


def test_every_name_of_the_library_is_listed() -> None:
    assert {f"dse.{name}" for name in dse.__all__} <= set(listed(PAGES[1]))
    assert [page.stem for page in PAGES] == ["interfaces", "library", "records"]


def test_every_interface_is_listed_with_its_test_suite() -> None:
    names = " ".join(listed(PAGES[0]))
    for noun in ("Simulator", "Workload", "Executor", "Search", "Planner", "Partitioner"):
        assert f".{noun}Contract" in names
        assert re.search(rf"\.{noun}\b", names)
