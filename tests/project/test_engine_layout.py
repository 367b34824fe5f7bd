"""The sources of the engine lie in the wings of the package, and include downwards only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_includes import rooms_included, upward_includes
from import_circles import circle
from package_copy import ROOT

SOURCES = ROOT / "engine" / "src"
WINGS = [
    ["base"],
    ["inputs"],
    ["collectives"],
    ["simulation", "prediction"],
    ["planner", "partition"],
    ["answers"],
]


def test_the_engine_has_the_wings_of_the_package() -> None:
    wings = {path.name for path in SOURCES.iterdir()}
    assert wings == {name for level in WINGS for name in level}
    assert wings <= {path.parent.name for path in (ROOT / "dse").glob("*/__init__.py")}


def test_sources_of_the_engine_include_downwards_only() -> None:
    assert upward_includes(rooms_included(SOURCES), WINGS) == []


def test_no_room_of_the_engine_includes_itself_in_a_circle() -> None:
    rooms = rooms_included(SOURCES)
    assert len(rooms) > 20
    assert circle(rooms) == []


def test_bindings_and_programs_include_files_that_are_there() -> None:
    """They name files of the engine from engine/src, and their own from engine."""
    engine = ROOT / "engine"
    for folder in ("apps", "bindings", "fuzz", "tests", "wasm"):
        for path in sorted((engine / folder).rglob("*.[ch]pp")):
            for name in re.findall(r'^#include "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE):
                assert (SOURCES / name).is_file() or (engine / name).is_file(), f"{path}: {name}"


def test_the_page_lists_every_room_of_the_engine() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    layout = page.split("```text\n")[1].split("```")[0].split("engine/ ")[1].split("\n  wasm/")[0]
    listed = {
        f"{wing}/{room}" if room else wing
        for line in re.findall(r"^  src/(\S+(?: \S+)*)  ", layout, re.MULTILINE)
        for wing, _, rooms in [line.partition("/")]
        for room in (rooms.strip("{}").split(", ") if rooms else [""])
    }
    assert listed == set(rooms_included(SOURCES))


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in {
        "base/error.hpp": "",
        "inputs/files/text.hpp": '#include "base/error.hpp"\n',
        "inputs/networks/shape.hpp": '#include <vector>\n#include "inputs/files/text.hpp"\n',
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_includes_are_read_by_room(house: Path) -> None:
    assert rooms_included(house) == {
        "base": set(),
        "inputs/files": {"base"},
        "inputs/networks": {"inputs/files"},
    }


def test_an_upward_include_and_a_circle_are_found(house: Path) -> None:
    (house / "base" / "error.hpp").write_text('#include "inputs/networks/shape.hpp"\n')
    rooms = rooms_included(house)
    assert upward_includes(rooms, [["base"], ["inputs"]]) == ["base includes inputs/networks"]
    found = circle(rooms)
    assert found[0] == found[-1]
    assert set(found) == {"base", "inputs/files", "inputs/networks"}


def test_an_include_of_no_file_is_named(house: Path) -> None:
    (house / "base" / "error.hpp").write_text('#include "base/nothing.hpp"\n')
    with pytest.raises(AssertionError, match=r"includes base/nothing\.hpp, which is no file"):
        rooms_included(house)
