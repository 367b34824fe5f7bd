"""What an adversarial user tries: one line and exit code 2, nothing replaced, nothing half-written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok

SWEEP = ("system=torus_4x4", "model=tiny", "space.sp=[1]", "executor=local")
STUDY = "results/tiny-torus_4x4"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    run_ok("sweep", *SWEEP, cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        ("best", (STUDY, "csv=."), "csv is '.'; it must name a file"),
        ("best", (STUDY, "csv=results"), "csv is 'results'; it must name a file"),
        ("timeline", (STUDY, "-o", ""), "-o is empty; write -o FILE"),
        ("best", (STUDY, "--pareto", "cost=1"), "is not a number for each row"),
        ("best", (STUDY, "--pareto", "cost=null"), "is not a number for each row"),
        ("best", (STUDY, "--pareto", "cost=status"), "is not a number for each row"),
        ("best", (STUDY, "where=tp = 'x'"), "a text is compared with a number"),
        ("best", (STUDY, "where=model > 3"), "a text is compared with a number"),
        ("best", (STUDY, "where=tp in ('a')"), "a text is compared with a number"),
        ("best", (STUDY, "top=x"), "top is 'x'; it must be a whole number of at least 1"),
        (
            "best",
            (STUDY, "--tops", "3"),
            "unknown option --tops; allowed are KEY=VALUE, --help, --no-",
        ),
        ("explain", (STUDY, "items=-3"), "items is '-3'; it must be a whole number of at least 0"),
        *(
            (verb, ("tiny-torus_4x4",), f"No such file or directory; did you mean {STUDY}?")
            for verb in ("best", "explain", "timeline", "sensitivity", "report")
        ),
        ("sweep", (*SWEEP, "--dryrun"), "unknown option --dryrun; allowed are KEY=VALUE, --help, "),
        ("sweep", (*SWEEP, "--dryrun"), "; did you mean '--dry-run'?"),
        ("sweep", (*SWEEP, "search=optuna", "search.seed=-1"), "search.seed is -1; it must be an integer"),
        ("sweep", (*SWEEP, "search=optuna", "search.seed=99999999999"), "search.seed is 99999999999"),
        ("sweep", ("-m", *SWEEP, "model.seq_len=glob(*)"), "is no list of values; write KEY=A,B,C"),
        ("sweep", ("-m", *SWEEP, "model.seq_len=interval(1,2)"), "is no list of values; write KEY=A,B,C"),
        (
            "sweep",
            ("study=x", "space.axes={model:['../model/tiny']}"),
            "model=../model/tiny: no such file",
        ),
        ("sweep", (*SWEEP, f"results_dir={'x' * 300}"), "cannot be used: File name too long"),
    ],
)
def test_one_line(folder: Path, verb: str, arguments: tuple[str, ...], message: str) -> None:
    before = sorted(folder.rglob("*"))
    assert message in error_of(verb, *arguments, cwd=folder)
    assert sorted(folder.rglob("*")) == before


def test_what_a_study_writes_by_default_is_beside_its_folder(folder: Path) -> None:
    for verb, suffix in (("report", ".html"), ("timeline", ".trace.json")):
        before = set(folder.rglob("*"))
        run_ok(verb, STUDY, cwd=folder)
        (new,) = set(folder.rglob("*")) - before
        assert new == folder / f"{STUDY}{suffix}"
        new.unlink()


def test_no_row_is_no_point(folder: Path) -> None:
    assert run_ok("best", STUDY, "top=1", "where=tp = 999", cwd=folder).out == "no point is ok\n"
    assert run_ok("best", STUDY, f"top={'9' * 30}", cwd=folder).out.count("\n") == 3 + 2 + 10 + 2


def test_a_link_stays_a_link_and_a_device_a_device(folder: Path, tmp_path: Path) -> None:
    link, target = tmp_path / "link.csv", tmp_path / "target.csv"
    target.write_text("old")
    link.symlink_to(target)
    run_ok("best", STUDY, f"csv={link}", cwd=folder)
    assert link.is_symlink()
    assert target.read_text().startswith("group,label,")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    run_ok("best", STUDY, f"csv={pipe}", cwd=folder)
    assert reader.communicate()[0].startswith(b"group,label,")
    assert pipe.is_fifo()


def test_numbers_at_the_ends_of_floating_point_are_no_crash(folder: Path) -> None:
    for value in ("system.peak_tflops=1e-311", "system.memory_bandwidth_gbps=1e-320"):
        done = run_dse("sweep", *SWEEP, value, "search.prune=true", "study=extreme", cwd=folder)
        assert done.code in (0, 2)
        assert "Traceback" not in done.err
    objective = 'search.objectives=["10**300*wall_time_ns*wall_time_ns"]'
    done = run_dse("sweep", *SWEEP, "search=optuna", "search.samples=5", objective, "study=huge", cwd=folder)
    assert "Traceback" not in done.err


def test_a_reader_that_has_seen_enough_is_no_error(folder: Path) -> None:
    line = f"{sys.executable} -m dse best {STUDY} --json | true"
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_cap_holds_where_only_an_axis_turns_the_tracker_on(folder: Path) -> None:
    axis = "space.axes={system.track_local_memory:[true]}"
    out = run_ok(
        "sweep", *SWEEP, "system.track_local_memory=false", axis, "memory_cap=130MB", "study=axis", cwd=folder
    ).out
    assert "under 130 MB: the best fits with " in out


def test_a_folder_for_provenance_that_is_a_file_is_said_before_the_sweep(tmp_path: Path) -> None:
    study = tmp_path / STUDY
    study.mkdir(parents=True)
    (study / "_sweeps").write_text("")
    assert "cannot write" in error_of("sweep", *SWEEP, cwd=tmp_path)
    assert sorted(path.name for path in study.iterdir()) == ["_sweeps"]


def test_what_nobody_can_explain_is_said(folder: Path) -> None:
    out = run_ok("explain", STUDY, "memory_cap=1B", "--no-switches", cwd=folder).out
    assert "nothing fits under 1 B" in out


def test_a_message_shows_the_ends_of_a_word_that_is_too_long(folder: Path) -> None:
    message = error_of("best", STUDY, f"where=dp < {'9' * 1900}", cwd=folder)
    assert "the number is too large" in message
    assert f"'dp < {'9' * 100}…{'9' * 20}'" in message
    assert len(message) < 600


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "a: &a [*a]", "configuration: !!timestamp x", "- 1", "points: 3"]
)
def test_a_study_whose_provenance_is_hostile_can_still_be_read(
    folder: Path, tmp_path: Path, text: str
) -> None:
    study = tmp_path / "study"
    shutil.copytree(folder / STUDY, study)
    for path in (study / "_sweeps").glob("*.yaml"):
        path.write_text(text)
    for verb in ("best", "status", "report"):
        assert run_dse(verb, study, cwd=tmp_path).code == 0
