"""The command `dse calibrate`: a file that dse accuracy then predicts with, JSON, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

from dse.inputs.accelerators import accelerator
from dse.prediction.measured.rows import FITTED

LINES = FITTED.read_text().splitlines()
FOUNDRY = [line for line in LINES[1:] if line.startswith("mosaic") and "H100" in line][::2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate")
    (folder / "runs.csv").write_text("\n".join([LINES[0], *FOUNDRY]) + "\n")
    (folder / "few.csv").write_text("\n".join([LINES[0], *FOUNDRY[:5]]) + "\n")
    return folder


def test_a_fit_is_written_and_predicts_better(folder: Path) -> None:
    keys = ("accelerator=H100", "constants=matrix,attention,memory")
    out = run_ok("calibrate", "runs.csv", *keys, "-o", "h100.yaml", cwd=folder).out
    assert out.startswith(f"h100_sxm: {len(FOUNDRY)} rows of MosaicML-LLMFoundry\nmean error ")
    own, shipped = accelerator(str(folder / "h100.yaml")), accelerator("h100_sxm")
    assert own.efficiency.links == shipped.efficiency.links
    assert own.efficiency.matrix != shipped.efficiency.matrix
    assert set(own.uncertainty) <= {"matrix", "attention", "memory"}
    errors = [
        json.loads(run_ok("accuracy", "runs.csv", *options, "--json", cwd=folder).out)["all"]["mape_pct"]
        for options in ((), ("accelerator=h100.yaml",))
    ]
    assert errors[1] < 6
    assert errors[1] < errors[0]


def test_the_same_rows_give_the_same_file(folder: Path) -> None:
    for name in ("one.yaml", "two.yaml"):
        line = ("runs.csv", "accelerator=h100_sxm", "constants=matrix", "-o", name)
        assert f"note: wrote {name}\n" in run_ok("calibrate", *line, cwd=folder).err
    assert (folder / "one.yaml").read_bytes() == (folder / "two.yaml").read_bytes()


def test_json_and_warnings(folder: Path) -> None:
    line = ("runs.csv", "accelerator=h100_sxm", "constants=matrix,matrix_8bit", "--json")
    done = run_ok("calibrate", *line, cwd=folder)
    data = json.loads(done.out)
    assert data["rows"] == len(FOUNDRY)
    assert [each["name"] for each in data["constants"]] == ["matrix", "matrix_8bit"]
    assert data["cross_mape_pct"] > 0
    assert "note: h100_sxm: no row depends on matrix_8bit; it stays at " in done.err
    assert "wrote" not in done.err


def test_a_framework_is_fitted_too_and_both_files_written(folder: Path) -> None:
    (folder / "both").mkdir()
    keys = ("accelerator=h100_sxm", "constants=matrix", "framework=llm-foundry")
    run_ok("calibrate", "runs.csv", *keys, "-o", "both", cwd=folder)
    assert sorted(path.name for path in (folder / "both").iterdir()) == ["h100_sxm.yaml", "llm-foundry.yaml"]
    assert "gradient_bytes: 2\n" in (folder / "both" / "llm-foundry.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("few.csv", "accelerator=h100_sxm"),
            "5 rows of h100_sxm can be expressed, and a fit of 6 constants",
        ),
        (("runs.csv",), "accelerator=… is missing: a type of conf/accelerator, or a YAML file"),
        (("accelerator=h100_sxm",), "no table of runs is given, such as runs.csv; --all fits to those"),
        (
            ("runs.csv", "accelerator=h1000"),
            "accelerator is 'h1000'; did you mean 'h100'? Allowed are a100_40, a100_80",
        ),
        (("runs.csv", "accelerator=my.yaml"), "accelerator is 'my.yaml'; there is no such file"),
        (("runs.csv", "accelerator=a100_80"), "no row is of accelerator=a100_80; their gpu is H100-80GB-SXM"),
        (("runs.csv", "accelarator=h100_sxm"), "unknown key accelarator; allowed are accelerator, framework"),
        (("runs.csv", "accelerator="), "accelerator is empty; write accelerator=VALUE, or leave it out"),
        (
            ("runs.csv", "accelerator=b200", "accelerator=h100_sxm"),
            "accelerator occurs twice, as 'b200' and 'h100_sxm'",
        ),
        (
            ("runs.csv", "accelerator=h100_sxm", "constants=matrx"),
            "constants has 'matrx'; allowed are matrix",
        ),
        (
            ("runs.csv", "accelerator=h100_sxm", "framework=unheard"),
            "framework is 'unheard'; allowed are llm-foundry",
        ),
        (
            ("runs.csv", "accelerator=h100_sxm", "-o", "no/x.yaml"),
            "cannot write no/x.yaml: the folder no does",
        ),
        (("runs.csv", "--all"), "--all takes no tables and no keys, but got 'runs.csv'"),
        (("accelerator=b200", "--unseen"), "--unseen takes no tables and no keys, but got 'accelerator'"),
        (
            ("--unseen", "-o", "nowhere"),
            "-o: 'nowhere' is no folder; it must be one in which --unseen writes",
        ),
        (("--all", "-o", "nowhere"), "-o: 'nowhere/accelerator' is no folder; it must be one in which --all"),
    ],
)
def test_wrong_input_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of("calibrate", *arguments, cwd=folder)


def test_constants_given_twice_are_refused(folder: Path) -> None:
    message = error_of("calibrate", "runs.csv", "accelerator=h100_sxm", "constants=matrix,matrix", cwd=folder)
    assert message == "constants has 'matrix' twice; each is allowed once"
