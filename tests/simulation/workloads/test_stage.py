"""A checkout of STAGE as a generator, against a stand-in, and for real where the environment names one."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from outside import all_end, real_stage, stage_checkout

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.simulation.workloads import (
    ImportedWorkload,
    NativeGenerator,
    StageGenerator,
    WorkloadGenerator,
    WorkloadSettings,
    generate,
    make_generator,
)
from dse.studies.points import evaluate
from dse.testing.builders import design_point
from dse.testing.workloads import MODEL, ReferenceSteps, WorkloadContract


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


class TestGenerators(WorkloadContract, ReferenceSteps):
    @pytest.fixture(params=["native", "stage, stand-in", "stage, real"])
    def generator(self, request: pytest.FixtureRequest, tmp_path: Path) -> WorkloadGenerator:
        if request.param == "native":
            return NativeGenerator()
        return real_stage() if request.param == "stage, real" else StageGenerator(stage_checkout(tmp_path))


def test_every_size_and_switch_reaches_the_checkout(tmp_path: Path, temporary: Path) -> None:
    model = ModelSpec("odd", 48, 40, 16, 64, 4, 8, 12, 3)
    strategy = Strategy(dp=2, tp=2, sp=2, pp=2, weight_sharded=True, activation_recompute=True)
    got = StageGenerator(stage_checkout(tmp_path)).generate(model, strategy, "stage")
    expected = generate(model, strategy)
    for rank in range(expected.rank_count):
        assert got.trace_bytes(rank) == expected.trace_bytes(rank)
    files = got.export(tmp_path / "again")
    assert len(files) == 17
    assert list(temporary.iterdir()) == []


def test_the_checkout_may_have_another_entry_file_and_interpreter(tmp_path: Path) -> None:
    checkout = stage_checkout(tmp_path, entry="generate.py")
    generator = StageGenerator(checkout, "generate.py", sys.executable)
    assert generator.generate(MODEL, Strategy(dp=2), "stage").rank_count == 2


def test_the_checkout_is_read_from_the_current_folder_and_not_written(tmp_path: Path) -> None:
    checkout = stage_checkout(tmp_path, "tables")
    before = sorted(checkout.rglob("*"))
    StageGenerator(checkout).generate(MODEL, Strategy(dp=2), "stage")
    assert sorted(checkout.rglob("*")) == before


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("crash", "STAGE ended with exit status 1; .*RuntimeError: the stand-in crashes as told; its log is"),
        ("missing", r"STAGE ended with exit status 0 but wrote no trace.1.et \(1 of 3 files are missing"),
        ("nothing", r"wrote no trace.0.et \(3 of 3 files are missing; it wrote nothing\)"),
        ("garbage", "STAGE wrote what cannot be read: rank 0: "),
    ],
)
def test_a_checkout_that_fails_is_a_simulation_error(
    tmp_path: Path, temporary: Path, variant: str, message: str
) -> None:
    generator = StageGenerator(stage_checkout(tmp_path, variant))
    with pytest.raises(SimulationError, match=message) as error:
        generator.generate(MODEL, Strategy(dp=2), "stage")
    log = re.search(r"its log is (\S+)$", str(error.value))
    assert log
    assert Path(log[1]).read_text().startswith(f"generating with {sys.executable}\n")
    assert list(temporary.iterdir()) == [Path(log[1])]


def test_the_options_of_2026_need_the_entry_file_that_translates_them(
    tmp_path: Path, temporary: Path
) -> None:
    checkout = stage_checkout(tmp_path, "newer")
    generator = StageGenerator(checkout)
    with pytest.raises(InputError) as error:
        generator.generate(MODEL, Strategy(dp=2), "stage")
    assert str(error.value) == (
        "workload.entry is 'main.py', which does not know --comm_group_file, --din, --dout: dse writes the "
        "options of STAGE of March 2025 (branch recomp), and that of 2026 has others; copy "
        "external/stage/main_dse.py, which translates them, into the checkout and write "
        "workload.entry=main_dse.py"
    )
    shutil.copy(Path(__file__).parents[3] / "external" / "stage" / "main_dse.py", checkout)
    model = replace(MODEL, input_dim=MODEL.output_dim)
    made = replace(generator, entry="main_dse.py").generate(model, Strategy(dp=2, tp=2), "stage")
    own = generate(model, Strategy(dp=2, tp=2))
    assert [made.counts(rank) for rank in range(4)] == [own.counts(rank) for rank in range(4)]
    assert made.groups_json() == own.groups_json()
    assert list(temporary.iterdir()) == []


def test_the_entry_file_for_2026_refuses_two_vocabularies(tmp_path: Path) -> None:
    checkout = stage_checkout(tmp_path, "newer")
    shutil.copy(Path(__file__).parents[3] / "external" / "stage" / "main_dse.py", checkout)
    generator = StageGenerator(checkout, "main_dse.py")
    message = "model.input_dim is 7 and output_dim 64; STAGE of 2026 has one, --dvocal"
    with pytest.raises(SimulationError, match=message):
        generator.generate(replace(MODEL, input_dim=7, output_dim=64), Strategy(dp=2), "stage")


def test_a_hang_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    monkeypatch.setenv("STANDIN_PIDS", str(pids))
    generator = StageGenerator(stage_checkout(tmp_path, "hang"), timeout_s=4)
    with pytest.raises(SimulationTimeout, match=r"STAGE ran longer than 4 s .*workload.timeout_s"):
        generator.generate(MODEL, Strategy(dp=16), "stage")
    assert all_end([int(pids.read_text())])
    hasty = replace(generator, timeout_s=0.2)
    row = evaluate(design_point(Strategy(dp=16), model=MODEL, generator=hasty))
    assert row.status == "timeout"


def test_a_row_is_that_of_our_own_generator(tmp_path: Path) -> None:
    ours = evaluate(design_point(Strategy(dp=16)))
    staged = design_point(Strategy(dp=16), generator=StageGenerator(stage_checkout(tmp_path)))
    theirs = evaluate(staged)
    assert theirs.key != ours.key  # what generates a workload is an input
    # ranks of imported traces are told apart, even if they do the same
    # and what operations a model needs is not known of them
    same = replace(ours, rank_classes=16, mfu_pct=None, key=theirs.key, options=theirs.options)
    assert theirs == same


def test_what_is_missing_is_an_input_error(tmp_path: Path) -> None:
    checkout = stage_checkout(tmp_path)
    wrong = {
        "workload.checkout is '.*nowhere'; there is no such folder": StageGenerator(tmp_path / "nowhere"),
        "workload.entry is 'run.py'; .*checkout has no such file": StageGenerator(checkout, "run.py"),
        "workload.python is 'python9'; there is no such file": StageGenerator(checkout, python="python9"),
    }
    for message, generator in wrong.items():
        with pytest.raises(InputError, match=message):
            generator.generate(MODEL, Strategy(dp=2), "stage")


def test_generators_from_settings(tmp_path: Path) -> None:
    assert isinstance(make_generator(WorkloadSettings("native", "stage")), NativeGenerator)
    settings = WorkloadSettings("stage", "stage", tmp_path, "run.py", "python3", 7)
    assert make_generator(settings) == StageGenerator(tmp_path, "run.py", "python3", 7)
    with pytest.raises(InputError, match=r"workload.checkout is null; workload=stage needs"):
        make_generator(WorkloadSettings("stage", "stage"))


def test_a_workload_of_a_checkout_keeps_its_traces(tmp_path: Path) -> None:
    work = StageGenerator(stage_checkout(tmp_path)).generate(MODEL, Strategy(dp=2), "stage")
    assert isinstance(work, ImportedWorkload)
    assert work.traces[0][:5] == bytes.fromhex("2412220a06")
