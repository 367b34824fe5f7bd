"""The diffs of docs/extending are those of files that exist, and touch as few as the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_FILE = re.compile(r"^\+\+\+ b/(.+)$")


def added_lines(page: str) -> dict[str, list[str]]:
    """Per file of the diffs of a page, the lines that they add."""
    lines: dict[str, list[str]] = {}
    for block in re.findall(r"^```diff\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL):
        current: list[str] = []
        for line in block.splitlines():
            if match := _FILE.match(line):
                current = lines.setdefault(match[1], [])
            elif line.startswith("+"):
                current.append(line[1:])
    return lines


@pytest.mark.parametrize(
    ("page", "files"),
    [
        (
            "docs/extending/collective.md",
            ["engine/src/simulation/algorithms/ring.cpp", "engine/src/simulation/algorithms/registry.cpp"],
        ),
        (
            "docs/extending/topology.md",
            ["engine/src/inputs/networks/hypercube.cpp", "engine/src/inputs/networks/topologies.cpp"],
        ),
    ],
)
def test_the_diff_of_a_page_is_what_the_files_hold(page: str, files: list[str]) -> None:
    added = added_lines(page)
    assert list(added) == files
    whole, table = files
    assert added[whole] == (ROOT / whole).read_text().splitlines()
    assert set(added[table]) <= set((ROOT / table).read_text().splitlines())
