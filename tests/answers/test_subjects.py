"""All commands speak of the same point and the same cap of a study."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from command_lines import TINY, error_of, run_ok
from study_rows import failed_row, keyed

import dse
from dse.answers import Cap, study_cap, subjects
from dse.answers.fidelities import REFERENCE
from dse.commands import best
from dse.studies.store import StudyStore
from dse.studies.store.history import sweep_caps

STUDY = "results/tiny-torus_4x4"


def sweep(folder: Path, *arguments: str) -> str:
    return run_ok("sweep", *TINY, "space.sp=[1]", *arguments, cwd=folder).err


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep under 40 MB, of which dp 4, tp 4 is the best."""
    folder = tmp_path_factory.mktemp("capped")
    sweep(folder, "memory_cap=40MB")
    return folder


def test_every_command_names_the_same_point_under_the_cap_of_the_sweep(capped: Path) -> None:
    answer = json.loads(run_ok("best", STUDY, "--json", cwd=capped).out)
    assert (answer["memory_cap_bytes"], answer["best_under_cap"]["dp"]) == (40_000_000, 4)
    key = answer["best_under_cap"]["key"]
    quick = ("--json", "--no-switches")
    assert json.loads(run_ok("explain", STUDY, *quick, cwd=capped).out)["key"] == key
    varied = json.loads(run_ok("sensitivity", STUDY, *quick, cwd=capped).out)
    assert (varied["key"], varied["memory_cap_bytes"]) == (key, 40_000_000)
    assert key in run_ok("timeline", STUDY, cwd=capped).out
    compared = json.loads(run_ok("compare", STUDY, STUDY, "--json", cwd=capped).out)
    assert compared["first"]["memory_cap_bytes"] == 40_000_000
    assert compared["second"]["best_under_cap"]["key"] == key
    missed = json.loads(run_ok("regret", STUDY, f"truth={STUDY}", "--json", cwd=capped).out)
    assert [entry["memory_cap_bytes"] for entry in missed] == [None, 40_000_000]
    assert missed[1]["best_value"] == answer["best_under_cap"]["wall_time_ns"]
    run_ok("report", STUDY, "-o", "page.html", cwd=capped)
    assert "40.00 MB" in (capped / "page.html").read_text()
    top = json.loads(run_ok("best", STUDY, "top=1", "--json", cwd=capped).out)
    assert (top["memory_cap_bytes"], top["points"][0]["key"]) == (40_000_000, key)


def test_without_a_cap_they_name_the_best_of_all(capped: Path) -> None:
    key = json.loads(run_ok("best", STUDY, "--json", "--no-memory-cap", cwd=capped).out)["best"]["key"]
    for verb in ("explain", "sensitivity"):
        options = ("--json", "--no-switches", "--no-memory-cap")
        assert json.loads(run_ok(verb, STUDY, *options, cwd=capped).out)["key"] == key
    assert key in run_ok("timeline", STUDY, "--no-memory-cap", cwd=capped).out


def test_of_several_caps_the_latest_counts_even_if_nothing_had_to_be_computed(tmp_path: Path) -> None:
    sweep(tmp_path)
    sweep(tmp_path, "memory_cap=40MB")
    sweep(tmp_path, "memory_cap=40MB")
    store = StudyStore(tmp_path / STUDY)
    assert sweep_caps(store) == [80_000_000_000, 40_000_000]
    done = run_ok("best", STUDY, cwd=tmp_path)
    assert "under 40 MB" in done.out
    assert done.err == (
        "note: there were sweeps with memory caps of 40 MB and 80 GB; this is the cap of the latest, 40 MB: "
        "memory_cap asks for another\n"
    )
    assert study_cap(Cap(5, is_asked=True), store).size_bytes == 5


def test_a_study_without_provenance_has_a_cap_of_80_gb_unless_accelerators_say_otherwise(
    tmp_path: Path,
) -> None:
    assert study_cap(None, StudyStore(tmp_path)) == Cap(80_000_000_000, by_system=True)


