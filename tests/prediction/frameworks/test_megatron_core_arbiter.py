"""Megatron-Core accepts what is written for Megatron-LM, and refuses what its rules refuse."""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from dse.prediction.frameworks.job import Document, Job
from dse.prediction.frameworks.jobs import read_job, write_job
from tests.prediction.frameworks.test_megatron_lm import jobs

pytestmark = pytest.mark.skipif(
    not importlib.util.find_spec("megatron") or not importlib.util.find_spec("torch"),
    reason="megatron-core is not installed: make arbiters",
)
JUDGE = Path(__file__).with_name("megatron_core_judge.py")


@functools.cache
def _jobs() -> tuple[Job, ...]:
    """The same 300 random jobs in each run."""
    found: list[Job] = []

    @given(job=jobs())
    @settings(
        max_examples=300,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def collect(job: Job) -> None:
        found.append(job)

    collect()
    return tuple(found)


# Rules that the core does not check when it is configured: Megatron-LM's arguments or its layers do.
_NOT_IN_THE_CORE = {
    "M4": "the layers of stages are counted when they are built",
    "M4-chunks": "the layers of virtual stages are counted when they are built",
    "M6": "virtual stages without a pipeline are refused by parallel_state only",
    "M9": "sequences are cut when data is loaded",
    "M10": "the expert layer divides its experts",
    "M12": "Megatron-LM switches it off; the core refuses it",
    "M13": "an argument of the optimizer",
    "M14": "the core's user buffers need it, its config does not",
    "M16-optimizer": "an argument of the optimizer",
    "M18": "the schedule sees it when it runs",
    "M19": "the expert layer refuses it when it trains",
    "M22": "the core takes bf16 and fp16 together",
    "M24": "the schedule of the overlap refuses it",
    "M26": "the core knows no sequence length",
    "M28": "the exchange of heads fails when it runs",
    "D-topk": "the router fails when it runs",
}
_BROKEN: dict[str, dict[str, Any]] = {
    "M1": {"--tensor-model-parallel-size": 16},
    "M2": {"--num-attention-heads": 33},
    "M3": {"--num-query-groups": 6, "--group-query-attention": True},
    "M7": {"--pipeline-model-parallel-layout": "Ett|tL"},
    "M8": {"--global-batch-size": 17},
    "M10": {"--expert-model-parallel-size": 4},
    "M13": {"--overlap-grad-reduce": False},
    "M15-method": {"--recompute-granularity": "full", "--recompute-method": None},
    "M15-selective": {"--recompute-granularity": "selective", "--recompute-num-layers": 2},
    "M16-pipeline": {"--cpu-offloading-num-layers": 2},
    "M16-layers": {"--cpu-offloading-num-layers": 32},
    "M18": {"--global-batch-size": 1},
    "M22": {"--fp16": True, "--bf16": True},
    "M23": {"--fp8-format": "hybrid", "--fp4-format": "e2m1"},
    "M26": {"--max-position-embeddings": 8},
    "M28": {"--cp-comm-type": "a2a"},
    "D-topk": {"--moe-router-topk": 300},
}


def _options(job: Job) -> dict[str, Any]:
    options = dict(write_job(job, "megatron-lm").settings)
    for key in ("--fp8-format", "--fp8-recipe"):  # the core asks Transformer Engine, which needs a GPU
        options.pop(key, None)
    if job.plan.graphs != "none":  # names of what graphs capture differ between 0.16 and 0.19
        del options["--cuda-graph-impl"], options["--cuda-graph-scope"]
    return options


Case = tuple[int, dict[str, Any]]


def _broken_cases() -> list[tuple[str, Case]]:
    """Options that break one rule each, at most 30 of a rule."""
    found: list[tuple[str, Case]] = []
    counts: Counter[str] = Counter()
    for job in _jobs():
        legal = _options(job)
        for rule, change in _BROKEN.items():
            if counts[rule] == 30:
                continue
            options = {key: value for key, value in {**legal, **change}.items() if value is not None}
            reading = read_job(Document(options, "megatron-lm", npus=job.npus))
            broken = [breach.rule for breach in reading.broken if not breach.is_warning]
            if len(broken) == 1 and counts[broken[0]] < 30:
                counts[broken[0]] += 1
                found.append((broken[0], (job.npus, options)))
    return found


def test_the_core_accepts_what_is_written_and_refuses_its_broken_rules(tmp_path: Path) -> None:
    """In one process, whose imports take longest."""
    legal, broken = [(job.npus, _options(job)) for job in _jobs()], _broken_cases()
    path = tmp_path / "cases.json"
    path.write_text(json.dumps([*legal, *[case for _, case in broken]]), encoding="utf-8")
    line = [sys.executable, str(JUDGE), str(path)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    said: list[str] = json.loads(done.stdout.splitlines()[-1])
    assert len({job.model.name for job in _jobs()}) >= 6
    assert len(legal) == 300
    assert set(said[: len(legal)]) == {""}
    judged = list(zip([rule for rule, _ in broken], said[len(legal) :], strict=True))
    assert len(judged) >= 300
    assert len({rule for rule, _ in judged}) >= 10
    assert {rule for rule, refusal in judged if not refusal} <= set(_NOT_IN_THE_CORE)
