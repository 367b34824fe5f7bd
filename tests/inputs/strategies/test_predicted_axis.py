"""An axis that only predictions know: its entry, and the place that reads it, in a copy of the package."""

from __future__ import annotations

import json
from pathlib import Path

from package_copy import copy_package, run_python

CHANGES = {
    "inputs/strategies/strategy.py": {
        "    framework: str = choice(\n": (
            '    pause: bool = flag("pause", "a second of rest", in_traces=False, since=99)\n'
            "    framework: str = choice(\n"
        )
    },
    "prediction/steps/predicted_strategies.py": {
        "from dse.prediction.steps.predict import Figures, notes_of\n": (
            "from dse.prediction.steps.predict import Figures, notes_of\n"
            "from dse.prediction.steps.predict import PARTS\n"
        ),
        "        found.parts_s[runs],\n": (
            '        found.parts_s[runs] + np.outer(ran.column("pause"), '
            '[name == "optimizer" for name in PARTS]),\n'
        ),
    },
}
POINT = ["system=dgx_h100", "model=llama3_8b", "strategy.dp=64", "format=json"]


def test_an_axis_of_predictions_is_two_files(tmp_path: Path) -> None:
    copy_package(tmp_path)
    for name, changes in CHANGES.items():
        path = tmp_path / "dse" / name
        text = path.read_text()
        for before, after in changes.items():
            assert text.count(before) == 1
            text = text.replace(before, after)
        path.write_text(text)
    plain, paused = [
        json.loads(run_python(tmp_path, "-m", "dse", "point", *POINT, *more))
        for more in ([], ["strategy.pause=true"])
    ]
    assert paused["wall_time_ns"] - plain["wall_time_ns"] == 10**9
    axes = ["space.pause=[false,true]", "space.dp=[64]", "space.tp=[1]", "space.pp=[1]", "study=new"]
    run_python(tmp_path, "-m", "dse", "sweep", *POINT[:2], "space.weight_sharded=[false]", *axes)
    for where, pause in (("pause == true", True), ("pause == false", False)):
        text = run_python(tmp_path, "-m", "dse", "best", "results/new", "--json", f"where={where}")
        assert json.loads(text)["best"]["pause"] is pause
