"""DeepSpeed itself as the judge of files that are written, and of files with one broken rule.

Where it differs from us, the reason is in `LATER` and `DIFFERENT`.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.prediction.frameworks.dialect import dialect_named
from dse.prediction.frameworks.job import Document, Job
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.frameworks.reading.configurations import flattened
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.deep_jobs import MODELS

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None or importlib.util.find_spec("torch") is None,
    reason="DeepSpeed or PyTorch is not installed",
)

Settings = dict[str, Any]
Case = tuple[Settings, int, int]

LATER = {
    "D0": "an indivisible number of ranks is refused where groups are made",
    "D0-mesh": "deepspeed.initialize makes the mesh, not the configuration",
    "D5": "the pipeline engine refuses stages 2 and 3 when it is made",
    "D8": "no check of heads exists: further ranks of an exchange of heads have none",
    "D9": "AutoEP counts experts when it finds them in the model",
    "D9-ranks": "AutoEP checks its ranks in the engine",
    "D9-tensor": "AutoEP checks its ranks in the engine",
    "D10": "AutoTP and Ulysses meet in the engine",
    "D11": "second copies of weights are made in the engine",
}
"""Rules that we refuse and the configuration accepts, each with the reason."""

DIFFERENT = {
    "D6": "auto is legal under a Trainer, which replaces it: we warn, DeepSpeed alone fails with a TypeError",
}
"""Rules of which we only warn although DeepSpeed refuses."""

SILENT = ("D4-top", "D7-stage", "D7-optimizer", "D8-keys")
"""Rules that DeepSpeed lacks, which are warnings: the settings have no effect."""

REFUSED = ("D1", "D1-given", "D2", "D3", "D4", "D4-removed", "D7", "D7-weights")


def _verdicts(cases: list[Case]) -> list[str]:
    program = Path(__file__).with_name("deepspeed_arbiter.py")
    done = subprocess.run(
        [sys.executable, str(program)], input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[str] = json.loads(done.stdout)
    assert len(found) == len(cases)
    return found


def _job(rng: random.Random) -> Job:
    """A legal job of a model, drawn at random."""
    model = MODELS[rng.choice(sorted(MODELS))]
    tp, cp = rng.choice([(1, 1), (1, 1), (2, 1), (4, 1), (1, 2), (1, 4)])
    dp, stage = rng.choice([1, 2, 4, 8, 16]), rng.randrange(4)
    ep = rng.choice([n for n in (1, 2, 4, 8) if (tp * cp * dp) % n == 0]) if model.experts else 1
    plan = Plan(
        dp=dp, tp=tp, cp=cp, ep=ep,
        expert_tp=1 if ep > 1 and tp > 1 else 0,
        micro_batch=rng.choice([1, 2, 3]),
        weight_sharded=stage == 3,
        zero=1 if stage == 3 else stage,
        context="ulysses" if cp > 1 else "ring",
        recompute=rng.choice(["none", "full"]),
        precision=rng.choice(["bf16", "fp16"]),
        overlap_dp=stage == 3 or rng.random() < 0.5,
        offload=rng.choice(["none", "optimizer"]) if stage else "none",
        framework="megatron-deepspeed",
    )  # fmt: skip
    return Job(replace(model, batch_size=dp * plan.micro_batch * rng.randint(1, 9), micro_batches=None), plan)


def _file(job: Job) -> Settings:
    written = write_job(job, "deepspeed")
    rendered = dialect_named("deepspeed").rendered(written.settings, job.model.name)
    found: Settings = json.loads(rendered.files["ds_config.json"])
    return found


def _reading(file: Settings, npus: int, model: str) -> Reading:
    return read_job(Document(flattened(file, "file"), "deepspeed", npus=npus), model)


def _legal() -> list[Job]:
    rng = random.Random(33)
    return [_job(rng) for _ in range(300)]


def _broken(rule: str, rng: random.Random) -> tuple[Settings, int, str]:
    """A file that breaks a rule, its number of ranks and its model."""
    job = _job(rng)
    wants_experts = rule.startswith("D9")
    while (job.model.experts is not None and job.plan.ep > 1) != wants_experts or (
        job.plan.tp * job.plan.cp > 1
    ):
        job = _job(rng)
    file, npus, group = _file(job), job.npus, _GROUPS.get(rule, "zero_optimization")
    mine = file.setdefault(group, {})
    if rule == "D1":
        name = rng.choice(
            ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"]
        )
        file[name] += rng.randint(1, 5)
    elif rule == "D1-given":
        del file["train_batch_size"], file["train_micro_batch_size_per_gpu"]
    elif rule == "D2":
        mine["stage"] = rng.choice([-1, 4, 5, 9])
    elif rule == "D3":
        file["bf16"], file["fp16"] = {"enabled": True}, {"enabled": True}
    elif rule == "D4":
        where = rng.choice([mine, file.setdefault("bf16", {}), file.setdefault("fp16", {}),
                            file.setdefault("tensor_parallel", {})])  # fmt: skip
        where[rng.choice(["overlapp", "enable", "size", "contiguous"])] = rng.choice([True, 1])
    elif rule == "D4-removed":
        mine["mics_shard_size"] = rng.choice([1, 8])
    elif rule in ("D7", "D7-weights"):
        mine["stage"] = 3
        mine["offload_param" if rule == "D7-weights" else "offload_optimizer"] = {
            "device": rng.choice(["disk", "gpu", "ssd"])
        }
    elif rule == "D6":
        file[rng.choice(["train_batch_size", "gradient_accumulation_steps"])] = "auto"
    elif rule == "D4-top":
        file[rng.choice(["tensor_paralel", "zero", "gradient_accumulation", "bf_16"])] = {"enabled": True}
    elif rule == "D7-stage":
        mine |= {"stage": rng.randrange(3), "offload_param": {"device": "cpu"}}
    elif rule == "D7-optimizer":
        mine |= {"stage": 0, "offload_optimizer": {"device": rng.choice(["cpu", "nvme"])}}
    else:
        npus = _broken_later(rule, file, mine, npus, rng)
    return file, npus, job.model.name


_GROUPS = {
    "D5": "pipeline",
    "D9": "expert_parallel",
    "D9-ranks": "expert_parallel",
    "D9-tensor": "expert_parallel",
    "D0": "tensor_parallel",
    "D10": "tensor_parallel",
    "D8-keys": "tensor_parallel",
}


def _broken_later(rule: str, file: Settings, mine: Settings, npus: int, rng: random.Random) -> int:
    """Break a rule that no configuration sees; return the number of ranks."""
    del file["train_batch_size"]
    if rule == "D0":
        mine["autotp_size"] = 3
    elif rule == "D0-mesh":
        file["data_parallel_size"] = npus + rng.randint(1, 5)
    elif rule == "D5":
        file["zero_optimization"]["stage"] = rng.choice([2, 3])
        mine["stages"], npus = 2, 2 * npus
    elif rule == "D8":
        file["sequence_parallel_size"], npus = 5, 5 * npus
    elif rule == "D9":
        mine["autoep_size"] = rng.choice([7, 11])
        npus *= mine["autoep_size"]
    elif rule == "D9-ranks":
        npus = 2 * npus + 1
    elif rule == "D9-tensor":
        mine["expert_tensor_parallel_size"], npus = 2, 2 * npus
    elif rule == "D10":
        mine["autotp_size"], file["sequence_parallel_size"], npus = 2, 2, 4 * npus
    elif rule == "D11":
        mine |= {"stage": rng.randrange(3), "zero_hpz_partition_size": 2}
    else:
        assert rule == "D8-keys"
        mine["autotp_size"], npus = 256, 256 * npus
    return npus


def _all_broken() -> list[tuple[str, Settings, int, str]]:
    rng = random.Random(1)
    rules = [*REFUSED, *LATER, *DIFFERENT, *SILENT]
    return [(rule, *_broken(rule, rng)) for rule in rules for _ in range(14)]


AUTOTP: Settings = {
    "train_batch_size": 32,
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 8,
    "tensor_parallel": {"autotp_size": 4},
}


@pytest.fixture(scope="module")
def verdicts() -> tuple[list[str], list[str], list[str]]:
    """The answers to legal files, to those with a broken rule, and to AutoTP without and with an mpu."""
    legal: list[Case] = [(_file(job), job.npus, 0) for job in _legal()]
    broken: list[Case] = [(file, npus, 0) for _, file, npus, _ in _all_broken()]
    found = _verdicts([*legal, *broken, (AUTOTP, 16, 0), (AUTOTP, 16, 4)])
    return found[: len(legal)], found[len(legal) : -2], found[-2:]


def test_files_of_random_jobs_are_accepted(verdicts: tuple[list[str], ...]) -> None:
    jobs = _legal()
    assert {job.model.name for job in jobs} == set(MODELS)
    for job in jobs:
        reading = _reading(_file(job), job.npus, job.model.name)
        assert reading.job == job, reading.broken
    assert not [(job, verdict) for job, verdict in zip(jobs, verdicts[0], strict=True) if verdict]


def test_one_broken_rule_is_refused_where_deepspeed_refuses_it(verdicts: tuple[list[str], ...]) -> None:
    drawn = _all_broken()
    assert len(drawn) >= 300
    for (rule, file, npus, model), verdict in zip(drawn, verdicts[1], strict=True):
        named = {breach.rule: breach for breach in _reading(file, npus, model).broken}
        assert rule in named, (rule, file, npus, list(named))
        assert "ArbiterError" not in verdict, verdict
        assert bool(verdict) == (rule in REFUSED or rule in DIFFERENT), (rule, file, verdict)
        assert named[rule].is_warning == (rule in DIFFERENT or rule in SILENT)
        assert (named[rule].by == "framework") == bool(verdict)


def test_every_rule_has_a_case() -> None:
    cases = {*REFUSED, *LATER, *DIFFERENT, *SILENT}
    assert set(dialect_named("deepspeed").table.rules) - cases == {"D1-asked", "D1-tensor"}


def test_autotp_needs_the_ranks_of_the_program_for_a_batch(verdicts: tuple[list[str], ...]) -> None:
    """A batch without the ranks of AutoTP: accepted with an mpu only, of which we warn (D1-tensor)."""
    alone, with_ranks = verdicts[2]
    assert "AssertionError" in alone
    assert not with_ranks
    assert [breach.rule for breach in _reading(AUTOTP, 16, "llama3_8b").broken] == ["D1-tensor"]
