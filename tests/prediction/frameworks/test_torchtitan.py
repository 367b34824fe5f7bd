"""torchtitan: options as jobs and back, its rules one by one, older files, and the corpus."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.frameworks.kinds.torchtitan_models import CONVERTERS
from dse.prediction.frameworks.reading.configurations import flattened
from dse.prediction.frameworks.reading.dotted_options import section_settings
from dse.prediction.frameworks.reading.files import toml_data
from dse.prediction.frameworks.reading.sources import read_document
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.jobs import with_listed_stages
from tests.prediction.frameworks.titan_jobs import MODELS, titan_jobs


@given(job=titan_jobs())
@settings(max_examples=300, deadline=None)
def test_a_job_is_written_and_read_as_the_same(job: Job) -> None:
    written = write_job(job, "torchtitan")
    reading = read_job(Document(written.settings, "torchtitan", model=job.model.name, npus=job.npus))
    assert reading.is_legal, reading.broken
    assert reading.job is not None, reading.no_job
    assert with_listed_stages(reading.job) == with_listed_stages(job)


@given(job=titan_jobs())
@settings(max_examples=100, deadline=None)
def test_the_words_of_a_command_say_all_but_what_its_function_says(job: Job) -> None:
    written = write_job(job, "torchtitan")
    rendered = written.dialect.rendered(written.settings, job.model.name)
    words = [word for word in rendered.program if isinstance(word, str)]
    assert words[:2] == ["-m", "torchtitan.train"]
    blank = words.index("--hf_assets_path")
    words[blank : blank + 2] = []
    found = section_settings(words[2:], "the command", [])
    text = rendered.files.get("dse_torchtitan.py", "")
    if found["module"] == "dse_torchtitan":
        assert f"def {found['config']}():" in text
    for key, value in written.settings.items():
        if key == "model_spec.converters":
            assert f"converters=[{CONVERTERS[value][0]}" in text
        elif key.startswith("model_spec."):
            assert f"{key.partition('.')[2]}={value!r}" in text
        elif key == "parallelism.module_fqns_per_model_part":
            assert f"config.{key} = [[" in text
        else:
            assert found[key] == (",".join(value) if isinstance(value, list) else value), key


@given(job=titan_jobs())
@settings(max_examples=60, deadline=None)
def test_a_script_with_its_files_beside_is_read_as_the_same(
    tmp_path_factory: pytest.TempPathFactory, job: Job
) -> None:
    folder = tmp_path_factory.mktemp("launch")
    written = write_job(job, "torchtitan")
    rendered = written.dialect.rendered(written.settings, job.model.name)
    for name, text in rendered.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    words = [word if isinstance(word, str) else "10" for word in rendered.program]
    nodes = job.npus if job.npus % 8 else job.npus // 8
    launcher = ["torchrun", "--nnodes", str(nodes), "--nproc-per-node", str(job.npus // nodes)]
    (folder / "run.sh").write_text(shlex.join([*launcher, *words]), encoding="utf-8")
    reading = read_job(read_document([str(folder / "run.sh")]))
    assert reading.job is not None, (reading.broken, reading.no_job)
    assert with_listed_stages(reading.job) == with_listed_stages(job)


def _written(name: str, batch: int = 64, **plan: Any) -> dict[str, Any]:
    job = Job(replace(MODELS[name], batch_size=batch), Plan(**plan))
    return dict(write_job(job, "torchtitan").settings)


def test_a_plan_with_pipelines_in_its_keys() -> None:
    found = _written(
        "llama3_8b", tp=2, pp=4, dp=4, weight_sharded=True, schedule="interleaved", chunks=2,
        stages="lighter-ends", recompute="full", micro_batch=2, framework="torchtitan",
    )  # fmt: skip
    short = {key.replace("parallelism.", ""): value for key, value in found.items()}
    assert short == {
        "data_parallel_replicate_degree": 1,
        "data_parallel_shard_degree": 4,
        "tensor_parallel_degree": 2,
        "pipeline_parallel_degree": 4,
        "context_parallel_degree": 1,
        "enable_sequence_parallel": False,
        "pipeline_parallel_schedule": "Interleaved1F1B",
        "pipeline_parallel_microbatch_size": 2,
        "module_fqns_per_model_part": found["parallelism.module_fqns_per_model_part"],
        "training.local_batch_size": 16,
        "training.global_batch_size": 64,
        "training.seq_len": 8192,
        "training.disable_cuda_graphs": True,
        "compile.enable": False,
        "compile.enable_async_tensor_parallel": False,
        "activation_checkpoint": "full",
    }


@pytest.mark.parametrize(
    ("plan", "keys"),
    [
        ({"zero": 0}, {"replicate": 8, "shard": 1}),
        ({"zero": 2}, {"replicate": 1, "shard": 8, "reshard": "never"}),
        ({"weight_sharded": True}, {"replicate": 1, "shard": 8}),
        ({"weight_sharded": True, "shard_ranks": 2}, {"replicate": 4, "shard": 2}),
    ],
)
def test_sharding(plan: dict[str, Any], keys: dict[str, Any]) -> None:
    found = _written("llama3_8b", dp=8, **plan)
    names = {
        "replicate": "parallelism.data_parallel_replicate_degree",
        "shard": "parallelism.data_parallel_shard_degree",
        "reshard": "parallelism.fsdp_reshard_after_forward",
    }
    assert {name: found[key] for name, key in names.items() if key in found} == keys


def test_a_schedule_without_a_class_goes_by_a_file() -> None:
    job = Job(
        replace(MODELS["llama3_8b"], batch_size=4),
        Plan(pp=2, weight_sharded=False, schedule="zb-h1", stages="spread"),
    )
    written = write_job(job, "torchtitan")
    assert written.settings["parallelism.pipeline_parallel_schedule"] == "1F1B"
    rendered = written.dialect.rendered(written.settings, "llama3_8b")
    assert list(rendered.files) == ["zb-h1.csv"]
    assert rendered.files["zb-h1.csv"].startswith("0F0,0F1")


@pytest.mark.parametrize("schedule", ["v-half", "v-min"])
def test_a_schedule_that_torch_cannot_run_is_refused_with_the_nearest_of_its_shape(schedule: str) -> None:
    """Its files place stages in a loop, so a V without a class of its own cannot go by one."""
    job = Job(
        replace(MODELS["llama3_8b"], batch_size=4),
        Plan(pp=2, chunks=2, weight_sharded=False, schedule=schedule, stages="spread"),
    )
    with pytest.raises(InexpressibleJobError) as caught:
        write_job(job, "torchtitan")
    assert str(caught.value).endswith(
        f"schedule={schedule}: torchtitan runs 1f1b, gpipe, interleaved, zb-v, zb-h1; "
        "the nearest is schedule=zb-v"
    )


def test_a_flavour_without_a_function_gets_one() -> None:
    written = write_job(
        Job(
            replace(MODELS["gpt_oss_20b"], batch_size=8),
            Plan(dp=4, cp=2, context="gather", weight_sharded=True),
        ),
        "torchtitan",
    )
    rendered = written.dialect.rendered(written.settings, "gpt_oss_20b")
    assert rendered.files["dse_torchtitan.py"].splitlines()[2:] == [
        "from torchtitan.models.gpt_oss import config_registry, model_registry",
        "",
        "",
        "def gpt_oss_20b():",
        "    config = config_registry.gpt_oss_20b()",
        "    config.model_spec = model_registry(\"20b\", attn_backend='flex')",
        "    return config",
    ]


@pytest.mark.parametrize(
    ("plan", "field", "nearest"),
    [
        ({"dp": 8}, "zero", 2),
        ({"dp": 8, "pp": 2, "zero": 2, "stages": "spread"}, "weight_sharded", True),
        ({"dp": 8, "cp": 2, "zero": 0, "context": "gather"}, "weight_sharded", True),
        ({"recompute": "selective", "recompute_layers": 16}, "recompute", "full"),
        ({"recompute": "full", "recompute_layers": 3}, "recompute_layers", 16),
        ({"precision": "fp8_block"}, "precision", "fp8"),
        ({"precision": "fp16"}, "precision", "bf16"),
        ({"precision": "fp8", "framework": "torchtitan"}, "framework", "torchtitan-compiled"),
        ({"attention": "unfused"}, "attention", "flash"),
        ({"cp": 2, "weight_sharded": True}, "context", "gather"),
        ({"overlap_dp": False}, "overlap_dp", True),
        ({"offload": "activations"}, "offload", "none"),
        ({"graphs": "attn"}, "graphs", "none"),
        ({"tp": 2, "overlap_tp": True, "framework": "torchtitan"}, "framework", "torchtitan-compiled"),
        ({"optimizer_bytes": 8}, "optimizer_bytes", None),
        ({"pp": 2, "stages": "balanced"}, "stages", "spread"),
    ],
)
def test_what_torchtitan_lacks_is_refused_with_the_nearest(
    plan: dict[str, Any], field: str, nearest: Any
) -> None:
    job = Job(replace(MODELS["llama3_8b"], batch_size=64), Plan(**plan))
    with pytest.raises(InexpressibleJobError) as error:
        write_job(job, "torchtitan")
    assert {lack.field: lack.nearest for lack in error.value.lacks}[field] == nearest
    written = write_job(job, "torchtitan", nearest=True)
    assert getattr(written.job.plan, field) == nearest


def test_experts_are_split_by_tp_or_whole() -> None:
    job = Job(replace(MODELS["qwen3_30b_a3b"], batch_size=64), Plan(tp=2, dp=8, ep=4, weight_sharded=True))
    with pytest.raises(InexpressibleJobError, match="expert_tp=0: experts of an exchange"):
        write_job(job, "torchtitan")
    assert write_job(job, "torchtitan", nearest=True).job.plan.expert_tp == 1


def test_another_shape_needs_a_function_of_ones_own() -> None:
    job = Job(replace(MODELS["llama3_8b"], num_layers=31), Plan())
    with pytest.raises(InexpressibleJobError, match=r"model\.name=llama3_8b.*a function of your own"):
        write_job(job, "torchtitan")
    with pytest.raises(InexpressibleJobError, match=r"model\.name=other"):
        write_job(Job(replace(MODELS["llama3_8b"], name="other"), Plan()), "torchtitan")


def test_layers_that_predict_further_tokens_are_left_out() -> None:
    job = Job(replace(MODELS["deepseek_v3"], batch_size=64, prediction_layers=1), Plan(dp=8, zero=2))
    with pytest.raises(InexpressibleJobError, match=r"model\.prediction_layers=1: flavours train without"):
        write_job(job, "torchtitan")
    assert write_job(job, "torchtitan", nearest=True).job.model == replace(job.model, prediction_layers=0)


P = "parallelism."
LLAMA: dict[str, Any] = {"module": "llama3", "config": "llama3_8b", "training.disable_cuda_graphs": True}
QWEN: dict[str, Any] = {"module": "qwen3", "config": "qwen3_30b_a3b", "training.disable_cuda_graphs": True}


def _read(changed: dict[str, Any], base: dict[str, Any] = LLAMA, npus: int = 64) -> Reading:
    full = {key: value for key, value in changed.items() if "." in key or key == "activation_checkpoint"}
    full |= {f"{P}{key}": value for key, value in changed.items() if key not in full}
    return read_job(Document({**base, **full}, "torchtitan", model=base["config"], npus=npus))


TP, PP, CP, EP = (f"{kind}_parallel_degree" for kind in ("tensor", "pipeline", "context", "expert"))
SHARD, REPLICATE = "data_parallel_shard_degree", "data_parallel_replicate_degree"
SCHEDULE, LOCAL = "pipeline_parallel_schedule", "training.local_batch_size"
FIRST, PARTS = "pipeline_parallel_first_stage_less_layers", "module_fqns_per_model_part"
SIZE, MBS = "pipeline_parallel_layers_per_stage", "pipeline_parallel_microbatch_size"
GRAPHS_OFF = "training.disable_cuda_graphs"
BROKEN: list[tuple[str, dict[str, Any], str, Any, dict[str, Any]]] = [
    ("T1", {SHARD: 5}, P + SHARD, 64, LLAMA),
    ("T2", {EP: 16, SHARD: 8, REPLICATE: 8}, P + EP, 8, QWEN),
    ("T3", {CP: 2, "training.seq_len": 8190}, "training.seq_len", 8192, LLAMA),
    ("T4", {"training.global_batch_size": 100}, "training.global_batch_size", 64, LLAMA),
    ("T5", {PP: 2, LOCAL: 8, MBS: 3}, P + MBS, 2, LLAMA),
    ("T6", {PP: 2, LOCAL: 4, GRAPHS_OFF: False}, GRAPHS_OFF, True, LLAMA),
    ("T6-ep", {EP: 8, GRAPHS_OFF: False}, GRAPHS_OFF, True, QWEN),
    ("T7", {PP: 4, LOCAL: 4, SIZE: 7, SCHEDULE: "GPipe"}, P + SIZE, 9, LLAMA),
    ("T7-chunks", {PP: 2, LOCAL: 4, SIZE: 9}, P + SIZE, 17, LLAMA),
    ("T8", {PP: 4, LOCAL: 8, FIRST: 12}, P + FIRST, 11, LLAMA),
    ("T9", {"compile.enable_async_tensor_parallel": True}, "compile.enable", True, LLAMA),
    ("T10", {"activation_checkpoint": "memory-budget"}, "compile.enable", True, LLAMA),
    ("T11", {TP: 16}, P + TP, 8, LLAMA),
    ("T12", {"training.seq_len": 131073}, "training.seq_len", 131072, LLAMA),
    ("T15-batches", {PP: 4, LOCAL: 2}, LOCAL, 4, LLAMA),
    ("T15-rounds", {PP: 4, LOCAL: 9, SCHEDULE: "Interleaved1F1B"}, LOCAL, 8, LLAMA),
    ("D-experts", {EP: 3, SHARD: 48}, P + EP, 2, QWEN),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "changed", "key", "legal", "base"), BROKEN, ids=[row[0] for row in BROKEN])
def test_a_broken_rule_is_named_with_a_legal_value(
    rule: str, changed: dict[str, Any], key: str, legal: Any, base: dict[str, Any]
) -> None:
    npus = 48 if rule == "D-experts" else 64
    reading = _read(changed, base, npus)
    assert [breach.rule for breach in reading.broken] == [rule]
    assert not reading.is_legal
    assert legal in reading.broken[0].nearest[key]
    repaired = _read({**changed, key.removeprefix(P): legal}, base, npus)
    assert repaired.is_legal, repaired.broken


@pytest.mark.parametrize(
    ("rule", "changed", "base"),
    [
        ("T8-parts", {PP: 2, LOCAL: 4, PARTS: [["layers.0"], ["layers.1"]]}, LLAMA),
        ("T13", {PP: 2, LOCAL: 4}, {**LLAMA, "module": "qwen3", "config": "qwen3_0_6b"}),
        ("T14", {PP: 2, LOCAL: 4, "model_spec.num_mtp_layers": 1}, LLAMA),
        ("T15", {PP: 2, LOCAL: 4, SCHEDULE: "2F2B"}, LLAMA),
        ("T16", {"fsdp_reshard_after_forward": "sometimes"}, LLAMA),
        ("T17", {CP: 2}, {**LLAMA, "module": "gpt_oss", "config": "gpt_oss_20b"}),
        ("D-ep", {EP: 8}, LLAMA),
    ],
)
def test_rules_of_what_has_no_nearest_number(
    rule: str, changed: dict[str, Any], base: dict[str, Any]
) -> None:
    assert [breach.rule for breach in _read(changed, base).broken] == [rule]


def test_who_refuses() -> None:
    by = {rule: _read(changed, base).broken[0].by for rule, changed, _, _, base in BROKEN[:9]}
    assert by["T1"] == by["T5"] == by["T6"] == "framework"
    assert by["T2"] == by["T3"] == by["T4"] == by["T7"] == "later"
    assert _read({EP: 8}).broken[0].by == "dse"


def test_defaults_of_the_framework_and_of_the_function() -> None:
    reading = read_job(Document({"config": "llama3_70b"}, "torchtitan", model="llama3_70b", npus=64))
    assert reading.job is not None
    plan, model = reading.job.plan, reading.job.model
    assert (plan.tp, plan.dp, plan.micro_batch, plan.recompute, plan.recompute_layers) == (8, 8, 8, "full", 0)
    assert (plan.sequence_parallel, plan.graphs, plan.weight_sharded) == (True, "full", True)
    assert (plan.framework, model.batch_size, model.seq_len) == ("torchtitan", 64, 8192)
    plain = _read({PP: 2, LOCAL: 4, SCHEDULE: "Interleaved1F1B"}).job
    assert plain is not None
    assert (plain.plan.chunks, plain.layers_per_part) == (2, (8, 9, 8, 7))
    assert (plain.plan.recompute, plain.plan.recompute_layers) == ("full", 8)


def test_older_files_are_read() -> None:
    text = """
    [model]
    name = "llama3"
    flavor = "8B"
    [training]
    local_batch_size = 2
    seq_len = 8192
    compile = true
    [parallelism]
    tensor_parallel_degree = 2
    enable_async_tensor_parallel = true
    [activation_checkpoint]
    mode = "selective"
    selective_ac_option = "4"
    """
    found = flattened(toml_data(text, "a file"), "a file")
    reading = read_job(Document(found, "torchtitan", "0.1.0", "llama3_8b", 16))
    assert reading.job is not None, reading.no_job
    plan = reading.job.plan
    assert (plan.framework, plan.overlap_tp, plan.graphs, plan.recompute_layers) == (
        "torchtitan-compiled", True, "none", 8,
    )  # fmt: skip
    assert (plan.dp, plan.micro_batch, reading.job.model.batch_size) == (8, 2, 16)


@pytest.mark.parametrize(
    ("more", "micro_batch", "broken"),
    [
        ("", 4, []),  # as many micro-batches as stages
        ("pipeline_parallel_microbatches = 8", 2, []),
        ("pipeline_parallel_microbatches = 7", None, ["T5-count"]),
    ],
)
def test_files_of_2024_part_a_batch_into_micro_batches(
    more: str, micro_batch: int | None, broken: list[str]
) -> None:
    text = f"""[model]\nname = "llama3"\nflavor = "8B"\n[training]\nbatch_size = 16\nseq_len = 8192
    data_parallel_degree = 4\n[experimental]\npipeline_parallel_degree = 4\n{more}
    [float8]\nenable_float8_linear = true"""
    reading = read_job(Document(flattened(toml_data(text, "x.toml"), "x"), "torchtitan", "", "llama3_8b", 16))
    assert [breach.rule for breach in reading.broken] == broken
    if micro_batch is not None:
        assert reading.job is not None, reading.no_job
        plan = reading.job.plan
        assert (plan.pp, plan.dp, plan.micro_batch, plan.precision) == (4, 4, micro_batch, "fp8")


def test_checkpointing_of_a_recipe_in_python() -> None:
    for written, kind in (("FullAC.Config", "full"), (None, "none"), ("SelectiveAC", "selective")):
        facts = _read(
            {**LLAMA, "activation_checkpoint": written}, {**LLAMA, "activation_checkpoint": ""}
        ).facts
        assert facts["checkpointing_kind"] == kind


CORPUS = Path(__file__).parents[4] / "shared" / "golden" / "launch" / "corpus.jsonl"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of configurations is not here")
def test_the_corpus_of_torchtitan_is_judged_as_torchtitan_judges_it() -> None:
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["framework"] == "torchtitan"]
    assert len(rows) > 8
    for row in rows:
        flags = flattened(row["flags"], "flags")
        reading = read_job(Document(flags, "torchtitan", row["version"], row["model"], row["gpus"] or 512))
        assert reading.is_legal == ("expect" not in row), (row["id"], reading.broken)
        if "expect" in row:
            assert "T1" in [breach.rule for breach in reading.broken]
