"""`python -m dse.sweep`: every strategy of a space, one study, one answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from command_lines import RING16, TINY, Done, run_dse, run_ok

from dse.answers.fidelities import REFERENCE
from dse.studies.config import compose_config
from dse.studies.store import StudyRow, StudyStore, as_rows

VOCABULARY = ("model.input_dim=50257", "model.output_dim=50257")


def sweep(folder: Path, *arguments: str) -> Done:
    return run_ok("sweep", *TINY, "results_dir=results", *arguments, cwd=folder)


def rows_of(folder: Path, study: str = "tiny-torus_4x4") -> list[StudyRow]:
    return as_rows(StudyStore(folder / "results" / study).read_table())


def strategies_of(rows: list[StudyRow]) -> list[tuple[int, int, int, int, bool]]:
    return [(row.dp, row.tp, row.sp, row.pp, row.activation_recompute) for row in rows]


def test_the_lab_has_56_points_for_64_npus() -> None:
    config = compose_config(["system=system1", "model=llama70b"])
    assert len(config.space.strategies(config.model, config.system)) == 56


def test_the_whole_space_is_stored_and_the_best_is_named(tmp_path: Path) -> None:
    done = sweep(tmp_path)
    rows = rows_of(tmp_path)
    assert len(rows) == len(set(strategies_of(rows))) == 30
    assert all(row.status == "ok" and row.npus == 16 and row.dp * row.tp * row.sp == 16 for row in rows)
    best = min(rows, key=lambda row: row.wall_time_ns or 0)
    assert (best.dp, best.tp, best.sp, best.activation_recompute) == (16, 1, 1, False)
    lines = done.out.splitlines()
    assert lines[0] == f"tiny on torus_4x4, 16 NPUs, {REFERENCE}"
    assert lines[lines.index("without a memory cap") + 1].split() == [
        *["best", "16", "1", "1", "1", "no", "no", "555.3", "µs"],
        *["147.85", "MB", "0.0", "72.3", "72.2", "29.5M"],
    ]
    assert (best.wall_time_ns, best.peak_memory_bytes) == (555332, 147849216)
    assert "under 80 GB: the cap does not bind, 99.8 % to spare" in lines
    assert "30 points: 30 ok" in lines
    assert lines[-2] == "exact figures: dse best results/tiny-torus_4x4 --exact"
    assert lines[-1] == "stored in results/tiny-torus_4x4"
    assert done.err == ""


def test_a_study_is_one_part_and_its_provenance(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    names = sorted(path.name for path in (tmp_path / "results" / "tiny-torus_4x4").iterdir())
    assert [name.partition("-")[0] for name in names] == ["_sweeps", "part"]


def test_a_study_can_be_named_and_asked_again(tmp_path: Path) -> None:
    out = sweep(tmp_path, "study=mine", "memory_cap=130MB").out
    assert "stored in results/mine" in out
    best = run_ok("best", "results/mine", "memory_cap=130MB", cwd=tmp_path).out
    assert best in out
    (line,) = (line for line in out.splitlines() if line.startswith("exact figures: "))
    exact = run_ok(*line.removeprefix("exact figures: dse ").split(), cwd=tmp_path).out
    assert "  555332  147849216  " in exact


def test_a_random_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    search = ("search=random", "search.samples=7", "search.seed=3")
    sweep(tmp_path, *search, "study=one")
    sweep(tmp_path, *search, "study=two", "executor.threads=1")
    sweep(tmp_path, *search[:2], "search.seed=4", "study=three")
    one, two, three = (strategies_of(rows_of(tmp_path, study)) for study in ("one", "two", "three"))
    assert len(one) == 7
    assert one == two
    assert one != three


@pytest.mark.parametrize(
    ("cap", "best"),
    [
        ("125MiB", "16 1 1 1 no yes"),
        ("125MB", "8 2 1 1 no no"),
        ("0.04GB", "4 4 1 1 no yes"),
    ],
)
def test_a_memory_cap_changes_the_answer(tmp_path: Path, cap: str, best: str) -> None:
    lines = sweep(tmp_path, f"memory_cap={cap}", "space.sp=[1]").out.splitlines()
    under = next(index for index, line in enumerate(lines) if line.startswith("under "))
    assert " ".join(lines[under + 1].split()[1:7]) == best


def test_when_nothing_fits_the_smallest_peak_is_said(tmp_path: Path) -> None:
    out = sweep(tmp_path, "memory_cap=1MB").out
    assert "under 1 MB\n  nothing fits: the smallest peak memory is 39.85 MB" in out
    smallest = min(row.peak_memory_bytes or 0 for row in rows_of(tmp_path))
    assert smallest == 39_845_888


def test_without_the_tracker_there_is_no_cap(tmp_path: Path) -> None:
    done = sweep(tmp_path, "system.track_local_memory=false", "space.sp=[1]")
    assert done.err.endswith("note: system.track_local_memory is off, so the memory cap is ignored\n")
    assert "under" not in done.out
    assert all(row.peak_memory_bytes is None for row in rows_of(tmp_path))
    assert all(row.wall_time_ns is not None for row in rows_of(tmp_path))


def test_fractional_shards_are_warned_of_once(tmp_path: Path) -> None:
    done = sweep(tmp_path, *VOCABULARY)
    (note,) = done.err.splitlines()
    assert note.startswith("note: 20 of 30 points have widths of matrices that do not divide")
    rows = rows_of(tmp_path)
    assert all(row.fractional == (row.tp > 1) and row.status == "ok" for row in rows)


def test_splits_that_no_program_can_make_are_another_warning(tmp_path: Path) -> None:
    done = sweep(tmp_path, "model.batch_size=8", "space.sp=[1]", "space.tp=[1,2]", "space.dp=[8,16]")
    (warning,) = done.err.splitlines()
    assert warning.startswith("warning: 2 of 4 points split sequences, tokens or heads, which no program can")
    split = "dp 16 does not divide batch_size 8 (nearest multiples of 16: 16)"
    assert {(row.dp, row.impossible_split) for row in rows_of(tmp_path)} == {(8, None), (16, split)}
    assert f"\nwarning: no program can split this: {split}\n\n4 points: 4 ok" in done.out


def test_a_realistic_model_has_no_point_that_splits_a_sequence(tmp_path: Path) -> None:
    realistic = ("model.fidelity=realistic", "model.batch_size=7", "space.sp=[1,4]")
    assert "\n16 points: 4 ok, 12 infeasible\n" in sweep(tmp_path, *realistic).out
    for row in rows_of(tmp_path):
        assert row.status == ("ok" if row.dp == 1 else "infeasible"), row
    reasons = {row.dp: row.reason for row in rows_of(tmp_path)}
    assert reasons[4].startswith(
        "workload.divisibility=whole, the default of model.fidelity=realistic: "
        "dp 4 does not divide batch_size 7 (nearest multiples of 4: 4, 8); "
    )


def test_strict_makes_such_points_infeasible_with_the_way_out(tmp_path: Path) -> None:
    done = sweep(tmp_path, *VOCABULARY, "workload.divisibility=strict")
    assert "warning" not in done.err
    assert "30 points: 10 ok, 20 infeasible" in done.out
    for row in rows_of(tmp_path):
        assert row.status == ("infeasible" if row.tp > 1 else "ok")
        assert not row.fractional
        if row.tp == 4:
            assert "workload.divisibility=strict" in row.reason
            assert "tp 4 does not divide input_dim 50257 (nearest multiples of 4: 50256, 50260)" in row.reason
            assert row.wall_time_ns is None


def test_bad_points_are_rows(tmp_path: Path) -> None:
    arguments = ["space.dp=[1,4]", "space.tp=[4]", "space.sp=[1]", "space.pp=[1,16]", "space.constraints=[]"]
    out = run_ok("sweep", *RING16, *arguments, "study=bad", cwd=tmp_path).out
    rows = {(row.dp, row.pp): row for row in rows_of(tmp_path, "bad") if not row.activation_recompute}
    assert {key: row.status for key, row in rows.items()} == {
        (1, 1): "infeasible",
        (1, 16): "infeasible",
        (4, 1): "deadlock",
        (4, 16): "infeasible",
    }
    assert "needs dp*tp*sp*pp = 4 NPUs, but system system1 has 16" in rows[1, 1].reason
    assert rows[4, 1].reason.startswith("16 of 16 ranks never finish; rank 0: all-reduce node")
    assert "no point is ok" in out
    order = "(see system.issue_order in docs/simulator.md)"
    assert f"8 points: 0 ok, 6 infeasible, 2 deadlock {order}" in out


def test_pipelines_and_sharded_weights_are_axes_too(tmp_path: Path) -> None:
    sweep(tmp_path, "space=full", "space.dp=[2,4]", "space.tp=[2]", "space.sp=[1]", "space.pp=[2,4]")
    rows = rows_of(tmp_path)
    assert len(rows) == 8
    assert {row.pp for row in rows} == {2, 4}
    assert all(row.status == "ok" and (row.rank_classes or 0) >= row.pp for row in rows)


def test_the_configuration_and_the_help_are_printed_instead_of_a_sweep(tmp_path: Path) -> None:
    out = run_ok("sweep", "--cfg", *TINY, "memory_cap=96GiB", cwd=tmp_path).out
    printed = yaml.safe_load(out)
    assert printed["memory_cap"] == "96GiB"
    assert printed["model"]["d_model"] == 1024
    assert run_ok("sweep", "--help", cwd=tmp_path).out.startswith("usage: python -m dse sweep")
    assert list(tmp_path.iterdir()) == []


def test_degrees_that_the_lists_of_the_space_leave_out_are_said(tmp_path: Path) -> None:
    wide = ("system.network.0.npus=32", "space.activation_recompute=[false]", "space.sp=[1]")
    note = (
        "note: space.dp, space.tp of space=lab leave out 128, but torus_4x4 has 128 NPUs: "
        "space=full has all degrees\n"
    )
    assert note in sweep(tmp_path, *wide).err
    assert "leave out" not in sweep(tmp_path, *wide, "space.dp=[64]", "space.tp=[2]", "study=two").err
    assert "leave out" not in sweep(tmp_path, "space.sp=[1]", "study=three").err


def test_a_search_says_how_much_it_saw_and_names_a_better_point_of_the_study(tmp_path: Path) -> None:
    sweep(tmp_path, "space.dp=[16]")
    done = sweep(tmp_path, "search=random", "search.samples=4", "space.dp=[1,2]")
    assert "search=random: 4 of 18 points\n" in done.out
    lines = done.out.splitlines()
    start = lines.index("the study has better points than those of this sweep")
    assert lines[start + 3].split()[:8] == ["best", "of", "the", "study", "16", "1", "1", "1"]
    assert lines[start + 4].split()[:8] == ["best", "under", "the", "cap", "16", "1", "1", "1"]
    assert "better points" not in sweep(tmp_path, "space.dp=[16]").out


def test_an_axis_with_an_impossible_value_ends_every_search_at_the_start(tmp_path: Path) -> None:
    axis = "space.axes={system.network.0.bandwidth_gbps:[100,0]}"
    for search in ("search=exhaustive", "search=optuna"):
        samples = ["search.samples=20"] if search == "search=optuna" else []
        done = run_dse("sweep", *TINY, "results_dir=results", search, *samples, axis, cwd=tmp_path)
        assert done.code == 2
        assert "error: system.network.0.bandwidth_gbps is 0.0; it must be a number greater" in done.err
        assert not list((tmp_path / "results").glob("*"))


def test_a_sweep_over_axes_answers_with_the_optimum_against_them(tmp_path: Path) -> None:
    axes = "space.axes={system.network.0.bandwidth_gbps:[25,100],model.seq_len:[512,1024]}"
    done = sweep(tmp_path, axes, "study=axes", "memory_cap=200MB")
    lines = done.out.splitlines()
    assert lines[:3] == [
        f"tiny on torus_4x4, 16 NPUs, {REFERENCE}: the optimum against",
        "  model.seq_len",
        "  system.network.0.bandwidth_gbps",
    ]
    start, under = lines.index("without a memory cap"), lines.index("under 200 MB")
    assert under == start + 5
    assert lines[start + 1].split() == [
        *["seq_len=512", "bandwidth_gbps=25", "8", "2", "1", "1", "no", "no", "932.4", "µs"],
        *["111.15", "MB", "43.4", "76.0", "43.0", "17.57M"],
    ]
    assert "runner-up" not in done.out
    assert "120 points: 120 ok" in lines
    answer = run_ok("best", "results/axes", "memory_cap=200MB", cwd=tmp_path).out
    assert answer.startswith("\n".join(lines[: lines.index("120 points: 120 ok") + 1]))


def test_a_sweep_imports_no_pandas(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "dse.sweep", *TINY, "results_dir=results"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert imported & {"pyarrow.lib", "pandas.core.frame", "ray", "optuna", "matplotlib"} == {"pyarrow.lib"}


def test_a_command_makes_frames_of_pandas_where_it_is_asked_to() -> None:
    program = """
import sys
from dse.base.start import begin_command
begin_command()
import pyarrow
table = pyarrow.table({"a": [1]})
print("pandas" in sys.modules, table.to_pandas()["a"].tolist(), "pandas" in sys.modules)
print(pyarrow.array(table.to_pandas()["a"]).to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False [1] True\n[1]\n"
