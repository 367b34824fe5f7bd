"""The laws of kernels with the constants of conf/kernels, against measured kernels and collectives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

from dse.inputs.accelerators import accelerator_names
from dse.inputs.accelerators.kernel_constants import kernel_constants, kernel_names
from dse.prediction.kernels.errors import KernelError, kernel_errors
from dse.prediction.kernels.tables import read_table

GOLDEN = Path(__file__).parents[2] / "golden" / "kernels"
MEASURED = ("a100_80", "b200", "b300", "gb200", "h100_sxm", "h200")


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str, str, str], KernelError]:
    errors, _ = kernel_errors([read_table(path) for path in sorted(GOLDEN.glob("*.csv"))])
    return {(each.law, each.accelerator, each.precision, each.part): each for each in errors}


@pytest.mark.parametrize(
    ("law", "precision", "part", "most"),
    [
        ("gemm", "bf16", "all", 9.5),
        ("gemm", "fp8", "all", 7.0),
        ("gemm", "nvfp4", "all", 13.0),
        ("attention", "bf16", "> 20 us", 7.5),
        ("nccl", "", "all", 13.0),
        ("nccl", "", ">= 1 MiB", 14.0),
        ("moe", "bf16", "all", 20.0),
        ("dispatch", "2", "tokens >= 1024", 8.0),
        ("dispatch", "4", "tokens >= 1024", 8.0),
        ("combine", "2", "tokens >= 1024", 8.0),
        ("combine", "4", "tokens >= 1024", 8.0),
        ("dispatch", "domain", "all", 8.0),
        ("combine", "domain", "all", 8.0),
    ],
)
def test_a_law_is_as_near_as_the_guide_says(
    found: dict[tuple[str, str, str, str], KernelError], law: str, precision: str, part: str, most: float
) -> None:
    errors = [each for key, each in found.items() if (key[0], key[2], key[3]) == (law, precision, part)]
    assert errors
    assert all(each.mean_error_pct <= most for each in errors), errors
    assert all(each.rows >= 8 for each in errors)


def test_every_type_with_kernels_is_an_accelerator() -> None:
    assert set(MEASURED) | {"gb300"} <= set(kernel_names()) <= set(accelerator_names())


@pytest.mark.parametrize("name", MEASURED)
def test_constants_of_a_type_name_their_sources(name: str) -> None:
    constants = kernel_constants(name)
    assert constants.lent_by == ""
    assert 0.7 < constants.products["bf16"].share < 0.9
    for part in ("products", "attention", "collectives"):
        assert "commit 095f58a51" in constants.sources[part]


def test_gb300_has_the_shares_of_b300() -> None:
    ultra, lender = kernel_constants("gb300"), kernel_constants("b300")
    assert ultra.lent_by == "b300"
    assert ultra.products == lender.products
    assert ultra.gpus_per_node == 4


def test_the_command_prints_errors_by_law_type_and_precision() -> None:
    done = run_ok("accuracy", "--kernels", "gemm.csv", cwd=GOLDEN)
    header, first, *_ = done.out.splitlines()
    assert header.split() == ["law", "accelerator", "precision", "rows", "of", "rows", "mean", "|%|", "bias"]
    assert first.split()[:5] == ["gemm", "a100_80", "bf16", "all", "40"]
    data = json.loads(run_ok("accuracy", "--kernels", "nccl.csv", "--json", cwd=GOLDEN).out)
    assert {each["law"] for each in data["errors"]} == {"nccl"}


def test_rows_of_unknown_systems_are_noted(tmp_path: Path) -> None:
    text = (GOLDEN / "gemm.csv").read_text()
    (tmp_path / "mixed.csv").write_text(text + "moonchip,x,bf16,256,256,256,9\n")
    done = run_ok("accuracy", "--kernels", "mixed.csv", cwd=tmp_path)
    assert "note: mixed.csv: no constants for its rows of the system 'moonchip'" in done.err
    (tmp_path / "none.csv").write_text(text.splitlines()[0] + "\nmoonchip,x,bf16,256,256,256,9\n")
    assert "no row has a law and constants" in error_of("accuracy", "--kernels", "none.csv", cwd=tmp_path)


def test_tables_without_a_law_are_noted_next_to_others(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("kernel,gpus,us\nring,8,3\n")
    done = run_ok("accuracy", "--kernels", "other.csv", str(GOLDEN / "moe.csv"), cwd=tmp_path)
    assert "note: other.csv: is left out, as no law has its columns" in done.err
    assert "other.csv: its columns are kernel, gpus, us; a table" in error_of(
        "accuracy", "--kernels", "other.csv", cwd=tmp_path
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no table of kernels is given, such as gemm.parquet"),
        (("gemm.csv", "worst=3"), "worst is for tables of training steps; with --kernels, leave it out"),
        (("gemm.csv", "--parts"), "--parts is for tables of training steps"),
        (
            ("gemm.csv", "accelerator=tpu_v4"),
            "accelerator is 'tpu_v4'; types with measured kernels are a100_80",
        ),
    ],
)
def test_options_of_steps_are_refused(arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of("accuracy", "--kernels", *arguments, cwd=GOLDEN)


def test_own_tables_give_a_file_that_predicts_them_better(tmp_path: Path) -> None:
    """A GPU that takes 1.5 times as long: its file halves the share of products, and nothing else."""
    header, *rows = [line.split(",") for line in (GOLDEN / "gemm.csv").read_text().splitlines()]
    mine = [
        [*row[1:-1], f"{1.5 * float(row[-1]):.6g}"]
        for row in rows
        if row[0] == "h100_sxm" and row[2] == "bf16"
    ]
    (tmp_path / "own.csv").write_text("\n".join(",".join(cells) for cells in [header[1:], *mine]) + "\n")
    done = run_ok("calibrate", "kernels=own.csv", "accelerator=H100", "-o", "mine.yaml", cwd=tmp_path)
    assert done.out.splitlines()[0] == "h100_sxm: kernels of own.csv"
    own, shipped = kernel_constants(str(tmp_path / "mine.yaml")), kernel_constants("h100_sxm")
    assert own.products["bf16"].share == pytest.approx(shipped.products["bf16"].share / 1.5, rel=0.05)
    assert own.products["fp8"] == shipped.products["fp8"]
    assert own.attention == shipped.attention
    assert own.sources["products"] == "fitted to own.csv with dse calibrate"
    assert own.sources["attention"] == shipped.sources["attention"]
    data = [
        json.loads(run_ok("accuracy", "--kernels", "own.csv", *keys, "--json", cwd=tmp_path).out)["errors"][0]
        for keys in (("accelerator=mine.yaml",),)
    ]
    assert data[0]["mean_error_pct"] < 10


def test_laws_need_no_pandas() -> None:
    modules = "products attention collectives experts machine tables laws fits errors calibration"
    lines = [f"import dse.prediction.kernels.{name}" for name in modules.split()]
    code = "\n".join([*lines, "import sys", "sys.exit('pandas' in sys.modules or 'pyarrow' in sys.modules)"])
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
