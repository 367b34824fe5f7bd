"""Options that Megatron-LM had, or that Megatron-DeepSpeed has: they count as what they mean."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.job import Document, InexpressibleJobError
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.frameworks.logs.jobs import job_columns
from dse.prediction.frameworks.reading import read_document
from dse.prediction.steps.plan import Plan

LLAMA = (
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--max-position-embeddings 4096 --ffn-hidden-size 14336 --swiglu --vocab-size 32000 --bf16 "
    "--micro-batch-size 1 --global-batch-size 64"
)


def _reading(options: str, npus: int = 32, layers: int = 32) -> Reading:
    line = f"{LLAMA} {options}".replace("--num-layers 32", f"--num-layers {layers}")
    document = read_document(line.split(), "megatron-lm")
    return read_job(Document(dict(document.settings), "megatron-lm", npus=npus))


def _plan(options: str, npus: int = 32, layers: int = 32) -> Plan:
    reading = _reading(options, npus, layers)
    assert reading.job is not None, (reading.broken, reading.no_job)
    return reading.job.plan


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ("--fp8-hybrid", "precision", "fp8_delayed"),
        ("--fp8-e4m3", "precision", "fp8_delayed"),
        ("--use-flash-attn", "attention", "flash"),
        ("--use-flash-attn --attention-backend unfused", "attention", "unfused"),
        (
            "--use-custom-fsdp --ckpt-format fsdp_dtensor "
            "--data-parallel-sharding-strategy optim_grads_params",
            "weight_sharded",
            True,
        ),
        ("--use-precision-aware-optimizer --exp-avg-dtype fp8 --exp-avg-sq-dtype fp8", "optimizer_bytes", 6),
        ("--use-precision-aware-optimizer --exp-avg-dtype bf16", "optimizer_bytes", 10),
        ("--optimizer sgd", "optimizer_bytes", 8),
        ("--optimizer adam", "optimizer_bytes", None),
    ],
)
def test_an_older_option_counts_as_what_replaces_it(options: str, field: str, value: object) -> None:
    assert getattr(_plan(options), field) == value


@pytest.mark.parametrize(
    ("framework", "key"), [("megatron-lm", "--optimizer"), ("megatron-bridge", "optimizer.optimizer")]
)
def test_sgd_is_written_as_sgd_though_moments_in_bf16_take_as_many_bytes(framework: str, key: str) -> None:
    moments = "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"
    written = {}
    for options in ("--optimizer sgd", moments):
        job = _reading(f"{options} --use-distributed-optimizer").job
        assert job is not None
        assert job.plan.optimizer_bytes == 8
        named = replace(job, model=replace(job.model, name="llama3_8b"))
        settings = write_job(named, framework, nearest=True).settings
        kinds = [settings[name] for name in settings if "exp" in name and "avg" in name]
        written[options] = (settings.get(key), kinds)
    assert written == {"--optimizer sgd": ("sgd", []), moments: (None, ["bf16", "bf16"])}


def test_a_framework_that_does_not_choose_the_optimizer_lacks_sgd() -> None:
    job = _reading("--optimizer sgd").job
    assert job is not None
    assert job_columns(job)["optimizer_detail"] == "sgd with momentum"
    with pytest.raises(InexpressibleJobError, match="optimizer=sgd: no setting chooses it; the nearest is"):
        write_job(job, "accelerate")
    plan = write_job(job, "accelerate", nearest=True).job.plan
    assert (plan.optimizer, plan.optimizer_bytes) == ("adam", None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--normalization rmsnorm", ["--normalization rmsnorm"]),
        ("--position-embedding-type alibi", ["--position-embedding-type alibi"]),
        ("--normalization RMSNorm --position-embedding-type rope", []),
        ("--normalization rmsnorm --deepspeed", []),
    ],
)
def test_values_of_megatron_deepspeed_are_noted_without_it(options: str, said: list[str]) -> None:
    notes = read_document(f"{LLAMA} {options}".split(), "megatron-lm").notes
    suffix = " is no choice of Megatron-LM (of Megatron-DeepSpeed)"
    assert [note.removesuffix(suffix) for note in notes if note.endswith(suffix)] == said


def test_another_optimizer_is_said_to_be_assumed() -> None:
    assumed = "the states of Adam for those of muon, which are not modelled"
    assert assumed in _reading("--optimizer muon").assumed


def test_rotary_positions_by_their_older_flag_have_no_weights() -> None:
    job = _reading("--use-rotary-position-embeddings").job
    assert job is not None
    assert job.model.learned_positions == 0


@pytest.mark.parametrize(
    ("stage", "zero", "is_sharded"), [(0, 0, False), (1, 1, False), (2, 2, False), (3, 1, True)]
)
def test_deepspeed_has_the_stage_of_zero_that_its_option_says(
    stage: int, zero: int, is_sharded: bool
) -> None:
    plan = _plan(f"--deepspeed --zero-stage {stage}")
    assert (plan.zero, plan.weight_sharded, plan.framework) == (zero, is_sharded, "megatron-deepspeed")


def test_the_stage_of_zero_is_that_of_deepspeeds_file(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": 2}}))
    script = tmp_path / "run.sh"
    script.write_text(
        f"deepspeed --num_gpus 8 {LLAMA} --deepspeed --deepspeed_config ds.json --zero-stage 1\n"
    )
    document = read_document([str(script)])
    assert document.settings["--zero-stage"] == 2
    assert [note for note in document.notes if "counts for nothing" in note]


def test_deepspeeds_sequences_and_heads_are_read() -> None:
    job = _reading("--deepspeed --zero-stage 3 --ds-sequence-parallel-size 4 --num-key-value-heads 8").job
    assert job is not None
    assert (job.plan.cp, job.plan.context, job.plan.dp) == (4, "ulysses", 8)
    assert job.model.num_kv_heads == 8


def test_deepspeeds_stages_need_no_even_layers() -> None:
    both = "--deepspeed --zero-stage 1 --pipeline-model-parallel-size"
    assert _plan(f"{both} 8", 32, 30).stages == "spread"
    assert (
        _plan(f"{both} 8 --pp-partition-method type:transformer|embedding", 32, 30).stages == "lighter-ends"
    )
    assert "--pp-partition-method is parameters" in (
        _reading(f"{both} 8 --pp-partition-method parameters").no_job
    )
    assert [breach.rule for breach in _reading(f"{both} 4".replace("stage 1", "stage 3")).broken] == ["D5"]


@pytest.mark.parametrize(
    ("pattern", "dense", "every"),
    [("[1]*32", 0, 1), ("([0]+[1]*31)", 1, 1), ("[0,0,0]+[1]*29", 3, 1), ("([1,0]*16)", 0, 2), ("2", 0, 2)],
)
def test_layers_with_experts_may_be_any_list(pattern: str, dense: int, every: int) -> None:
    job = _reading(f"--num-experts 8 --moe-layer-freq {pattern}").job
    assert job is not None
    assert job.model.experts is not None
    assert (job.model.experts.dense_layers, job.model.experts.every) == (dense, every)


@pytest.mark.parametrize("pattern", ["([0,1]*16)", "[1]*99999999", "[0", "__import__('os')"])
def test_another_list_of_layers_is_not_predicted(pattern: str) -> None:
    reading = _reading(f"--num-experts 8 --moe-layer-freq {pattern}")
    assert reading.job is None
    assert "--moe-layer-freq is" in reading.no_job


def test_a_file_that_has_all_options_is_asked_for() -> None:
    with pytest.raises(InputError, match="--yaml-cfg takes all options from a file"):
        _reading("--yaml-cfg job.yaml")


def test_names_of_megatron_deepspeed_say_the_vocabulary() -> None:
    line = "--num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 64 --micro-batch-size 1 "
    line += "--pad-vocab-size-to 250880 --tokenizer-type PretrainedFromHF --tokenizer-name-or-path x"
    reading = read_job(read_document(line.split(), "megatron-lm"))
    assert reading.facts["vocab"] == 250880
