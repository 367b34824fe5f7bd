"""Objectives of runs: the best by expected time, cost or energy, and the best if nothing failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.answers import ANSWER_COLUMNS, BY_SYSTEM, apply_cap, groups
from dse.answers.objectives import (
    OBJECTIVE_COLUMNS,
    ObjectiveAnswer,
    objective_answers,
    objective_text,
)
from dse.answers.reports import report_data
from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.commands.best import main as best
from dse.commands.sweep import main as sweep
from dse.prediction.runs.asked import asked_run
from dse.prediction.runs.run import run_of
from dse.studies.points.methods.prediction import prediction_inputs, prediction_of
from dse.studies.points.stored import point_of_row
from dse.studies.store import StudyStore
from dse.studies.store.history import latest_objective

RUN = ("tokens=15T", "spares=0.5 %", "storage_gbps=200", "node_gbps=20", "price=dgx_b200=5,gb200_nvl72=6")
FEW = ("space.tp=[8]", "space.pp=[1,9]", "space.cp=[1,2]", "space.micro_batch=[1]")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """9,216 NPUs in nodes of 8 and in domains of 72, one of which is spare; objective=expected_time."""
    folder = tmp_path_factory.mktemp("objectives")
    files = []
    for name, nodes in (("dgx_b200", 1152), ("gb200_nvl72", 128)):
        text = (conf_folder() / "system" / f"{name}.yaml").read_text()
        lines = [f"nodes: {nodes}" if line.startswith("nodes:") else line for line in text.splitlines()]
        files.append(folder / f"{name}.yaml")
        files[-1].write_text("\n".join(lines))
    words = [f"run.{key}='{value}'" for key, _, value in (word.partition("=") for word in RUN)]
    words += [f"space.axes={{system:[{','.join(map(str, files))}]}}", *FEW, "model=llama3_70b"]
    words += ["model.batch_size=1024", "objective=expected_time", "study=runs", f"results_dir={folder}"]
    assert sweep(words) == 0
    return folder / "runs"


def _answer(study: Path, objective: str) -> ObjectiveAnswer:
    snapshot = StudyStore(study).snapshot([*ANSWER_COLUMNS, *OBJECTIVE_COLUMNS])
    found = groups(snapshot.table)
    (answer,) = objective_answers(found, apply_cap(found, BY_SYSTEM)[0], objective, snapshot.rows)
    return answer


def test_columns_of_a_row_are_the_run_of_its_point(study: Path) -> None:
    asked = asked_run(dict(word.split("=", 1) for word in RUN))
    rows = [row for row in StudyStore(study).rows() if row.status == "ok"]
    assert len(rows) >= 8
    for row in rows[::3]:
        point = point_of_row(row)
        model, plan, cluster = prediction_inputs(point)
        run = run_of(asked.question(model, plan, cluster), prediction_of(point))
        assert row.run_time_s == pytest.approx(run.time_s.value, rel=1e-6)
        assert row.run_time_high_s == pytest.approx(run.time_s.high, rel=1e-6)
        assert row.run_effective_pct == pytest.approx(100 * run.effective_ratio, rel=1e-6)
        assert row.run_cost == pytest.approx(run.npu_hours * (asked.price(row.system) or 0), rel=1e-6)
        energy = asked.energy(run)
        assert energy is not None
        assert row.run_energy_mwh == pytest.approx(energy.energy_mwh.value, rel=1e-6)


def test_failures_change_the_winner_and_the_text_says_why(study: Path) -> None:
    """A domain of 72 fails as a whole, and one spare is not enough for it."""
    found = _answer(study, "expected_time")
    assert found.is_changed
    assert (found.best.system, found.plain.system) == ("dgx_b200", "gb200_nvl72")
    assert found.plain.wall_time_ns < found.best.wall_time_ns  # type: ignore[operator]
    text = objective_text(found)
    assert "best dgx_b200, 9,216 NPUs" in text
    assert "without failures gb200_nvl72, 9,216 NPUs" in text
    assert "failures change the winner: gb200_nvl72, 9,216 NPUs fails" in text


@pytest.mark.parametrize(
    ("objective", "column"),
    [("expected_time", "run_time_s"), ("cost", "run_cost"), ("energy", "run_energy_mwh")],
)
def test_no_point_that_fits_beats_the_winner(study: Path, objective: str, column: str) -> None:
    best_row = _answer(study, objective).best
    fitting = [
        row
        for row in StudyStore(study).rows()
        if row.status == "ok"
        and (row.peak_memory_bytes or 0) <= point_of_row(row).scenario.system.memory_bytes
    ]
    assert getattr(best_row, column) == min(getattr(row, column) for row in fitting)


def test_the_study_keeps_the_objective_of_its_sweep(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert latest_objective(StudyStore(study)) == "expected_time"
    assert best([str(study)]) == 0
    assert "least expected time of the run" in capsys.readouterr().out
    assert best([str(study), "objective=cost"]) == 0
    assert "least cost of the run" in capsys.readouterr().out
    assert best([str(study), "objective=step"]) == 0
    assert "of the run, by system" not in capsys.readouterr().out


def test_a_report_has_days_cost_and_the_winners(study: Path) -> None:
    data = report_data(StudyStore(study), memory_cap_bytes=None, is_cap_by_system=True)
    assert [name for name, _ in data["run_figures"]] == [
        "run_days", "run_effective_pct", "run_goodput_pct", "run_cost", "run_energy_mwh",
    ]  # fmt: skip
    place = 2 + data["point_fields"].index("run_days")
    rows = {row.key: row for row in StudyStore(study).rows()}
    key = 2 + data["point_fields"].index("key")
    for point in data["groups"][0]["points"]:
        assert point[place] == pytest.approx(rows[point[key]].run_time_s / 86400, abs=1e-3)
    (table,) = data["objectives"]
    assert [row["name"] for row in table["rows"]] == [
        "dgx_b200", "gb200_nvl72", "gb200_nvl72 (without failures)",
    ]  # fmt: skip


def test_points_shrink_by_their_own_replicas(tmp_path: Path) -> None:
    """Strategies of one framework differ in replicas; one without another to give up cannot shrink."""
    few = ["system.nodes=4", "space.tp=[8]", "space.pp=[1,4]", "space.cp=[1]", "space.micro_batch=[1]"]
    words = ["system=dgx_h100", "model=llama3_8b", *few, "run.tokens=15T", "run.spares=0"]
    times: dict[str, dict[str, float | None]] = {}
    for elastic in ("wait", "shrink", "best"):
        asked = [f"run.elastic={elastic}", f"study={elastic}", f"results_dir={tmp_path}"]
        assert sweep([*words, *asked]) == 0
        rows = [row for row in StudyStore(tmp_path / elastic).rows() if row.status == "ok"]
        times[elastic] = {row.label(): row.run_time_s for row in rows}
        for row in rows:
            run = point_of_row(row).scenario.run
            assert run is not None
            model, plan, cluster = prediction_inputs(point_of_row(row))
            if row.run_time_s is None:
                assert (elastic, plan.dp) == ("shrink", 1)
                continue
            found = run_of(run.question(model, plan, cluster), prediction_of(point_of_row(row)))
            assert row.run_time_s == pytest.approx(found.time_s.value, rel=1e-6)
    assert {times["shrink"][label] is None for label in times["wait"]} == {True, False}
    for label, best_s in times["best"].items():
        choices = [times[elastic][label] for elastic in ("wait", "shrink")]
        assert best_s == pytest.approx(min(one for one in choices if one is not None), rel=1e-9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run.tokens=1T", "run.elastic=best"], "run.elastic=best has no effect where a failed node"),
        (["objective=speed"], "objective is 'speed'; allowed are step, expected_time, cost, energy"),
        (["objective=cost"], "objective is cost, but no run is asked for: write run.tokens=15T as well"),
        (["objective=cost", "run.tokens=1T"], "objective is cost, but no price is known: write run.price"),
        (["run.price=2"], "run.tokens is missing; write run.tokens=15.6T, run.steps=N, or run.loss=2.0"),
        (["run.tokens=1T", "run.law=hoffmann"], "run.law has no effect without loss: leave it out, or write"),
        (["run.tokens=1T", "run.price=-2"], "run.price is '-2'"),
        (["run.tokens=1T", "run.steps=5"], "run.tokens and steps say one length each"),
        (["run.tokens=1T", "run.spares=101 %"], "run.spares is"),
        (["run.tokens=1T", "run.reliability=none"], "run.reliability is 'none', which is unknown"),
        (["run.token=1T"], "unknown key run.token"),
    ],
)
def test_wrong_keys_are_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        sweep(["system=dgx_h100", "model=llama3_8b", f"results_dir={tmp_path}", *words])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_simulated_points_have_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run and its keys are of predicted steps"):
        sweep(["system=dgx16", "model=tiny", f"results_dir={tmp_path}", "run.tokens=1T"])


def test_a_study_without_runs_has_no_objective_of_runs(tmp_path: Path) -> None:
    words: list[Any] = ["system=dgx_h100", "model=llama3_8b", "space.tp=[2]", "space.pp=[1]", "space.cp=[1]"]
    assert sweep([*words, "study=plain", f"results_dir={tmp_path}"]) == 0
    with pytest.raises(InputError, match=r"no point that fits has run_cost: sweep with run\.tokens=15T"):
        best([str(tmp_path / "plain"), "objective=cost"])


def test_a_point_of_failing_racks_is_made_again_from_its_row(tmp_path: Path) -> None:
    """The rates and the sizes of domains are those of the row, whatever the file says now."""
    rates = tmp_path / "racks.yaml"
    rates.write_text(
        "detection: 1 min\nrestart: 5 min\nrepair: 1 day\n"
        "components: {power: {rate: 1 per 1000 rack-days, takes_node: true}}\n"
    )
    words = ["system=dgx_h100", "model=llama3_8b", "space.tp=[2]", "space.pp=[1]", "space.cp=[1]"]
    run = ["run.tokens=1T", f"run.reliability={rates}", "run.domains='rack=16'", "run.spares=4"]
    assert sweep([*words, *run, "study=racks", f"results_dir={tmp_path}"]) == 0
    rates.unlink()
    row = next(row for row in StudyStore(tmp_path / "racks").rows() if row.status == "ok")
    asked = point_of_row(row).scenario.run
    assert asked is not None
    assert asked.reliability.domains == {"rack": 16}
    assert row.run_failures == pytest.approx(4 * (row.run_time_s or 0) / 86400 / 1000, rel=0.05)
