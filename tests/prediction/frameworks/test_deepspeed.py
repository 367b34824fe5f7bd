"""DeepSpeed: JSON files as jobs and back, its rules one by one, and the corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from dse.prediction.frameworks.checks.check import cluster_of_name
from dse.prediction.frameworks.dialect import dialect_named
from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.frameworks.launches import launch
from dse.prediction.frameworks.reading.configurations import flattened
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.deep_jobs import MODELS, corpus_rows, deepspeed_jobs, needs_corpus

FILE: dict[str, Any] = {
    "zero_optimization": {"stage": 2, "overlap_comm": True},
    "bf16": {"enabled": True},
    "train_batch_size": 128,
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 8,
}


def _read(npus: int | None = 16, model: str = "llama3_8b", **changed: Any) -> Reading:
    """Read the file above with dotted keys changed; None leaves one out. __ stands for a dot."""
    flat = flattened(FILE, "test") | {key.replace("__", "."): value for key, value in changed.items()}
    flat = {key: value for key, value in flat.items() if value is not None}
    return read_job(Document(flat, "deepspeed", npus=npus), model)


@given(job=deepspeed_jobs())
@settings(max_examples=200, deadline=None)
def test_a_file_says_a_job_and_is_read_as_the_same(job: Job) -> None:
    written = write_job(job, "deepspeed")
    reading = read_job(Document(written.settings, "deepspeed", npus=job.npus), job.model.name)
    assert reading.is_legal, reading.broken
    assert reading.job == job, reading.no_job


def test_a_file_is_read_as_the_plan_that_it_means() -> None:
    reading = _read()
    assert not reading.broken
    assert reading.job is not None
    assert reading.job.plan == Plan(dp=16, zero=2, micro_batch=1, framework="megatron-deepspeed")
    assert reading.job.model.batch_size == 128


def test_an_older_key_offloads_the_optimizer() -> None:
    job = _read(zero_optimization__cpu_offload=True).job
    assert job is not None
    assert job.plan.offload == "optimizer"


def test_all_settings_of_a_plan_are_written() -> None:
    plan = Plan(
        dp=4, tp=2, weight_sharded=True, zero=1, micro_batch=2, recompute="full", offload="optimizer",
        framework="megatron-deepspeed",
    )  # fmt: skip
    written = write_job(Job(replace(MODELS["llama3_8b"], batch_size=32), plan), "deepspeed")
    rendered = dialect_named("deepspeed").rendered(written.settings, "llama3_8b")
    assert json.loads(rendered.files["ds_config.json"]) == {
        "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 4,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3, "overlap_comm": True, "offload_optimizer": {"device": "cpu"}},
        "tensor_parallel": {"autotp_size": 2},
        "activation_checkpointing": {"number_checkpoints": 32},
    }
    assert rendered.program[1:] == ["--deepspeed", "ds_config.json"]
    assert list(rendered.blanks) == ["TRAIN_SCRIPT"]


@pytest.mark.parametrize(
    ("given_numbers", "batch", "micro_batch"),
    [
        ({"train_batch_size": 64, "gradient_accumulation_steps": 2}, 64, 2),
        ({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2}, 64, 2),
        ({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3}, 96, 2),
        ({"train_micro_batch_size_per_gpu": 2}, 32, 2),
        ({"train_batch_size": 64}, 64, 4),
    ],
)
def test_the_third_number_of_the_batch_is_inferred(
    given_numbers: dict[str, int], batch: int, micro_batch: int
) -> None:
    absent = dict.fromkeys(
        ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    )
    reading = _read(**{**absent, **given_numbers})
    assert reading.job is not None, reading.broken
    assert (reading.job.model.batch_size, reading.job.plan.micro_batch) == (batch, micro_batch)


@pytest.mark.parametrize(
    ("rule", "by", "changed", "key", "legal"),
    [
        ("D0", "later", {"tensor_parallel__autotp_size": 3, "train_batch_size": None},
         "tensor_parallel.autotp_size", 2),
        ("D0-mesh", "later", {"data_parallel_size": 3}, "data_parallel_size", 16),
        ("D1", "framework", {"train_batch_size": 60}, "train_batch_size", 128),
        ("D1", "framework", {"train_micro_batch_size_per_gpu": 3}, "train_micro_batch_size_per_gpu", 1),
        ("D1", "framework", {"gradient_accumulation_steps": 7}, "gradient_accumulation_steps", 8),
        ("D2", "framework", {"zero_optimization__stage": 5}, "zero_optimization.stage", 3),
        ("D3", "framework", {"fp16__enabled": True}, "bf16.enabled", False),
        ("D5", "later", {"pipeline__stages": 2, "gradient_accumulation_steps": 16},
         "zero_optimization.stage", 1),
        ("D8", "dse", {"sequence_parallel_size": 3, "npus": 48}, "sequence_parallel_size", None),
        ("D9-tensor", "later", {"expert_parallel__expert_tensor_parallel_size": 2},
         "expert_parallel.expert_tensor_parallel_size", 1),
        ("D10", "later", {"tensor_parallel__autotp_size": 2, "sequence_parallel_size": 2,
                          "gradient_accumulation_steps": 16}, "tensor_parallel.autotp_size", None),
        ("D11", "later", {"zero_optimization__zero_hpz_partition_size": 8}, "zero_optimization.stage", 3),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_a_legal_value(
    rule: str, by: str, changed: dict[str, Any], key: str, legal: Any
) -> None:
    reading = _read(changed.pop("npus", 16), **changed)
    (breach,) = reading.broken
    assert (breach.rule, breach.by, reading.is_legal) == (rule, by, False)
    if legal is not None:
        assert legal in breach.nearest[key]
        assert _read(**{**changed, key.replace(".", "__"): legal}).is_legal


@pytest.mark.parametrize(("rule", "ep"), [("D9", 16), ("D9", 3), ("D9-ranks", 4)])
def test_rules_of_experts(rule: str, ep: int) -> None:
    npus = 6 if rule == "D9-ranks" else 48
    reading = _read(
        npus, "mixtral_8x7b", expert_parallel__enabled=True, expert_parallel__autoep_size=ep,
        train_batch_size=npus * 8,
    )  # fmt: skip
    (breach,) = reading.broken
    assert breach.rule == rule
    legal = breach.nearest["expert_parallel.autoep_size"][0]
    assert _read(
        npus, "mixtral_8x7b", expert_parallel__enabled=True, expert_parallel__autoep_size=legal,
        train_batch_size=npus * 8,
    ).is_legal  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("D4", {"zero_optimization__overlap_com": True}, "did you mean 'overlap_comm'"),
        ("D4", {"bf16__enable": True}, "did you mean 'enabled'"),
        ("D4", {"zero_optimization__offload_optimizer__devise": "cpu"}, "did you mean 'device'"),
        ("D4-removed", {"zero_optimization__mics_shard_size": 8}, "mics_shard_size was removed"),
        ("D7", {"zero_optimization__offload_optimizer__device": "disk"}, "allowed are none, cpu and nvme"),
        ("D7-weights", {"zero_optimization__stage": 3, "zero_optimization__offload_param__device": "disk"},
         "allowed are none, cpu and nvme"),
    ],
)  # fmt: skip
def test_names_and_devices_that_the_framework_refuses(rule: str, changed: dict[str, Any], said: str) -> None:
    reading = _read(**changed)
    (breach,) = reading.broken
    assert (breach.rule, reading.is_legal) == (rule, False)
    assert said in breach.says


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("D4-top", {"tensor_paralel__autotp_size": 2}, "did you mean 'tensor_parallel'"),
        ("D7-stage", {"zero_optimization__offload_param__device": "cpu"}, "only stage 3"),
        ("D7-optimizer",
         {"zero_optimization__stage": 0, "zero_optimization__offload_optimizer__device": "cpu"}, "no effect"),
        ("D8-keys", {"tensor_parallel__autotp_size": 16}, "no attention"),
    ],
)  # fmt: skip
def test_what_the_framework_accepts_without_effect_is_a_warning(
    rule: str, changed: dict[str, Any], said: str
) -> None:
    reading = _read(**changed)
    (breach,) = reading.broken
    assert (breach.rule, breach.by, breach.is_warning, reading.is_legal) == (rule, "dse", True, True)
    assert said in breach.says


def test_ranks_of_autotp_count_as_data_parallelism() -> None:
    reading = _read(tensor_parallel__autotp_size=4)
    assert not reading.broken
    assert reading.job is not None
    assert (reading.job.plan.dp, reading.job.model.batch_size) == (4, 32)
    (breach,) = _read(tensor_parallel__autotp_size=4, train_batch_size=32).broken
    assert (breach.rule, breach.by, breach.is_warning) == ("D1-tensor", "framework", True)
    assert breach.nearest["train_batch_size"] == (128,)


def test_the_number_of_gpus_follows_from_a_whole_batch() -> None:
    reading = _read(npus=None)
    assert reading.job is not None, reading.no_job
    assert reading.job.npus == 16
    assert _read(npus=None, train_batch_size=127).job is None


def test_another_batch_than_the_file_has_is_refused() -> None:
    reading = read_job(_read().document, "llama3_8b", batch=256)
    (breach,) = reading.broken
    assert (breach.rule, breach.nearest["gbs"]) == ("D1-asked", (128,))


def test_auto_is_the_value_of_an_argument_of_the_trainer() -> None:
    autos = dict.fromkeys(
        (
            "train_batch_size",
            "train_micro_batch_size_per_gpu",
            "gradient_accumulation_steps",
            "bf16__enabled",
        ),
        "auto",
    )
    reading = _read(**autos)
    (breach,) = reading.broken
    assert (breach.rule, breach.is_warning) == ("D6", True)
    assert "train_micro_batch_size_per_gpu is auto (--per_device_train_batch_size)" in breach.says
    assert reading.job is None
    assert "write micro_batch=N and batch=N" in reading.no_job
    document = replace(reading.document)
    asked = read_job(document, "llama3_8b", batch=64, micro_batch=2)
    assert asked.job is not None
    assert (asked.job.plan.micro_batch, asked.job.model.batch_size) == (2, 64)


def test_arguments_of_a_trainer_say_what_is_auto_in_its_file() -> None:
    reading = _read(
        train_batch_size="auto",
        train_micro_batch_size_per_gpu=None,
        gradient_accumulation_steps=None,
        **{"--per_device_train_batch_size": 4, "--gradient_checkpointing": True, "--block_size": 1024},
    )
    assert reading.job is not None, reading.no_job
    assert (reading.job.model.batch_size, reading.job.plan.recompute) == (64, "full")
    assert reading.job.model.seq_len == 1024


def test_stages_that_the_file_lacks_become_data_parallelism() -> None:
    plan = Plan(dp=2, pp=4, zero=1, schedule="zb-h1", stages="spread", framework="megatron-deepspeed")
    job = Job(replace(MODELS["llama3_8b"], batch_size=64), plan)
    with pytest.raises(InexpressibleJobError, match=r"pp=4: .* a program needs a PipelineModule"):
        write_job(job, "deepspeed")
    written = write_job(job, "deepspeed", nearest=True)
    assert (written.job.plan.pp, written.job.plan.dp, written.job.npus) == (1, 8, 8)
    assert written.settings["gradient_accumulation_steps"] == 8


@pytest.mark.parametrize(
    ("field", "value", "nearest"),
    [
        ("context", "ring", "ulysses"), ("sequence_parallel", True, False), ("expert_tp", 2, 1),
        ("recompute", "selective", "full"), ("recompute_layers", 2, 0), ("precision", "fp8", "bf16"),
        ("attention", "unfused", "flash"), ("offload", "activations", "none"), ("graphs", "full", "none"),
        ("shard_ranks", 2, 0),
    ],
)  # fmt: skip
def test_what_the_file_lacks_is_refused_with_the_nearest(field: str, value: Any, nearest: Any) -> None:
    plan = Plan(dp=4, tp=2, cp=2, ep=2, expert_tp=1, weight_sharded=True, context="ulysses")
    job = Job(replace(MODELS["mixtral_8x7b"], batch_size=64), replace(plan, **{field: value}))
    written = write_job(job, "deepspeed", nearest=True)
    assert [(lack.field, lack.nearest) for lack in written.lacks] == [(field, nearest)]


def test_a_host_file_has_a_line_for_each_rank_of_experts() -> None:
    plan = Plan(dp=16, ep=4, zero=1, micro_batch=1, order="tp-cp-dp-ep-pp", framework="megatron-deepspeed")
    job = Job(replace(MODELS["mixtral_8x7b"], batch_size=64, seq_len=4096), plan)
    found = launch(job, cluster_of_name("dgx_h100", 16, []), "deepspeed", "slurm")
    (hosts,) = [text for name, text in found.files.items() if name.endswith(".hosts")]
    assert len(hosts.splitlines()) == 16


@needs_corpus
def test_the_corpus_is_judged_as_the_framework_judges_it() -> None:
    rows = corpus_rows("deepspeed")
    assert rows
    for row in rows:
        document = Document(
            flattened(row["flags"], "corpus"), "deepspeed", model=row["model"], npus=row["gpus"]
        )
        reading = read_job(document)
        illegal = [breach.rule for breach in reading.broken if not breach.is_warning]
        assert illegal == (["D1"] if "expect" in row else []), row["id"]
        if row["gpus"] is not None and "expect" not in row:
            assert reading.job is not None, (row["id"], reading.no_job)
