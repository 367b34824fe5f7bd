"""A checkout of STAGE as a generator, against a stand-in, and for real where the environment names one."""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from outside import all_end, real_stage, stage_checkout

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy, Strategy
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


def _like_2026(tmp_path: Path, **options: Any) -> StageGenerator:
    return StageGenerator(stage_checkout(tmp_path, "newer"), options=options)


ONE_VOCABULARY = replace(MODEL, input_dim=MODEL.output_dim)


def test_a_checkout_of_2026_is_found_by_its_help_and_gets_its_own_options(
    tmp_path: Path, temporary: Path
) -> None:
    made = _like_2026(tmp_path).generate(ONE_VOCABULARY, Strategy(dp=2, tp=2), "stage")
    own = generate(ONE_VOCABULARY, Strategy(dp=2, tp=2))
    assert [made.counts(rank) for rank in range(4)] == [own.counts(rank) for rank in range(4)]
    assert made.groups_json() == own.groups_json()
    assert list(temporary.iterdir()) == []


def test_ranks_of_experts_are_those_of_dp(tmp_path: Path) -> None:
    generator = _like_2026(tmp_path, ep=4, kvhead=2, micro_batch=2, tpsp=False)
    assert generator.generate(ONE_VOCABULARY, Strategy(dp=8), "stage").rank_count == 8
    message = "workload.options.ep 4 does not divide dp 2, whose ranks hold experts"
    with pytest.raises(InfeasibleStrategy, match=message):
        generator.generate(ONE_VOCABULARY, Strategy(dp=2), "stage")


def test_a_row_depends_on_the_options(tmp_path: Path) -> None:
    plain = _like_2026(tmp_path)
    assert replace(plain, options={"ep": 2}).identity() == {**plain.identity(), "options.ep": "2"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kvheads": 2}, r"options.kvheads: --help of the checkout does not list --kvheads; it lists ep, "),
        ({"kvheads": 2}, r"ep, kvhead, micro_batch, tpsp; did you mean 'kvhead'\?"),
        ({"tp": 2}, "workload.options.tp is set, but dse writes --tp from the model and the strategy"),
        ({"ep": 0}, "workload.options.ep is 0; it must be an integer of at least 1"),
        ({"ep": "all"}, "workload.options.ep is 'all'; it must be an integer of at least 1"),
    ],
)
def test_options_that_the_checkout_lacks_or_that_contradict_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _like_2026(tmp_path, **options).generate(ONE_VOCABULARY, Strategy(dp=2), "stage")


def test_two_vocabularies_are_refused_where_a_checkout_has_one(tmp_path: Path) -> None:
    message = "model.input_dim is 7 and model.output_dim 64; this checkout of STAGE has one vocabulary"
    with pytest.raises(InputError, match=message):
        _like_2026(tmp_path).generate(replace(MODEL, input_dim=7, output_dim=64), Strategy(dp=2), "stage")


def test_a_program_without_the_options_of_stage_is_refused(tmp_path: Path) -> None:
    checkout = stage_checkout(tmp_path)
    (checkout / "other.py").write_text("print('usage: other [--dp DP] [--help]')\n")
    with pytest.raises(InputError) as error:
        StageGenerator(checkout, "other.py").generate(MODEL, Strategy(dp=2), "stage")
    assert str(error.value) == (
        "workload.entry is 'other.py', whose --help does not list --activation_recompute, --batch, --dff, "
        "--dmodel, --head, --num_stacks, --output_dir, --output_name, --pp, --seq, --sp, --tp, "
        "--weight_sharded, --din, --dout; dse knows STAGE of March 2025 and of 2026"
    )


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
    # what operations a model needs is not known of imported traces
    same = replace(ours, mfu_pct=None, key=theirs.key, options=theirs.options)
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
