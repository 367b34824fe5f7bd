"""MaxText: YAML files as jobs and back, its rules one by one, and the corpus."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from dse.prediction.frameworks.dialect import dialect_named
from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.frameworks.kinds.maxtext_models import NAMES
from dse.prediction.frameworks.models import model_of_framework
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.deep_jobs import MODELS, corpus_rows, maxtext_jobs, needs_corpus

FILE: dict[str, Any] = {
    "model_name": "llama3-8b",
    "hardware": "gpu",
    "per_device_batch_size": 4,
    "max_target_length": 8192,
    "remat_policy": "full",
    "ici_fsdp_parallelism": 16,
    "dcn_data_parallelism": 1,
}


def _read(npus: int | None = 16, **changed: Any) -> Reading:
    values = {key: value for key, value in {**FILE, **changed}.items() if value is not None}
    return read_job(Document(values, "maxtext", model=str(values.get("model_name", "")), npus=npus))


@given(job=maxtext_jobs())
@settings(max_examples=300, deadline=None)
def test_a_file_says_a_job_and_is_read_as_the_same(job: Job) -> None:
    written = write_job(job, "maxtext")
    rendered = dialect_named("maxtext").rendered(written.settings, job.model.name)
    values = yaml.safe_load(rendered.files["run.yml"])
    name = str(values.get("model_name", ""))
    reading = read_job(Document(values, "maxtext", model=name, npus=job.npus))
    assert reading.is_legal, reading.broken
    assert reading.job is not None, reading.no_job
    assert bool(name) == (job.model.name in NAMES)
    assert _plain(replace(reading.job, model=replace(reading.job.model, name=job.model.name))) == _plain(job)


def _plain(job: Job) -> Job:
    """A job without what has no effect: an imbalance that no key says, and one way to say shared experts."""
    experts = job.model.experts
    if experts is None:
        return job
    plain = replace(experts, imbalance=1.0, shared_d_ff=None)
    return replace(job, model=replace(job.model, experts=plain))


def test_a_file_is_read_as_the_plan_that_it_means() -> None:
    reading = _read()
    assert not reading.broken
    assert reading.job is not None, reading.no_job
    assert reading.job.plan == Plan(
        dp=16, weight_sharded=True, zero=1, micro_batch=4, recompute="full", framework="maxtext"
    )
    assert (reading.job.model.batch_size, reading.job.model.seq_len) == (64, 8192)


def test_all_settings_of_a_plan_are_written() -> None:
    plan = Plan(
        dp=4, tp=2, pp=2, weight_sharded=True, zero=1, micro_batch=2, schedule="interleaved", chunks=4,
        sequence_parallel=True, recompute="full", precision="fp8", framework="maxtext",
    )  # fmt: skip
    written = write_job(Job(replace(MODELS["llama3_8b"], batch_size=32), plan), "maxtext")
    assert written.settings == {
        "dcn_data_parallelism": 1,
        "ici_fsdp_parallelism": 4,
        "ici_pipeline_parallelism": 2,
        "ici_tensor_sequence_parallelism": 2,
        "num_slices": 1,
        "per_device_batch_size": 2.0,
        "max_target_length": 8192,
        "remat_policy": "full",
        "quantization": "te_fp8_currentscaling",
        "num_layers_per_pipeline_stage": 4,
        "num_pipeline_repeats": 4,
        "num_pipeline_microbatches": 4,
        "model_name": "llama3-8b",
    }
    rendered = dialect_named("maxtext").rendered(written.settings, "llama3_8b")
    assert list(rendered.program[:3]) == ["-m", "maxtext.trainers.pre_train.train", "run.yml"]
    assert rendered.starter == "python"
    assert set(rendered.blanks) == {"RUN_NAME", "OUTPUT", "DATA_PATH"}


def test_hardware_follows_from_the_cluster() -> None:
    dialect = dialect_named("maxtext")
    assert dialect.of_accelerator("tpu_v5p") == {"hardware": "tpu"}
    assert dialect.of_accelerator("h100_sxm") == {"hardware": "gpu", "attention": "cudnn_flash_te"}


def test_open_axes_take_what_is_left() -> None:
    opened = {"ici_fsdp_parallelism": -1, "dcn_data_parallelism": -1}
    within = _read(32, **opened, ici_tensor_parallelism=4, num_slices=2)
    assert within.job is not None, within.broken
    plan = within.job.plan
    assert (plan.dp, plan.tp, plan.shard_ranks) == (8, 4, 4)
    nodes = _read(32, **opened)
    assert nodes.job is not None
    assert (nodes.job.plan.dp, nodes.job.plan.shard_ranks) == (32, 8)
    assert "4 slices of 8 GPUs: write num_slices=N" in nodes.assumed
    lone = _read(32, **opened, hardware="tpu")
    assert lone.job is not None
    assert (lone.job.plan.dp, lone.job.plan.shard_ranks) == (32, 0)


@pytest.mark.parametrize(
    ("changed", "npus"),
    [
        ({}, 16),
        ({"num_slices": 2}, 32),
        ({"dcn_data_parallelism": 4, "ici_tensor_parallelism": 2}, 128),
        ({"ici_fsdp_parallelism": -1}, None),
        ({"dcn_data_parallelism": -1}, None),
    ],
)
def test_a_mesh_without_an_open_axis_says_the_number_of_devices(
    changed: dict[str, Any], npus: int | None
) -> None:
    assert _read(npus=None, **changed).facts.get("npus") == npus


def test_the_batch_is_one_of_devices() -> None:
    reading = _read(ici_fsdp_parallelism=4, ici_tensor_parallelism=4, per_device_batch_size=0.5,
                    gradient_accumulation_steps=3)  # fmt: skip
    assert reading.job is not None, reading.broken
    assert (reading.job.plan.micro_batch, reading.job.model.batch_size) == (2, 24)


def test_a_scale_multiplies_the_sizes_of_the_default_model() -> None:
    reading = _read(model_name=None, global_parameter_scale=512)
    assert reading.job is not None, reading.no_job
    model = reading.job.model
    assert (model.num_layers, model.d_model, model.num_heads, model.d_ff) == (128, 16384, 128, 57344)


STAGES: dict[str, Any] = {"ici_fsdp_parallelism": 4, "ici_pipeline_parallelism": 4}


@pytest.mark.parametrize(
    ("rule", "by", "changed", "key", "legal"),
    [
        ("X1-ici", "later", {"ici_tensor_parallelism": 2}, "ici_tensor_parallelism", 1),
        ("X1-dcn", "later", {"num_slices": 2, "ici_fsdp_parallelism": 8}, "dcn_data_parallelism", 2),
        ("X2", "framework", {**STAGES, "num_layers_per_pipeline_stage": 3},
         "num_layers_per_pipeline_stage", 2),
        ("X2", "framework", {**STAGES, "num_pipeline_repeats": 3}, "num_pipeline_repeats", None),
        ("X3", "framework", {**STAGES, "num_pipeline_microbatches": 6, "per_device_batch_size": 6},
         "num_pipeline_microbatches", 4),
        ("X4", "framework", {**STAGES, "num_pipeline_microbatches": 12}, "num_pipeline_microbatches", 8),
        ("X7", "later", {"ici_fsdp_parallelism": 1, "ici_tensor_parallelism": 3, "npus": 3},
         "ici_tensor_parallelism", None),
        ("X9", "dse", {"ici_fsdp_parallelism": 1, "ici_context_parallelism": 16, "max_target_length": 100},
         "max_target_length", 96),
        ("X17", "framework", {"base_emb_dim": 8192}, "override_model_config", True),
    ],
)  # fmt: skip
def test_a_broken_rule_is_named_with_a_legal_value(
    rule: str, by: str, changed: dict[str, Any], key: str, legal: Any
) -> None:
    npus = changed.pop("npus", 16)
    reading = _read(npus, **changed)
    (breach,) = reading.broken
    assert (breach.rule, breach.by, reading.is_legal) == (rule, by, False)
    if legal is not None:
        assert legal in breach.nearest[key]
        assert _read(npus, **{**changed, key: legal}).is_legal


@pytest.mark.parametrize(
    ("rule", "by", "changed", "said"),
    [
        ("X1-open", "later", {"ici_data_parallelism": -1, "ici_fsdp_parallelism": -1}, "2 ici axes"),
        ("X5", "later", {"per_device_batch_size": 1.5}, "24 sequences"),
        (
            "X6",
            "framework",
            {"per_device_batch_size": 0.1, "npus": 4, "ici_fsdp_parallelism": 4},
            "no whole number",
        ),
        ("X10", "dse", {"remat_policy": "everything"}, "allowed are full, minimal"),
        ("X11", "dse", {"attention": "flashh"}, "allowed are autoselected"),
        ("X12", "framework", {"quantization": "fp7"}, "allowed are te_no_quant, fp8"),
        ("X13", "framework", {"ici_tensr_parallelism": 2}, "did you mean 'ici_tensor_parallelism'"),
        ("X14", "framework", {"context_parallel_strategy": "zigzag"}, "allowed are all_gather"),
        (
            "X14-ring",
            "framework",
            {"context_parallel_strategy": "ring", "hardware": "tpu"},
            "context axis above 1",
        ),
        ("X15", "framework", {"hardware": "gpus"}, "allowed are tpu"),
    ],
)
def test_names_and_numbers_that_are_refused(rule: str, by: str, changed: dict[str, Any], said: str) -> None:
    reading = _read(changed.pop("npus", 16), **changed)
    (breach,) = [breach for breach in reading.broken if not breach.is_warning]
    assert (breach.rule, breach.by) == (rule, by)
    assert said in breach.says


@pytest.mark.parametrize(("rule", "changed", "legal"), [("X8", {"ici_expert_parallelism": 16}, 8)])
def test_rules_of_experts(rule: str, changed: dict[str, Any], legal: int) -> None:
    base = {"model_name": "mixtral-8x7b", "ici_fsdp_parallelism": -1}
    (breach,) = _read(**base, **changed).broken
    assert (breach.rule, breach.by) == (rule, "dse")
    assert legal in breach.nearest["ici_expert_parallelism"]
    assert _read(**base, ici_expert_parallelism=legal).is_legal


def test_the_expert_axis_of_a_dense_model_is_data_parallelism() -> None:
    reading = _read(ici_fsdp_parallelism=-1, ici_expert_parallelism=4)
    assert reading.job is not None, reading.broken
    assert (reading.job.plan.ep, reading.job.plan.dp, reading.job.plan.weight_sharded) == (1, 16, True)


def test_more_choices_than_experts_are_refused() -> None:
    own = {"model_name": None, "num_experts": 4, "num_experts_per_tok": 8}
    assert [breach.rule for breach in _read(**own).broken] == ["X16"]


def test_a_batch_that_is_cut_is_a_warning() -> None:
    (breach,) = _read(3, ici_fsdp_parallelism=3, per_device_batch_size=1.2).broken
    assert (breach.rule, breach.by, breach.is_warning) == ("X6-cut", "dse", True)


def test_another_batch_than_the_file_has_is_refused() -> None:
    reading = read_job(_read().document, batch=128)
    assert [breach.rule for breach in reading.broken] == ["X0"]


def test_what_maxtext_lacks_is_refused_with_the_nearest() -> None:
    plan = Plan(dp=2, pp=4, zero=2, recompute="none", stages="spread", framework="maxtext")
    job = Job(replace(MODELS["llama3_8b"], batch_size=64), plan)
    with pytest.raises(InexpressibleJobError, match=r"schedule=1f1b: its forward passes come first"):
        write_job(job, "maxtext")
    written = write_job(job, "maxtext", nearest=True)
    found = written.job.plan
    assert (found.schedule, found.zero, found.recompute, found.order) == (
        "gpipe",
        1,
        "selective",
        "ep-tp-cp-pp-dp",
    )


def test_stages_that_layers_do_not_fill_alike_become_fewer() -> None:
    plan = Plan(dp=2, pp=9, schedule="gpipe", recompute="full", framework="maxtext")
    job = Job(replace(MODELS["llama3_70b"], batch_size=64), plan)
    assert job.layers_per_part == (9, 9, 9, 9, 9, 9, 9, 9, 8)
    with pytest.raises(InexpressibleJobError, match=r"pp=9: its stages have equal numbers of layers"):
        write_job(job, "maxtext")
    found = write_job(job, "maxtext", nearest=True).job.plan
    assert (found.dp, found.pp, found.schedule) == (18, 1, "1f1b")


@pytest.mark.parametrize(
    ("field", "value", "nearest"),
    [
        ("expert_tp", 1, 0), ("recompute", "light", "selective"), ("recompute_layers", 2, 0),
        ("precision", "fp8_block", "fp8"), ("overlap_dp", False, True), ("overlap_tp", True, False),
        ("overlap_ep", True, False), ("dispatcher", "deduplicated", "alltoall"), ("graphs", "full", "none"),
        ("offload", "activations-3", "none"), ("shard_ranks", 3, 0), ("weight_sharded", False, True),
    ],
)  # fmt: skip
def test_one_lack_at_a_time(field: str, value: Any, nearest: Any) -> None:
    plan = Plan(dp=4, tp=2, cp=2, ep=2, weight_sharded=True, zero=1, recompute="full", framework="maxtext")
    job = Job(replace(MODELS["mixtral_8x7b"], batch_size=64), replace(plan, **{field: value}))
    written = write_job(job, "maxtext", nearest=True)
    assert [(lack.field, lack.nearest) for lack in written.lacks] == [(field, nearest)]


def test_layers_before_experts_are_outside_of_the_pipeline() -> None:
    plan = Plan(
        dp=2, pp=2, weight_sharded=True, zero=1, recompute="full", stages="spread", framework="maxtext"
    )
    job = Job(replace(MODELS["deepseek_v3"], batch_size=64), plan)
    written = write_job(job, "maxtext", nearest=True)
    assert (written.job.plan.pp, written.job.plan.dp) == (1, 4)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_of_models_are_read_back(name: str) -> None:
    assert model_of_framework(NAMES[name]) == name


@needs_corpus
def test_the_corpus_is_judged_as_the_framework_judges_it() -> None:
    rows = corpus_rows("maxtext")
    assert rows
    for row in rows:
        reading = read_job(Document(row["flags"], "maxtext", model=row["model"], npus=row["gpus"] or 64))
        illegal = [breach.rule for breach in reading.broken if not breach.is_warning]
        assert illegal == (["X2"] if "expect" in row else []), row["id"]
        assert ("expect" in row) == (reading.job is None), (row["id"], reading.no_job)
