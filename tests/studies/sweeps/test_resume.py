"""A sweep computes what its study lacks, and nothing else; nobody's rows are lost or doubled."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from command_lines import TINY, Done, error_of, run_ok

from dse.answers.fidelities import REFERENCE
from dse.studies.store import StudyRow, StudyStore, as_rows

STUDY = "tiny-torus_4x4"
SWEEP = (*TINY, "results_dir=results")


def sweep(folder: Path, *arguments: str) -> Done:
    return run_ok("sweep", *SWEEP, *arguments, cwd=folder)


def store_of(folder: Path, study: str = STUDY) -> StudyStore:
    return StudyStore(folder / "results" / study)


def rows_of(folder: Path, study: str = STUDY) -> list[StudyRow]:
    return sorted(as_rows(store_of(folder, study).read_table()), key=lambda row: row.key or "")


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_second_run_computes_nothing_and_touches_nothing(tmp_path: Path) -> None:
    first = sweep(tmp_path)
    before = snapshot(tmp_path)
    second = sweep(tmp_path)
    assert snapshot(tmp_path) == before
    assert second.out == f"30 of 30 points were in the study already\n\n{first.out}"


def test_more_values_of_an_axis_add_their_points_only(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    before = {row.key: row for row in rows_of(tmp_path)}
    done = sweep(tmp_path)
    assert done.out.startswith("10 of 30 points were in the study already\n")
    after = {row.key: row for row in rows_of(tmp_path)}
    assert len(after) == 30
    assert before.items() <= after.items()


def test_a_sweep_answers_for_its_own_points_although_the_study_has_more(tmp_path: Path) -> None:
    sweep(tmp_path)
    out = sweep(tmp_path, "space.dp=[1]", "space.tp=[4]").out
    assert out.startswith("2 of 2 points were in the study already\n")
    assert "2 points: 2 ok" in out
    assert len(rows_of(tmp_path)) == 30


def test_another_input_is_another_point(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    sweep(tmp_path, "space.sp=[1]", "model.seq_len=1024")
    sweep(tmp_path, "space.sp=[1]", "system.endpoint_delay_ns=11")
    assert len(rows_of(tmp_path)) == 30
    titles = [
        line
        for line in run_ok("best", f"results/{STUDY}", cwd=tmp_path).out.splitlines()
        if line.endswith("(fidelity=stage)")
    ]
    assert titles == [
        f"tiny (model.seq_len=512) on torus_4x4, 16 NPUs, {REFERENCE}",
        f"tiny (model.seq_len=1024) on torus_4x4, 16 NPUs, {REFERENCE}",
    ]


def test_any_field_can_be_an_axis_faults_and_slow_npus_too(tmp_path: Path) -> None:
    fault = "[{source:0,destination:1,bandwidth_factor:0.5}]"
    sweep(
        tmp_path,
        "system.network_model=congestion_aware",
        f"space.axes={{system.faults:[[],{fault}],model.seq_len:[512,1024],strategy.sp:[1]}}",
        "space.constraints=['dp*tp*sp*pp == npus','tp <= 4','strategy.tp * model.seq_len <= 2048']",
        "study=axes",
    )
    rows = rows_of(tmp_path, "axes")
    assert len(rows) == 2 * (6 + 4)
    assert {row.status for row in rows} == {"ok", "deadlock"}  # a slow link may end in the known deadlock
    assert all(row.status == "ok" for row in rows if '"faults":[]' in (row.system_spec or ""))
    best = run_ok("best", "results/axes", cwd=tmp_path).out
    assert "    with system.faults=[]" in best


def test_models_and_systems_are_axes(tmp_path: Path) -> None:
    done = run_ok(
        "sweep",
        "space.axes={model:[tiny,llama70b],system:[torus_4x4,dgx16]}",
        "model.num_layers=4",
        "results_dir=results",
        "space.sp=[1]",
        cwd=tmp_path,
    )
    study = "tiny+llama70b-torus_4x4+dgx16"
    assert done.out.endswith(f"\nstored in results/{study}\n")
    rows = rows_of(tmp_path, study)
    assert len(rows) == 40
    assert {(row.model, row.system) for row in rows} == {
        (model, system) for model in ("tiny", "llama70b") for system in ("torus_4x4", "dgx16")
    }


def test_m_is_one_study_for_each_combination(tmp_path: Path) -> None:
    arguments = ("model=tiny,llama70b", "system=torus_4x4,dgx16", "-m", "model.num_layers=4", "space.sp=[1]")
    done = run_ok("sweep", *arguments, "results_dir=results", cwd=tmp_path)
    studies = ["tiny-torus_4x4", "tiny-dgx16", "llama70b-torus_4x4", "llama70b-dgx16"]
    assert [line for line in done.out.splitlines() if line.startswith("stored in ")] == [
        f"stored in results/{study}" for study in studies
    ]
    assert [len(rows_of(tmp_path, study)) for study in studies] == [10] * 4


def test_the_lab_is_an_experiment(tmp_path: Path) -> None:
    out = run_ok("sweep", "experiment=lab", "--dry-run", "results_dir=results", cwd=tmp_path).out
    assert "224 points, 0 of them in the study" in out


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    before = snapshot(tmp_path)
    out = sweep(tmp_path, "--dry-run", "space.constraints=['dp*tp*sp*pp == npus','tp <= 4']").out
    assert snapshot(tmp_path) == before
    assert out.splitlines()[:5] == [
        f"study results/{STUDY}",
        "  686 combinations",
        "  656 removed by dp*tp*sp*pp == npus",
        "  6 removed by tp <= 4",
        "  24 points, 6 of them in the study",
    ]
    assert out.splitlines()[5].startswith("  time on this machine for 18 missing ones: ")


def test_the_optimum_of_a_pruned_sweep_is_that_of_the_whole(tmp_path: Path) -> None:
    lab = ("sweep", "memory_cap=60GB", "results_dir=results")
    whole = run_ok(*lab, "study=whole", cwd=tmp_path).out
    pruned = run_ok(*lab, "study=pruned", "search.prune=true", cwd=tmp_path).out
    assert len(rows_of(tmp_path, "pruned")) < len(rows_of(tmp_path, "whole")) == 56
    assert "pruned " in pruned

    def best(out: str) -> list[str]:
        return [line for line in out.splitlines() if line.startswith("  best")]

    assert best(pruned) == best(whole)


def test_failed_points_are_computed_again_when_asked_for(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    store = store_of(tmp_path)
    (row, *others) = rows_of(tmp_path)
    for part in store.parts():
        part.unlink()
    failed = dataclasses.replace(row, status="failed", reason="its process was killed", wall_time_ns=None)
    store.append([failed, *others])
    assert "1 failed" in sweep(tmp_path, "space.sp=[1]").out
    assert "9 of 10 points were" in sweep(tmp_path, "space.sp=[1]", "recompute=[failed]").out
    assert rows_of(tmp_path) == sorted([row, *others], key=lambda row: row.key or "")


def test_two_sweeps_at_a_time_into_one_study_neither_lose_nor_double_a_row(tmp_path: Path) -> None:
    values = ",".join(map(str, range(400, 420)))
    space = (f"space.axes={{system.peak_tflops:[{values}]}}", "executor=local")
    line = [sys.executable, "-m", "dse.sweep", *SWEEP, *space]
    subsets = [("space.sp=[1,2,4]",), ("space.sp=[2,4,8,16]",), ()]
    processes = [
        subprocess.Popen([*line, *subset], cwd=tmp_path, stdout=subprocess.DEVNULL) for subset in subsets
    ]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    sweep(tmp_path, *space, "study=alone")
    together = [dataclasses.replace(row, study="alone") for row in rows_of(tmp_path)]
    assert together == rows_of(tmp_path, "alone")
    assert len(together) == 600
    store_of(tmp_path).compact()
    assert store_of(tmp_path).count() == 600


def test_a_corrupt_part_is_named_and_its_rows_come_back(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    (first,) = store_of(tmp_path).parts()
    sweep(tmp_path)
    whole = rows_of(tmp_path)
    (part,) = store_of(tmp_path).parts()
    assert part != first
    content = bytearray(part.read_bytes())
    content[content.index((whole[5].key or "").encode())] ^= 1
    part.write_bytes(content)
    for verb, arguments in (("sweep", SWEEP), ("best", (f"results/{STUDY}",))):
        error = error_of(verb, *arguments, cwd=tmp_path)
        assert part.name in error
        assert "is corrupt" in error
        assert "move it away and run the sweep again" in error
    assert part.read_bytes() == content
    part.rename(tmp_path / "damaged")
    sweep(tmp_path)
    assert rows_of(tmp_path) == whole


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB: a busy machine writes many small parts, and each of them must have room."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_keeps_what_is_stored(small_disk: Path) -> None:
    sweep(small_disk, "space.sp=[1]")
    before = rows_of(small_disk)
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(b"\0" * 512)
            except OSError:
                break
    error = error_of("sweep", *SWEEP, "executor=local", cwd=small_disk)
    assert "No space left on device" in error
    assert str(Path("results") / STUDY) in error
    assert rows_of(small_disk) == before
    filler.unlink()
    sweep(small_disk)
    assert len(rows_of(small_disk)) == 30


def test_a_disk_that_cannot_be_written_is_said_before_the_sweep(small_disk: Path) -> None:
    sweep(small_disk, "space.sp=[1]")
    before = snapshot(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    error = error_of("sweep", *SWEEP, cwd=small_disk)
    assert "Read-only file system" in error
    assert run_ok("best", f"results/{STUDY}", cwd=small_disk).out
    assert snapshot(small_disk) == before
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)


def test_every_sweep_leaves_its_provenance(tmp_path: Path) -> None:
    sweep(tmp_path, "space.sp=[1]")
    sweep(tmp_path, "space.sp=[1]")
    sweep(tmp_path, "space.sp=[1,2]")
    files = store_of(tmp_path).sweeps()
    assert len(files) == 2
    about = yaml.safe_load(files[1].read_text())
    assert about["command"] == ["python", "-m", "dse.sweep", *SWEEP, "space.sp=[1,2]"]
    assert about["configuration"]["space"]["sp"] == [1, 2]
    assert about["versions"]["dse"]
    assert about["machine"]["cores"] >= 1
    assert sorted(about) == ["command", "configuration", "machine", "points", "started", "versions"]
    assert about["points"] == {"planned": 18}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model=tiny,llama70b",), "add -m for one sweep each"),
        (("space.axes={model:[tiny,nothing]}",), "model 'nothing' is unknown"),
        (("space.axes={model:tiny}",), "space.axes.model"),
        (("space.axes={system.network.9.bandwidth_gbps:[1]}",), "space.axes.system.network.9"),
        (("space.axes={system.network.0.bandwith_gbps:[1]}",), "did you mean 'bandwidth_gbps'"),
        (("executor=local", "executor.address=auto"), "write executor=ray too"),
        (("search=optuna", "search.sampler=best"), "allowed are nsga2, tpe"),
        (("search.budgets=['dp <= 1']",), "write search=optuna too"),
        (("recompute=[ok]",), "recompute is 'ok'; allowed are failed, timeout"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of("sweep", "system=torus_4x4", "results_dir=results", *arguments, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
