"""Pipeline schedules by name: a file or a package adds one, and strategies, spaces and rows take it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from package_copy import ROOT, copy_package, run_python

from dse.inputs.strategies import AXIS
from dse.inputs.strategies.schedules import SCHEDULES, schedule_named

PAGE = ROOT / "docs" / "extending" / "schedule.md"
CASE = ["system=dgx_h100", "model=llama3_8b", "model.batch_size=64"]
POINT = [*CASE, "strategy.pp=8", "strategy.dp=8", "format=json"]
SPACE = ["space.dp=[8]", "space.tp=[1]", "space.sp=[1]", "space.pp=[8]", "space.weight_sharded=[false]"]


def added() -> dict[str, str]:
    """The files that the diff of the page adds, with their texts."""
    found: dict[str, str] = {}
    (block,) = re.findall(r"^```diff\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    name, *lines = block.splitlines()[1:]
    found[name.removeprefix("+++ b/")] = "".join(f"{line.removeprefix('+')}\n" for line in lines)
    return found


def walls(folder: Path) -> dict[str, int]:
    """The wall time of one point by the name of its schedule."""
    return {
        name: json.loads(run_python(folder, "-m", "dse", "point", *POINT, f"strategy.schedule={name}"))[
            "wall_time_ns"
        ]
        for name in ("gpipe", "in-order")
    }


def test_a_file_is_a_value_of_strategies_spaces_and_constraints(tmp_path: Path) -> None:
    copy_package(tmp_path)
    ((name, text),) = added().items()
    assert name == "dse/inputs/strategies/schedules/kinds/in_order.py"
    (tmp_path / name).write_text(text)
    times = walls(tmp_path)
    assert times["in-order"] == times["gpipe"]  # the same bubble: only the order of micro-batches differs
    lists = ["space.schedule=[1f1b,in-order]", "space.constraints=[\"schedule == 'in-order'\"]", "study=new"]
    run_python(tmp_path, "-m", "dse", "sweep", *CASE, *SPACE, *lists)
    best = json.loads(run_python(tmp_path, "-m", "dse", "best", "results/new", "--json"))["best"]
    assert (best["schedule"], best["pp"]) == ("in-order", 8)


def test_a_package_adds_a_schedule(tmp_path: Path) -> None:
    (text,) = added().values()
    site = tmp_path / "site"
    metadata = site / "in_order_dse-1.dist-info"
    metadata.mkdir(parents=True)
    (site / "in_order_dse.py").write_text(text)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: in-order-dse\nVersion: 1\n")
    group, entry = re.findall(r'entry-points\."([\w.]+)"\]\n(.*)', PAGE.read_text())[0]
    (metadata / "entry_points.txt").write_text(f"[{group}]\n{entry.replace(chr(34), '')}\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dse", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])},
            capture_output=True,
            text=True,
            check=False,
        )

    done = run("point", *POINT, "strategy.schedule=in-order")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["strategy"]["schedule"] == "in-order"
    wrong = run("point", *POINT, "strategy.schedule=in-ordre")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "error: strategy.schedule is 'in-ordre'; it must be one of 1f1b, gpipe, interleaved, v-half, "
        "v-min, zb-h1, zb-v, in-order; did you mean 'in-order'?\n",
    )
    done = run("sweep", *CASE, *SPACE, "space.schedule=[gpipe,in-order]", "study=new")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(metadata)
    where = ["where=schedule == 'in-order'"]
    best = json.loads(run("best", "results/new", "--json", *where).stdout)["best"]
    assert best["schedule"] == "in-order"  # rows outlive the package


def test_choices_are_the_schedules_of_the_folder_and_the_first_is_1f1b() -> None:
    assert AXIS["schedule"].choices == ("1f1b", "gpipe", "interleaved", "v-half", "v-min", "zb-h1", "zb-v")
    assert AXIS["schedule"].default == "1f1b"


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_has_the_name_by_which_it_is_found(name: str) -> None:
    assert schedule_named(name).name == name
