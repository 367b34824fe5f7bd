"""The command `dse accuracy` on tables of runs: figures, files that it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

from dse.prediction.measured.rows import FITTED, NEVER_FITTED

LINES = FITTED.read_text().splitlines()
ROWS = [line for line in LINES[1:] if line.startswith(("kor22", "mosaic-03", "vtrain-single-000"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accuracy")
    (folder / "runs.csv").write_text("\n".join([LINES[0], *ROWS]) + "\n")
    return folder


def with_cell(folder: Path, column: str, value: str, *, row: int = 0) -> Path:
    """The table with another value in a column of one row."""
    path = folder / f"changed-{column}.csv"
    records = list(csv.DictReader(path.parent.joinpath("runs.csv").read_text().splitlines()))
    records[row][column] = value
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def test_json_has_sources_ranking_and_rows(folder: Path) -> None:
    data = json.loads(run_ok("accuracy", "runs.csv", "--json", cwd=folder).out)
    assert [row["id"] for row in data["rows"]] == [line.split(",")[0] for line in ROWS]
    assert data["sources"][0]["source"] == "Korthikanti2022-Tab5"
    assert sum(source["rows"] for source in data["sources"]) == len(ROWS)
    assert all(row["reason"] == "" and row["predicted_s"] > 0 for row in data["rows"])
    assert data["rows"][0]["measured_s"] == 1.42
    for source in data["sources"]:
        errors = [abs(row["error_pct"]) for row in data["rows"] if row["source"] == source["source"]]
        assert source["mape_pct"] == pytest.approx(sum(errors) / len(errors), abs=1e-3)
        assert source["max_pct"] == pytest.approx(max(errors), abs=1e-3)
    for row in data["rows"]:
        assert sum(row["parts_pct"].values()) == pytest.approx(100, abs=0.01)


def test_text_csv_and_page(folder: Path) -> None:
    options = ("--parts", "worst=2", "by=source,gpu", "csv=rows.csv", "page=page.html")
    out = run_ok("accuracy", "runs.csv", *options, cwd=folder).out
    assert "\nKorthikanti2022-Tab5 " in out
    assert "\nKorthikanti2022-Tab5, A100-80GB-SXM " in out
    assert "\nmatrix products " in out
    assert "rows with the largest errors" in out
    with (folder / "rows.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(ROWS)
    assert (folder / "page.html").read_text().count("<circle ") == len(ROWS)


def test_coverage_counts_by_kind_the_rows_of_a_table_in_their_interval(folder: Path) -> None:
    data = json.loads(run_ok("accuracy", "runs.csv", "--coverage", "--json", cwd=folder).out)
    inside = [row["low_s"] <= row["measured_s"] <= row["high_s"] for row in data["rows"]]
    kinds = {line["kind"]: line for line in data["coverage"]}
    assert kinds["all"]["rows"] == len(ROWS)
    assert kinds["all"]["inside_pct"] == pytest.approx(100 * sum(inside) / len(ROWS))
    assert kinds["16 bit"]["rows"] + kinds.get("8 bit", {"rows": 0})["rows"] == len(ROWS)
    assert sum(kinds[name]["rows"] for name in ("llm-foundry", "megatron-lm", "megatron-deepspeed")) == len(
        ROWS
    )
    out = run_ok("accuracy", "runs.csv", "--coverage", cwd=folder).out
    assert "\nsteps in the interval that is to hold 80 % of them, by kind, in %\nkind " in out


def test_a_row_that_cannot_be_expressed_is_part_of_the_answer(folder: Path) -> None:
    path = with_cell(folder, "dp", "")
    data = json.loads(run_ok("accuracy", path, "--json", cwd=folder).out)
    assert data["rows"][0]["reason"].startswith("dp: unknown")
    assert data["rows"][0]["predicted_s"] is None
    assert data["sources"][0]["expressible"] == data["sources"][0]["rows"] - 1
    assert f"1 of {len(ROWS)} rows have no prediction" in run_ok("accuracy", path, cwd=folder).out


def test_an_unknown_gpu_is_a_reason(folder: Path) -> None:
    data = json.loads(run_ok("accuracy", with_cell(folder, "gpu", "A1000"), "--json", cwd=folder).out)
    assert "A1000" in data["rows"][0]["reason"]


def test_several_tables_are_one(folder: Path) -> None:
    data = json.loads(run_ok("accuracy", "runs.csv", NEVER_FITTED, "--json", cwd=folder).out)
    assert len(data["rows"]) == len(ROWS) + 13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.csv",), "nowhere.csv: cannot be read: No such file or directory"),
        (("runs.csv", "runs.csv"), "runs.csv: the id 'kor22-megatron-22B-full' is in runs.csv too"),
        (("runs.csv", "limit_s=0"), "limit_s is '0'; it must be a number above 0 and below 1e+06"),
        (("runs.csv", "limit_s=soon"), "limit_s is 'soon'; it must be a number"),
        (("runs.csv", "worst=-1"), "worst is '-1'; it must be a whole number of at least 0"),
        (("runs.csv", "folds=model"), "folds says what --cross-validate leaves out; give both"),
        (
            ("runs.csv", "--cross-validate", "folds=modell"),
            "folds is 'modell'; allowed are source, model, scale; did you mean 'model'?",
        ),
        (("runs.csv", "by=gpus,modl"), "by: 'modl' is no column; allowed are id, layers"),
        (("runs.csv", "page=nowhere/page.html"), "cannot write nowhere/page.html: the folder nowhere"),
        (("runs.csv", "accelerator=b20"), "accelerator is 'b20'; did you mean 'b200'? Allowed are"),
        (("runs.csv", "accelerator=b200"), "no row is of accelerator=b200; their gpu is A100-80GB-SXM"),
    ],
)
def test_wrong_input_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of("accuracy", *arguments, cwd=folder)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("layers", "many", "changed-layers.csv, line 2, column layers: 'many' is not allowed"),
    ],
)
def test_a_wrong_cell_is_one_line(folder: Path, column: str, value: str, message: str) -> None:
    assert message in error_of("accuracy", with_cell(folder, column, value), cwd=folder)


def test_a_misspelt_column_is_one_line(folder: Path) -> None:
    (folder / "extra.csv").write_text("\n".join([f"{LINES[0]},recompte", f"{ROWS[0]},full"]) + "\n")
    message = error_of("accuracy", "extra.csv", cwd=folder)
    assert message.startswith("extra.csv, line 1: unknown column 'recompte'; did you mean 'recompute'? Known")


def test_a_column_that_no_figure_depends_on_is_a_note(folder: Path) -> None:
    (folder / "more.csv").write_text("\n".join([f"{LINES[0]},colour", f"{ROWS[0]},red"]) + "\n")
    done = run_ok("accuracy", "more.csv", cwd=folder)
    assert done.err == "note: more.csv: no figure depends on the columns colour\n"


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("layers", "", "layers: empty; "),
        ("iter_s", "", "iter_s: empty; "),
        ("schedule", "zb-h2", "schedule is 'zb-h2', which no plan runs"),
    ],
)
def test_a_row_that_no_plan_describes_has_a_reason_and_does_not_end_the_run(
    folder: Path, column: str, value: str, reason: str
) -> None:
    path = with_cell(folder, column, value, row=2)
    rows = json.loads(run_ok("accuracy", path, "--json", cwd=folder).out)["rows"]
    assert rows[2]["reason"].startswith(reason)
    assert (rows[2]["predicted_s"], rows[2]["error_pct"]) == (None, None)
    assert [row["reason"] for row in (*rows[:2], *rows[3:])] == [""] * (len(ROWS) - 1)
