"""A seventh axis, end to end: one entry, and its meaning in the generator, in a copy of the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from package_copy import ROOT, copy_package, run_python

from dse.studies.config import compose_config
from dse.studies.sweeps.plan import design_points

LAST_DEGREE = '    pp: int = degree("degree of pipeline parallelism", has_groups=False)\n'
ENTRY = '    hp: int = degree("degree of hybrid parallelism", since=99)\n'
SETTER = "        setattr(native, key, getattr(strategy, key))\n"
MEANING = f'        if key != "hp":\n    {SETTER}    native.dp *= strategy.hp\n'  # as a further dp
TINY = ["system=torus_4x4", "model=tiny", "study=tiny"]

PROGRAM = """
import contextlib, dataclasses, io, json, pathlib, sys
from dse.commands import best, compare, point, report, sweep
from dse.answers import pareto_front, ranking
from dse.answers.tops import tops
from dse.studies.store import StudyStore, as_rows
from dse.studies.store.schema import POINTS

def output(main, *arguments):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main(list(arguments)) == 0
    return text.getvalue()

def hps(rows):
    return [row.hp for row in rows]

axes = ["space.hp=[1,2]", "space.constraints=['dp*tp*sp*pp*hp == npus']"]
output(sweep.main, *sys.argv[2:], *axes)
rows = as_rows(StudyStore("results/tiny").read_table())
tied = [dataclasses.replace(row, wall_time_ns=1, peak_memory_bytes=1, dp=1, tp=1, sp=1, key=None)
        for row in rows if row.activation_recompute]
slow, fast = (dataclasses.replace(tied[0], hp=hp) for hp in (2, 1))
old = as_rows(StudyStore(sys.argv[1]).read_table())
output(report.main, "results/tiny")
print(json.dumps({
    "labels": [row.label() for row in rows],
    "keys": {row.label(): row.key for row in rows},
    "walls": {row.label(): row.wall_time_ns for row in rows},
    "ranking": hps(ranking([slow, fast])),
    "front": hps(pareto_front([slow, fast])),
    "tops": hps(tops([slow, fast], (), 2)[0][1]),
    "order": POINTS.order,
    "best": json.loads(output(best.main, "results/tiny", "--json")),
    "table": output(best.main, "results/tiny"),
    "differences": output(compare.main, "results/tiny", "results/tiny"),
    "page": pathlib.Path("results/tiny.html").read_text(),
    "point": output(point.main, *sys.argv[2:4], "strategy.dp=8", "strategy.hp=2"),
    "old": hps(old),
}))
"""


def with_entry(folder: Path) -> Path:
    """A copy of the package that has the axis; two files differ."""
    copy_package(folder)
    for name, before, after in (
        ("inputs/strategies/strategy.py", LAST_DEGREE, LAST_DEGREE + ENTRY),
        ("inputs/strategies/native.py", SETTER, MEANING),
    ):
        path = folder / "dse" / name
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, after))
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = with_entry(tmp_path_factory.mktemp("seventh"))
    old = ROOT / "tests" / "studies" / "store" / "study_of_0_2_0"
    answer: dict[str, Any] = json.loads(run_python(folder, "-c", PROGRAM, str(old), *TINY))
    return answer


def test_the_space_has_its_values_and_the_label_its_name(found: dict[str, Any]) -> None:
    assert len(set(found["labels"])) == 50  # 2 x (15 triples that multiply to 16, 10 to 8)
    assert sum(" hp2" in label for label in found["labels"]) == 20
    assert "dp4 tp1 sp2 pp1 hp2 recompute" in found["labels"]


def test_the_generator_gives_it_its_meaning(found: dict[str, Any]) -> None:
    walls = found["walls"]
    assert walls["dp4 tp2 sp1 pp1 hp2"] == walls["dp8 tp2 sp1 pp1"]
    assert "dp8 tp1 sp1 pp1 hp2" in found["point"]


def test_it_breaks_ties_after_the_older_degrees(found: dict[str, Any]) -> None:
    assert (found["ranking"], found["front"], found["tops"]) == ([1, 2], [1], [1, 2])
    assert found["order"][2:9] == ["dp", "tp", "sp", "pp", "hp", "cp", "weight_sharded"]


def test_tables_and_json_have_it(found: dict[str, Any]) -> None:
    assert found["best"]["best"]["hp"] in (1, 2)
    heading = next(line for line in found["table"].splitlines() if "wall time" in line)
    assert heading.split()[:7] == ["dp", "tp", "sp", "pp", "hp", "fsdp", "act."]


def test_studies_are_compared_by_it(found: dict[str, Any]) -> None:
    assert "50 strategies are ok in both" in found["differences"]


def test_the_page_names_points_and_commands_by_it(found: dict[str, Any]) -> None:
    assert '"strategy_fields":["dp","tp","sp","pp","hp","weight_sharded",' in found["page"]
    assert "sp1 pp1 hp2" in found["page"]
    assert "strategy.pp=1 strategy.hp=" in found["page"]
    assert "The best points over two axes" in found["page"]  # any two of those fields that vary


def test_keys_of_older_points_stay_and_older_rows_have_the_default(found: dict[str, Any]) -> None:
    config = compose_config(TINY)
    keys = {point.strategy.label(): point.key for point in design_points(config)}
    assert len(keys) == 30
    for label, key in keys.items():
        assert found["keys"][label] == key
    assert set(found["old"]) == {1}
