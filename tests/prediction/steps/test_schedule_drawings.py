"""The drawings of docs/schedules.md are those of the schedules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.inputs.strategies.schedules import SCHEDULES
from tests.references.schedule_drawing import drawing

PAGE = Path(__file__).parents[3] / "docs" / "schedules.md"
TITLE = re.compile(
    r"^(\S+), (\d+) stages, (?:(\d+) chunks, )?(\d+) micro-batches\n\n(.*?)\n```$", re.M | re.S
)
DRAWN = {match[1]: match.groups() for match in TITLE.finditer(PAGE.read_text())}


def test_every_schedule_is_drawn() -> None:
    assert set(DRAWN) == set(SCHEDULES)


@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_a_drawing_is_what_the_schedule_does(name: str) -> None:
    _, stages, chunks, batches, drawn = DRAWN[name]
    assert drawing(name, int(stages), int(chunks or 1), int(batches)) == drawn
