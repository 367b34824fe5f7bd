"""Rows of logs: the time of a step from each kind of figure, degrees that follow, contradictions by name."""

from __future__ import annotations

from pathlib import Path

import log_samples
import pytest

from dse.base.errors import InputError
from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.job import Job
from dse.prediction.frameworks.logs.figures import READERS, read_log
from dse.prediction.frameworks.logs.jobs import job_columns
from dse.prediction.frameworks.logs.rows import measured_row, model_columns, rows_csv
from dse.prediction.measured.cases import case_of
from dse.prediction.measured.hardware import framework_of
from dse.prediction.measured.row_models import model_of
from dse.prediction.measured.rows import MeasuredRow, published_rows, read_rows
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.jobs import with_listed_stages

LLAMA = {"layers": 32, "hidden": 4096, "heads": 32, "seq": 8192, "gpu": "h100_sxm", "gpus": 8}
JOB = {**LLAMA, "tp": 2, "pp": 1, "gbs": 8}


def row_of(tmp_path: Path, text: str, **columns: object) -> MeasuredRow:
    path = tmp_path / "run7.log"
    path.write_text(text)
    return measured_row(read_log(path), {**JOB, **columns})


def test_tokens_of_a_gpu_become_the_time_of_a_step(tmp_path: Path) -> None:
    """8 sequences of 8192 tokens are 8192 tokens of each GPU, at 1974 tokens per second."""
    row = row_of(tmp_path, log_samples.torchtitan(), mbs=1)
    assert row.iter_s == pytest.approx(8192 / 1974)
    assert (row.id, row.source, row.dp, row.microbatches) == ("run7", "torchtitan", 4, 2)
    assert (row.measured_memory_gib, row.measured_tokens_s_gpu) == (66.0, pytest.approx(1974))
    assert row.measured_tflops_per_gpu == 314.71
    assert row.iter_s_provenance == "log of torchtitan: median of 4 after 2, 4 to 4.3 s"


def test_samples_of_all_gpus_become_the_time_of_a_step(tmp_path: Path) -> None:
    row = row_of(tmp_path, log_samples.deepspeed(), gbs=32)
    assert row.iter_s == pytest.approx(2 / (1 / 4.2 + 1 / 4.1))
    assert row.measured_tokens_s_gpu == pytest.approx(32 * 8192 / 8 / row.iter_s)


def test_the_log_tells_the_batch(tmp_path: Path) -> None:
    columns = {**JOB, "gbs": None}
    assert row_of(tmp_path, log_samples.megatron_lm(), **columns).gbs == 128
    with pytest.raises(InputError, match=r"run7\.log: gbs is 8, but the log says 128 sequences a step"):
        row_of(tmp_path, log_samples.megatron_lm())


def test_given_columns_stay(tmp_path: Path) -> None:
    row = row_of(tmp_path, log_samples.maxtext(), id="mine", source="ours", cp=2, dp=2, notes="compile")
    assert (row.id, row.source, row.cp, row.dp, row.notes) == ("mine", "ours", 2, 2, "compile")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"seq": None, "gpu": None}, "seq, gpu missing: give seq=…, gpu=…"),
        ({"hidden": None}, "hidden missing: give hidden=… or model=…"),
        ({"tp": None}, "tp missing: give tp=…"),
        ({"gbs": None}, "gbs missing: give gbs=…"),
        ({"tp": 3}, "gpus is 8, no multiple of tp x pp x cp = 3"),
        ({"dp": 2}, "dp is 2, but gpus 8 over tp x pp x cp = 2 is 4"),
        ({"mbs": 4}, "gbs is 8, no multiple of mbs x dp = 16"),
        (
            {"seq": 4096},
            "4096 tokens of a GPU in a step, but the log counts 8193; check gbs=8, seq=4096 and ",
        ),
    ],
)
def test_columns_that_lack_or_contradict_are_named(
    tmp_path: Path, columns: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as error:
        row_of(tmp_path, log_samples.maxtext(), **columns)
    assert str(error.value).startswith(f"{tmp_path / 'run7.log'}: ")
    assert message in str(error.value)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = [
        row_of(tmp_path, log_samples.torchtitan(), id="a", sp=True, gated=False, zero=0, ffn=14336),
        row_of(tmp_path, log_samples.deepspeed(), id="b", gbs=32, schedule="1f1b"),
    ]
    path = tmp_path / "rows.csv"
    path.write_text(rows_csv(rows))
    assert read_rows(path) == rows


def test_columns_of_a_job_are_predicted_as_the_job() -> None:
    """Of every published row that can be expressed, but for the count of layers that are computed again."""
    made = 0
    for row in published_rows():
        try:
            case = case_of(row)
        except InputError:
            continue
        columns = job_columns(Job(case.model, case.plan))
        where = {"hardware": row.hardware, "gpus_per_node": row.gpus_per_node}
        again = case_of(MeasuredRow(id=row.id, gpu=row.gpu, iter_s=1.0, **where, **columns))
        jobs = (Job(case.model, case.plan), Job(again.model, again.plan))
        assert with_listed_stages(jobs[0]) == with_listed_stages(jobs[1]), row.id
        made += 1
    assert made > 1150


def test_a_row_names_layers_that_are_computed_again_though_it_cannot_say_which() -> None:
    (model,) = [model for name, model in models_of_conf() if name == "llama3_8b"]
    columns = job_columns(Job(model, Plan(dp=8, recompute="full", recompute_layers=5)))
    assert (columns["recompute"], columns["recompute_num_layers"]) == ("full", 5)
    half = job_columns(Job(model, Plan(dp=4, pp=2, recompute="full", recompute_layers=8)))
    assert half["recompute"] == "full layer"


def test_the_source_of_a_log_names_its_framework() -> None:
    """For the predictor: DeepSpeed is Megatron's, and only notes tell what reduces gradients early."""
    shape = {**JOB, "id": "a", "iter_s": 1.0}
    for name in READERS:
        framework = {"deepspeed": "megatron-deepspeed", "accelerate": "torchtitan"}.get(name, name)
        assert framework_of(MeasuredRow(**shape, source=name))[0] == framework
    assert framework_of(MeasuredRow(**shape, source="megatron-lm")) == ("megatron-lm", False)
    early = MeasuredRow(**shape, source="megatron-lm", notes="overlap-grad-reduce")
    assert framework_of(early) == ("megatron-lm", True)


def test_columns_of_a_model_make_the_model_again() -> None:
    """Of every model of conf/model whose shape columns tell; its sequences and batch are those of the row."""
    made = 0
    for name, model in models_of_conf():
        if model.fidelity != "realistic":
            continue
        columns = {"id": name, **model_columns(model), "seq": model.seq_len, "gbs": model.batch_size}
        row = MeasuredRow(**columns, gpu="h100_sxm", gpus=8, iter_s=1.0)
        again = model_of(row, Plan(dp=8, micro_batch=1), [])
        same = ("num_layers", "d_model", "d_ff", "num_heads", "output_dim", "gated_mlp", "prediction_layers")
        assert [getattr(again, field) for field in same] == [getattr(model, field) for field in same], name
        assert (again.experts is None) == (model.experts is None), name
        if model.experts and again.experts:
            assert again.experts.count == model.experts.count
            assert again.experts.dense_layers == model.experts.dense_layers
        made += 1
    assert made > 20
