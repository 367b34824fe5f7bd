"""torchtitan itself as the arbiter: it takes what is written, and refuses what its rules refuse."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dse.prediction.frameworks.dialect import dialect_named
from dse.prediction.frameworks.job import Document, Job
from dse.prediction.frameworks.jobs import read_job, write_job
from dse.prediction.frameworks.kinds.torchtitan_models import flavour_of, flavours
from dse.prediction.frameworks.kinds.torchtitan_stages import named_parts
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.titan_jobs import MODELS, titan_job

pytestmark = pytest.mark.skipif(
    not all(
        importlib.util.find_spec(name) for name in ("torch", "torchao", "torchtitan", "tyro", "spmd_types")
    ),
    reason="torchtitan is not installed: make arbiters",
)
ROOT = Path(__file__).parents[3]
P, T = "parallelism.", "training."
TP, PP, CP, EP = (f"{P}{kind}_parallel_degree" for kind in ("tensor", "pipeline", "context", "expert"))
SHARD, REPLICATE = f"{P}data_parallel_shard_degree", f"{P}data_parallel_replicate_degree"
LOCAL, GLOBAL, SEQ = f"{T}local_batch_size", f"{T}global_batch_size", f"{T}seq_len"
GRAPHS_OFF, MBS = f"{T}disable_cuda_graphs", f"{P}pipeline_parallel_microbatch_size"
SCHEDULE, SIZE = f"{P}pipeline_parallel_schedule", f"{P}pipeline_parallel_layers_per_stage"
ATTENTION = "model_spec.attn_backend"
FIRST, LAST = (f"{P}pipeline_parallel_{end}_stage_less_layers" for end in ("first", "last"))
PARTS = f"{P}module_fqns_per_model_part"
LEGAL, PER_RULE = (300, 12) if os.environ.get("DSE_NIGHTLY") else (60, 2)


@dataclass(frozen=True)
class Case:
    """A configuration with the rule that it breaks, empty for none; `whole`: the Trainer is built, too."""

    settings: dict[str, Any]
    model: str
    npus: int
    rule: str = ""
    whole: bool = False

    @property
    def words(self) -> dict[str, Any]:
        """The case as the arbiter reads it; the whole Trainer is that of a model of six layers."""
        rendered = dialect_named("torchtitan").rendered(self.settings, self.model)
        words = [word for word in rendered.program if isinstance(word, str)][2:]
        for option in ("--hf_assets_path", "--training.steps"):
            words.remove(option)
        if self.whole and self.rule != "T3":
            words[words.index("--config") + 1] = "llama3_debugmodel"
        return {"words": words, "files": dict(rendered.files), "npus": self.npus, "whole": self.whole}


def _job(name: str, batch: int = 64, **plan: Any) -> Job:
    return Job(replace(MODELS[name], batch_size=batch), Plan(**{"framework": "torchtitan", **plan}))


def _legal() -> list[Case]:
    chooser = random.Random(1)
    jobs = [titan_job(chooser.choice) for _ in range(LEGAL)]
    return [Case(dict(write_job(job, "torchtitan").settings), job.model.name, job.npus) for job in jobs]


def _whole() -> list[Case]:
    """Jobs that fit a model of six layers with 16 heads."""
    plans: list[dict[str, Any]] = [
        {"dp": 8, "weight_sharded": True},
        {"dp": 4, "tp": 2, "zero": 2, "sequence_parallel": True, "recompute": "full"},
        {"dp": 4, "zero": 0, "graphs": "full"},
        {"dp": 8, "shard_ranks": 2, "weight_sharded": True, "micro_batch": 2},
        {"dp": 2, "pp": 2, "weight_sharded": True, "stages": "lighter-ends", "schedule": "gpipe"},
        {"dp": 2, "pp": 2, "weight_sharded": True, "stages": "lighter-ends", "schedule": "zb-h1"},
        {"dp": 2, "pp": 2, "weight_sharded": True, "stages": "lighter-ends", "schedule": "zb-v", "chunks": 2},
    ]  # fmt: skip
    found = []
    for plan in plans:
        job = _job("llama3_8b", **plan)
        settings = {**write_job(job, "torchtitan").settings, SEQ: 2048}
        settings.pop(PARTS, None)  # layers that the small model lacks
        found.append(Case(settings, "llama3_8b", job.npus, whole=True))
    return found


def _broken() -> list[Case]:
    """Legal jobs with one setting changed so that one rule breaks."""
    chooser = random.Random(2)
    found: list[Case] = []
    for rule, plan, changes, models in BROKEN:
        for number in range(PER_RULE):
            name = models[number % len(models)]
            job = _job(name, **plan)
            changed = {key: value(chooser) if callable(value) else value for key, value in changes.items()}
            npus = changed.pop("npus", job.npus)
            settings = {**write_job(job, "torchtitan").settings, **changed}
            settings = {key: value for key, value in settings.items() if value is not None}
            whole = rule in ("T3", "T4")
            found.append(Case(settings, name, npus, rule, whole=whole))
    return found


def _one(*values: Any) -> Any:
    return lambda chooser: chooser.choice(values)


DENSE = ("llama3_8b", "llama3_70b", "qwen3_32b")
MOE = ("qwen3_30b_a3b", "deepseek_v3", "gpt_oss_120b")
FSDP: dict[str, Any] = {"dp": 8, "weight_sharded": True}
PIPE: dict[str, Any] = {**FSDP, "pp": 4, "stages": "lighter-ends", "batch": 256}
LOOPED: dict[str, Any] = {**PIPE, "schedule": "interleaved", "chunks": 2}
SCALED: dict[str, Any] = {**FSDP, "ep": 4, "precision": "fp8", "framework": "torchtitan-compiled"}
FREE = {PARTS: None}
BROKEN: list[tuple[str, dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    ("T1", FSDP, {SHARD: _one(2, 4, 16)}, DENSE),
    ("T1", {**FSDP, "tp": 2}, {"npus": _one(15, 17, 24)}, MOE),
    ("T2", FSDP, {EP: _one(16, 32), GRAPHS_OFF: True}, MOE),
    ("T3", {**FSDP, "tp": 4, "sequence_parallel": True}, {SEQ: _one(4095, 4094, 1026)}, ("llama3_8b",)),
    ("T4", FSDP, {GLOBAL: _one(63, 100, 4), SEQ: 2048}, ("llama3_8b",)),
    ("T5", PIPE, {MBS: _one(3, 5, 7)}, DENSE),
    ("T6", PIPE, {GRAPHS_OFF: False}, DENSE),
    ("T6-ep", {**FSDP, "ep": 4}, {GRAPHS_OFF: False}, MOE),
    ("T7", {**PIPE, "schedule": "gpipe"}, {**FREE, FIRST: 0, LAST: 0, SIZE: _one(13, 14, 15)}, DENSE),
    ("T7-chunks", PIPE, {**FREE, FIRST: 0, LAST: 0, SIZE: 4}, ("llama3_8b", "qwen3_32b")),
    ("T7-chunks", LOOPED, {**FREE, FIRST: 0, LAST: 0, SIZE: _one(16, 17, 18)}, ("qwen3_32b",)),
    ("T8", PIPE, {**FREE, FIRST: _one(30, 60)}, DENSE),
    ("T9", FSDP, {"compile.enable_async_tensor_parallel": True}, DENSE),
    ("T10", FSDP, {"activation_checkpoint": "memory-budget"}, DENSE),
    ("T11", FSDP, {TP: 16, "npus": 128}, DENSE),
    ("T12", FSDP, {SEQ: 2**18}, DENSE),
    ("T14", {**FSDP, "cp": 2, "context": "gather"}, {"model_spec.num_mtp_layers": 1}, ("deepseek_v3",)),
    ("T15", PIPE, {SCHEDULE: _one("1F1", "dualpipe")}, DENSE),
    ("T15-batches", PIPE, {LOCAL: 2, GLOBAL: 16}, DENSE),
    ("T15-rounds", LOOPED, {**FREE, FIRST: 0, LAST: 0, LOCAL: _one(9, 11, 13), GLOBAL: -1}, DENSE),
    ("T16", FSDP, {f"{P}fsdp_reshard_after_forward": "sometimes"}, DENSE),
    ("T17", {**FSDP, "cp": 2, "context": "gather"}, {ATTENTION: "varlen"}, ("llama3_8b", "qwen3_8b")),
    ("T8-parts", PIPE, {PARTS: named_parts((7, 7, 7, 7))}, DENSE),
    ("D-experts", {**FSDP, "dp": 9, "batch": 72}, {EP: _one(3, 9), GRAPHS_OFF: True}, ("deepseek_v3",)),
    ("D-ep", FSDP, {EP: 4}, DENSE),
    ("T18", SCALED, {"model_spec.moe_comm_backend": _one("deepep", "minimal_async_ep")}, MOE),
]  # fmt: skip


def _answer(folder: Path) -> dict[str, Any]:
    """Ask one process of torchtitan for its verdicts on all cases."""
    cases = [*_legal(), *_whole(), *_broken()]
    registered = [flavour_of(name) for name in flavours()]
    asked = {
        "cases": [case.words for case in cases],
        "flavours": [[one.module, one.flavour] for one in registered if one is not None],
    }
    found = subprocess.run(
        [sys.executable, "-m", "tests.prediction.frameworks.torchtitan_verdicts"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert found.returncode == 0, found.stderr[-2000:]
    answer: dict[str, Any] = json.loads(found.stdout)
    return {"shapes": answer["shapes"], "said": list(zip(cases, answer["verdicts"], strict=True))}


@pytest.mark.slow
def test_torchtitan_agrees(tmp_path: Path) -> None:
    """All in one test, as one process answers: to import torchtitan takes longer than most of its answers."""
    answer = _answer(tmp_path)
    _check_flavours(answer["shapes"])
    legal = [(case, said) for case, said in answer["said"] if not case.rule]
    assert len(legal) > LEGAL
    assert len({case.model for case, _ in legal}) > 6
    assert [(said, case.settings) for case, said in legal if said] == []
    broken = [(case, said) for case, said in answer["said"] if case.rule]
    assert len(broken) == len(BROKEN) * PER_RULE
    assert [wrong for case, said in broken if (wrong := _disagreement(case, said))] == []


def _disagreement(case: Case, said: str) -> str:
    """How a reading differs from what torchtitan says: another rule, or another who refuses."""
    stages = {
        "framework": ("config", "dims"),
        "later": ("mesh", "model", "pipeline", "trainer"),
        "dse": ("",),
    }
    reading = read_job(Document(case.settings, "torchtitan", model=case.model, npus=case.npus))
    found = [(breach.rule, breach.by) for breach in reading.broken]
    by = reading.dialect.table.rules[case.rule].by
    is_same = found == [(case.rule, by)] and said.partition(":")[0] in stages[by]
    return "" if is_same else f"{case.model}, {case.rule}: {found}, but torchtitan: {said or 'takes it'}"


def _check_flavours(shapes: list[list[int]]) -> None:
    """The models of conf/model are those of torchtitan's registry."""
    for name, (layers, width, heads, kv_heads, with_experts, vocabulary, longest) in zip(
        flavours(), shapes, strict=True
    ):
        model, flavour = MODELS[name], flavour_of(name)
        assert (model.num_layers, model.d_model, model.num_heads) == (layers, width, heads), name
        assert (model.key_value_heads, model.output_dim) == (kv_heads, vocabulary), name
        experts = model.experts
        assert with_experts == (model.num_layers - experts.dense_layers if experts else 0), name
        assert flavour is not None
        assert flavour.longest_seq == longest
