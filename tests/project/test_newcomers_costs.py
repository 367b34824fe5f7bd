"""A new search is two files, its class and a line of its registry: a copy with each answers by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from package_copy import copy_package, run_python

# By the noun: the file of the class, its text, the registry and the line that it gets.
SEARCHES = {
    "synthesizer": (
        "collectives/search/synthesizers/patient.py",
        "from dse.collectives.search.synthesizers.restarts import Restarts\n\n\n"
        'class Patient(Restarts):\n    name = "patient"\n',
        "collectives/search/synthesizers/registry.py",
        '"exact": f"{_HOME}.exact:Exact"',
        '"patient": f"{_HOME}.patient:Patient"',
    ),
    "partitioner": (
        "partition/search/partitioners/patient.py",
        "from dse.partition.search.partitioners.multilevel import Multilevel\n\n\n"
        'class Patient(Multilevel):\n    name = "patient"\n',
        "partition/search/partitioners/__init__.py",
        '"exact": _EXACT',
        '"patient": f"{_HOME}.patient:Patient"',
    ),
    "planner": (
        "planner/search/planners/patient.py",
        "from dataclasses import replace\n\n"
        "from dse.planner.search.planners.anytime import AnytimePlanner\n\n\n"
        'class Patient(AnytimePlanner):\n    name = "patient"\n\n'
        "    def plan(self, *asked):\n        return replace(super().plan(*asked), planner=self.name)\n",
        "planner/search/planners/__init__.py",
        '"exact": _EXACT',
        '"patient": f"{_HOME}.patient:Patient"',
    ),
}
COMMANDS = {
    "synthesizer": [
        "synthesize",
        "topology=torus__dim=[2,2]",
        "collective=all_gather",
        "synthesizer=patient",
    ],
    "partitioner": ["partition", "model=tiny", "devices=torus_4x4", "partitioner=patient", "time_limit=2"],
    "planner": ["plan", "cluster=a100_v100", "model=tiny", "gbs=32", "planner=patient", "time_limit=2"],
}


@pytest.mark.parametrize("noun", SEARCHES)
def test_a_search_is_a_class_and_a_line_of_its_registry(noun: str, tmp_path: Path) -> None:
    copy_package(tmp_path)
    name, text, registry, last, line = SEARCHES[noun]
    (tmp_path / "dse" / name).write_text(f'"""A search of a newcomer."""\n\n{text}')
    path = tmp_path / "dse" / registry
    before = path.read_text()
    assert before.count(last) == 1
    path.write_text(before.replace(last, f"{last}, {line}"))
    assert "patient" in run_python(tmp_path, "-m", "dse", *COMMANDS[noun])