def test_if_nothing_fits_the_best_without_a_cap_stands_for_the_group(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    store.append(keyed(8, 4))
    (subject,) = subjects(store, Cap(10**9, is_asked=True)).found
    assert subject.row is not None
    assert (subject.row.dp, subject.memory_cap_bytes) == (4, None)
    assert subject.note == (
        "nothing fits under 1 GB (the smallest peak memory is 67.02 GB): this is the best without a cap"
    )


@pytest.mark.parametrize(
    "verb", ["best", "explain", "timeline", "sensitivity", "report", "compare", "regret"]
)
def test_untracked_memory_is_a_note_and_an_error_if_a_cap_is_asked_for(
    untracked: Path, tmp_path: Path, verb: str
) -> None:
    study = str(untracked / STUDY)
    arguments = [study]
    arguments += {"compare": [study], "regret": [f"truth={study}"]}.get(verb, [])
    arguments += ["--no-switches"] if verb in ("explain", "sensitivity") else []
    done = run_ok(verb, *arguments, cwd=tmp_path)
    assert done.err == "note: system.track_local_memory is off, so the memory cap is ignored\n"
    assert "under" not in done.out
    assert error_of(verb, *arguments, "memory_cap=80GB", cwd=tmp_path) == (
        "memory_cap needs peak memories, and no point has one, because system.track_local_memory is off: "
        "turn it on and sweep again, or leave memory_cap out"
    )
    assert run_ok(verb, *arguments, "--no-memory-cap", cwd=tmp_path).err == ""


@pytest.fixture(scope="module")
def untracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("untracked")
    sweep(folder, "system.track_local_memory=false")
    return folder


def test_a_group_without_a_point_that_is_ok_is_left_out_with_a_note(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    store.append(
        [
            *keyed(8),
            failed_row("failed", "no memory").__class__(
                **{**vars(failed_row("failed", "no memory")), "model": "other", "key": "f" * 32}
            ),
        ]
    )
    answer = subjects(store)
    assert [subject.number for subject in answer.found] == [0]
    assert answer.notes == ["other on system1, 64 NPUs: no point is ok"]


def test_other_inputs_under_a_name_are_warned_of_and_answered_apart(tmp_path: Path) -> None:
    assert "warning" not in sweep(tmp_path)
    assert "warning" not in sweep(tmp_path, "space.tp=[1]")
    err = sweep(tmp_path, "model.num_layers=2")
    assert (
        "warning: study tiny-torus_4x4 holds points of other inputs: model.num_layers 4 -> 2; "
        "write study=NAME to keep them apart\n"
    ) in err
    err = sweep(tmp_path, "study=tiny-torus_4x4", "system=dgx16")
    assert "holds points of other inputs: system.name torus_4x4 -> dgx16; write study=NAME" in err
    out = run_ok("best", STUDY, cwd=tmp_path).out
    assert [line for line in out.splitlines() if line.endswith(f"NPUs, {REFERENCE}")] == [
        f"tiny (model.num_layers=2) on torus_4x4, 16 NPUs, {REFERENCE}",
        f"tiny (model.num_layers=4) on dgx16, 16 NPUs, {REFERENCE}",
        f"tiny (model.num_layers=4) on torus_4x4, 16 NPUs, {REFERENCE}",
    ]


def test_an_axis_that_grows_is_no_warning(tmp_path: Path) -> None:
    axis = "space.axes={{system.endpoint_delay_ns:[{}]}}"
    sweep(tmp_path, "study=axis", axis.format("10"))
    assert "warning" not in sweep(tmp_path, "study=axis", axis.format("10,20"))
    assert "system.endpoint_delay_ns 10|20 -> 30;" in sweep(tmp_path, "study=axis", axis.format("30"))


def test_systems_of_different_sizes_never_compete_unless_asked(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    store.append([*keyed(1, npus=16, wall_time_ns=20), *keyed(2, npus=64, wall_time_ns=10)])
    answer = subjects(store)
    assert [(subject.title, subject.row and subject.row.dp) for subject in answer.found] == [
        ("llama70b on system1, 16 NPUs", 1),
        ("llama70b on system1, 64 NPUs", 2),
    ]


def test_points_of_all_sizes_compete_if_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    specs = {"model_spec": '{"name":"llama70b"}', "system_spec": '{"name":"system1"}', "options": "{}"}
    rows = [*keyed(1, npus=16, wall_time_ns=20, **specs), *keyed(2, npus=64, wall_time_ns=10, **specs)]
    StudyStore.create(tmp_path).append(rows)
    assert best.main([str(tmp_path), "--mixed", "top=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:7] for line in lines if "NPUs" in line] == [
        ["1", "llama70b", "on", "system1,", "64", "NPUs", "2"],
        ["2", "llama70b", "on", "system1,", "16", "NPUs", "1"],
    ]


def test_several_groups_have_one_timeline_only_if_one_is_chosen(tmp_path: Path) -> None:
    sweep(tmp_path, "space.axes={model.num_layers:[2,4]}")
    assert error_of("timeline", STUDY, cwd=tmp_path) == (
        f"{STUDY} has several best points; choose with group=N (0: tiny (model.num_layers=2) on torus_4x4, "
        "16 NPUs; 1: tiny (model.num_layers=4) on torus_4x4, 16 NPUs) or point=KEY"
    )
    quick = ("group=1", "--json", "--no-switches")
    key = json.loads(run_ok("explain", STUDY, *quick, cwd=tmp_path).out)["key"]
    assert key in run_ok("timeline", STUDY, "group=1", cwd=tmp_path).out


def test_no_command_imports_a_command() -> None:
    package = Path(dse.__file__).parent
    commands = {}
    for file in (package / "commands").rglob("*.py"):
        tree = ast.parse(file.read_text())
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            name = ".".join(file.relative_to(package.parent).with_suffix("").parts)
            commands[name] = tree
    assert len(commands) >= 10
    for name, tree in commands.items():
        for node in ast.walk(tree):
            imported = []
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            assert not set(imported) & (set(commands) - {name}), name
