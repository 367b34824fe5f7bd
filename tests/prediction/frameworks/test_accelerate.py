"""Accelerate: YAML files and arguments of a Trainer as jobs and back, its rules, and the corpus."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from dse.prediction.frameworks.dialect import dialect_named
from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.frameworks.reading.configurations import flattened
from dse.prediction.frameworks.writing.script import Program, node_script
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.deep_jobs import MODELS, accelerate_jobs, corpus_rows, needs_corpus

FILE: dict[str, Any] = {
    "distributed_type": "FSDP",
    "mixed_precision": "bf16",
    "num_machines": 2,
    "num_processes": 16,
    "fsdp_config.fsdp_version": 2,
    "fsdp_config.fsdp_reshard_after_forward": True,
}
AXES = "parallelism_config.parallelism_config_{}_size"


def _read(model: str = "llama3_8b", batch: int | None = 64, **changed: Any) -> Reading:
    """Read the file above with keys changed; None leaves one out. fsdp_X and dp_X_size name their groups."""
    named = {_key(name): value for name, value in changed.items()}
    values = {key: value for key, value in {**FILE, **named}.items() if value is not None}
    return read_job(Document(values, "accelerate"), model, batch=batch, micro_batch=1 if batch else None)


def _key(name: str) -> str:
    if name.startswith("fsdp_"):
        return f"fsdp_config.{name}"
    return AXES.format(name.removesuffix("_size")) if name.endswith("_size") and "--" not in name else name


@given(job=accelerate_jobs())
@settings(max_examples=200, deadline=None)
def test_a_file_says_a_job_and_is_read_as_the_same(job: Job) -> None:
    written = write_job(job, "accelerate")
    rendered = dialect_named("accelerate").rendered(written.settings, job.model.name)
    values = flattened(yaml.safe_load(rendered.files["accelerate.yaml"]), "file")
    options = [str(word) for word in rendered.program[3:]]
    values |= dict(zip(options[::2], map(int, options[1::2]), strict=True))
    reading = read_job(Document(values, "accelerate"), job.model.name)
    assert reading.is_legal, reading.broken
    assert reading.job == job, reading.no_job


def test_a_file_is_read_as_the_plan_that_it_means() -> None:
    reading = _read()
    assert not reading.broken
    assert reading.job is not None, reading.no_job
    assert reading.job.plan == Plan(dp=16, weight_sharded=True, zero=1, micro_batch=1, framework="torchtitan")
    assert "FSDP and DDP of torch as torchtitan runs them" in reading.assumed


def test_all_settings_of_a_plan_are_written() -> None:
    plan = Plan(
        dp=8, tp=2, cp=2, weight_sharded=True, zero=1, shard_ranks=4, micro_batch=2, context="gather",
        recompute="full", framework="torchtitan-compiled",
    )  # fmt: skip
    written = write_job(Job(replace(MODELS["llama3_8b"], batch_size=48), plan), "accelerate")
    rendered = dialect_named("accelerate").rendered(written.settings, "llama3_8b")
    assert yaml.safe_load(rendered.files["accelerate.yaml"]) == {
        "compute_environment": "LOCAL_MACHINE",
        "num_processes": 32,
        "distributed_type": "FSDP",
        "mixed_precision": "bf16",
        "dynamo_config": {"dynamo_backend": "INDUCTOR"},
        "fsdp_config": {
            "fsdp_version": 2,
            "fsdp_reshard_after_forward": "true",
            "fsdp_activation_checkpointing": True,
        },
        "parallelism_config": {
            "parallelism_config_dp_replicate_size": 2,
            "parallelism_config_dp_shard_size": 4,
            "parallelism_config_tp_size": 2,
            "parallelism_config_cp_size": 2,
        },
    }
    assert list(rendered.program[3:]) == [
        "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "3",
    ]  # fmt: skip


@pytest.mark.parametrize("option", ["--max_length", "--max_seq_length", "--block_size", "--cutoff_len"])
def test_the_programs_argument_says_how_long_sequences_are(option: str) -> None:
    reading = _read(**{option: 2048})
    assert reading.job is not None, reading.no_job
    assert (reading.job.model.seq_len, option in reading.kept) == (2048, False)


def test_accelerate_starts_the_program_on_each_node() -> None:
    program = Program(["--config_file", "accelerate.yaml", "train.py"], 2, 8, starter="accelerate")
    script = node_script(program, "a job")
    assert "accelerate launch --num_machines 2 --num_processes 16 --machine_rank" in script
    lone = node_script(replace(program, nodes=1), "a job")
    assert "accelerate launch --num_machines 1 --num_processes 8 \\\n" in lone


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"fsdp_reshard_after_forward": False}, {"weight_sharded": False, "zero": 2}),
        ({"dp_replicate_size": 4, "dp_shard_size": 4}, {"shard_ranks": 4}),
        ({"dp_shard_size": 4, "tp_size": 4}, {"dp": 4, "tp": 4}),
        ({"dp_shard_size": 8, "cp_size": 2}, {"dp": 8, "cp": 2, "context": "gather"}),
        ({"fsdp_offload_params": True}, {"offload": "optimizer"}),
        ({"fsdp_activation_checkpointing": True}, {"recompute": "full"}),
        ({"mixed_precision": "fp8", "fp8_config.backend": "AO"}, {"precision": "fp8"}),
        ({"dynamo_config.dynamo_backend": "INDUCTOR"}, {"framework": "torchtitan-compiled"}),
        ({"distributed_type": "MULTI_GPU"}, {"weight_sharded": False, "zero": 0}),
        (
            {"distributed_type": "DEEPSPEED", "deepspeed_config.zero_stage": 2},
            {"weight_sharded": False, "zero": 2, "framework": "megatron-deepspeed"},
        ),
    ],
)
def test_settings_of_the_second_version(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    job = _read(**changed).job
    assert job is not None
    assert {name: getattr(job.plan, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("FULL_SHARD", (True, 1, 0)), ("SHARD_GRAD_OP", (False, 2, 0)), ("NO_SHARD", (False, 0, 0)),
        ("HYBRID_SHARD", (True, 1, 8)), ("HYBRID_SHARD_ZERO2", (True, 1, 8)), ("2", (False, 2, 0)),
    ],
)  # fmt: skip
def test_strategies_of_the_first_version(strategy: str, expected: tuple[bool, int, int]) -> None:
    first = {"fsdp_version": 1, "fsdp_reshard_after_forward": None}
    job = _read(**first, fsdp_sharding_strategy=strategy).job
    assert job is not None
    assert (job.plan.weight_sharded, job.plan.zero, job.plan.shard_ranks) == expected


def test_arguments_of_a_trainer_say_the_batch_and_the_sharding() -> None:
    values = {
        "--fsdp": "shard_grad_op auto_wrap",
        "--bf16": True,
        "--gradient_accumulation_steps": 4,
        "--gradient_checkpointing": True,
    }
    reading = read_job(Document(values, "accelerate", npus=16), "llama3_8b")
    assert reading.job is not None, reading.broken
    plan = reading.job.plan
    assert (plan.zero, plan.weight_sharded, plan.recompute, plan.micro_batch) == (2, False, "full", 8)
    assert reading.job.model.batch_size == 512


def test_a_file_without_a_batch_is_read_with_an_assumption() -> None:
    reading = _read(batch=None)
    assert reading.job is not None
    assert any("the file has no batch" in text for text in reading.assumed)


@pytest.mark.parametrize(
    ("rule", "by", "changed", "key", "legal"),
    [
        ("A3-version", "dse", {"fsdp_version": 3}, "fsdp_version", 2),
        ("A8", "framework", {"dp_shard_size": 4, "tp_size": 2}, "tp_size", 4),
        ("A8", "framework", {"dp_shard_size": 12}, "dp_shard_size", 16),
        ("A9", "framework", {"distributed_type": "DEEPSPEED", "dp_shard_size": 4, "cp_size": 2, "sp_size": 2},
         "cp_size", None),
        ("A9-deepspeed", "later", {"dp_shard_size": 8, "sp_size": 2}, "sp_size", None),
        ("A11", "framework", {"fsdp_version": 1, "fsdp_reshard_after_forward": None, "dp_shard_size": 16},
         "fsdp_version", 2),
        ("A12", "later", {"num_machines": 3}, "num_machines", 2),
        ("A14", "later", {"tp_size": 16, "dp_shard_size": 2, "num_processes": 32}, "tp_size", None),
        ("A16", "dse", {"batch": 60}, "gbs", 64),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_a_legal_value(
    rule: str, by: str, changed: dict[str, Any], key: str, legal: Any
) -> None:
    reading = _read(**changed)
    (breach,) = reading.broken
    assert (breach.rule, breach.by, reading.is_legal) == (rule, by, False)
    if legal is not None:
        assert legal in breach.nearest[_key(key)]
        assert _read(**{**changed, "batch" if key == "gbs" else key: legal}).is_legal


@pytest.mark.parametrize(
    ("rule", "by", "changed", "said"),
    [
        ("A0", "framework", {"distributed_type": "FSDPX"}, "distributed_type is FSDPX"),
        ("A1", "framework", {"num_process": 8}, "did you mean 'num_processes'"),
        ("A3", "framework", {"fsdp_sharding_strategy": "FULL_SHARD", "fsdp_reshard_after_forward": None},
         "true or false"),
        ("A4", "framework", {"fsdp_version": 1, "fsdp_reshard_after_forward": None,
                             "fsdp_sharding_strategy": "HYBRID"}, "allowed are FULL_SHARD"),
        ("A5", "framework", {"fsdp_reshard_after_forward": "FULL_SHARD"}, "takes true or false"),
        ("A6", "framework", {"fsdp_auto_wrap_policy": "LAYERS"}, "allowed are TRANSFORMER_BASED_WRAP"),
        ("A7", "framework", {"fsdp_state_dict_type": "LOCAL_STATE_DICT"}, "allowed are FULL_STATE_DICT"),
        ("A8-degrees", "framework", {"dp_shard_size": -4, "tp_size": -4}, "below 1"),
        ("A10", "framework", {"tp_size": 8, "num_processes": 8, "batch": 1}, "nothing to shard over"),
        ("A13", "later", {"cp_size": 3, "dp_shard_size": 4, "num_processes": 12, "batch": 4}, "2 x cp_size"),
        ("A14-exchange", "later", {"distributed_type": "DEEPSPEED", "sp_size": 3, "dp_shard_size": 4,
                                   "num_processes": 12}, "sp_size, 3"),
        ("A15", "framework", {"mixed_precision": "bf17"}, "allowed are no, fp16, bf16 and fp8"),
    ],
)  # fmt: skip
def test_names_and_numbers_that_are_refused(rule: str, by: str, changed: dict[str, Any], said: str) -> None:
    reading = _read(**changed)
    (breach,) = [breach for breach in reading.broken if breach.rule != "A10" or rule == "A10"]
    assert (breach.rule, breach.by, reading.is_legal) == (rule, by, False)
    assert said in breach.says


@pytest.mark.parametrize(
    ("rule", "changed", "said"),
    [
        ("A2", {"fsdp_versionn": 2}, "did you mean 'fsdp_version'"),
        ("A5-first", {"fsdp_version": 1}, "no effect with fsdp_version 1"),
    ],
)
def test_what_has_no_effect_is_a_warning(rule: str, changed: dict[str, Any], said: str) -> None:
    reading = _read(**changed)
    (breach,) = reading.broken
    assert (breach.rule, breach.by, reading.is_legal) == (rule, "dse", True)
    assert said in breach.says


def test_what_accelerate_lacks_is_refused_with_the_nearest() -> None:
    plan = Plan(dp=2, pp=4, zero=1, framework="torchtitan")
    job = Job(replace(MODELS["llama3_8b"], batch_size=64), plan)
    with pytest.raises(InexpressibleJobError, match="pp=4: it has no pipeline stages"):
        write_job(job, "accelerate")
    found = write_job(job, "accelerate", nearest=True).job.plan
    assert (found.pp, found.dp, found.zero, found.weight_sharded) == (1, 8, 2, False)


@pytest.mark.parametrize(
    ("field", "value", "nearest"),
    [
        ("context", "ulysses", "gather"), ("sequence_parallel", True, False), ("expert_tp", 1, 0),
        ("recompute", "selective", "full"), ("recompute_layers", 2, 0), ("precision", "mxfp8", "fp8"),
        ("attention", "unfused", "flash"), ("offload", "optimizer", "none"), ("graphs", "full", "none"),
        ("shard_ranks", 3, 0), ("overlap_dp", False, True), ("overlap_tp", True, False), ("ep", 2, 1),
    ],
)  # fmt: skip
def test_one_lack_at_a_time(field: str, value: Any, nearest: Any) -> None:
    plan = Plan(dp=4, tp=2, cp=2, weight_sharded=True, zero=1, context="gather", framework="torchtitan")
    job = Job(replace(MODELS["mixtral_8x7b"], batch_size=64), replace(plan, **{field: value}))
    written = write_job(job, "accelerate", nearest=True)
    assert [(lack.field, lack.nearest) for lack in written.lacks] == [(field, nearest)]


@needs_corpus
def test_the_corpus_is_judged_as_the_framework_judges_it() -> None:
    rows = corpus_rows("accelerate")
    assert rows
    for row in rows:
        values = flattened(row["flags"], "corpus")
        reading = read_job(Document(values, "accelerate", model=row["model"], npus=row["gpus"]))
        assert reading.is_legal == ("expect" not in row), (row["id"], reading.broken)
        assert "expect" in row or reading.job is not None, (row["id"], reading.no_job)
