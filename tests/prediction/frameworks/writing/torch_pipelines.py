"""Programs in which torch loads schedules or trains with them: one process for all, for imports are slow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_LOAD = """
import json
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

jobs, ranks, rank, where = json.loads(sys.argv[1]), *map(int, sys.argv[2:4]), sys.argv[4]
cpu = torch.device("cpu")


def rank_of(part, is_v):
    row, place = divmod(part, ranks)
    return ranks - 1 - place if is_v and row % 2 else place


def loaded(path, chunks, batches, is_v):
    parts = ranks * chunks
    torch.manual_seed(1)
    layers = [torch.nn.Linear(8, 8) for _ in range(parts)]
    inputs, targets = torch.randn(2 * batches, 8), torch.randn(2 * batches, 8)
    example = torch.randn(2, 8, requires_grad=True)
    mine = [part for part in range(parts) if rank_of(part, is_v) == rank]
    stages = [
        PipelineStage(layers[part], part, parts, cpu, input_args=(example,), output_args=(example,))
        for part in mine
    ]
    loss = torch.nn.functional.mse_loss
    schedule = _PipelineScheduleRuntime(stages, batches, loss_fn=loss, scale_grads=True)
    schedule.stage_index_to_group_rank = {part: rank_of(part, is_v) for part in range(parts)}
    for stage in stages:
        stage.stage_index_to_group_rank = schedule.stage_index_to_group_rank
    schedule._load_csv(path)
    return schedule, layers, mine, inputs, targets
"""

_COUNT = """
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", rank=rank, world_size=ranks, store=FakeStore())
for job in jobs:
    try:
        schedule, *_ = loaded(*job)
        print(len([action for action in schedule.pipeline_order[rank] if action is not None]))
    except Exception as error:
        print("Error:", " ".join(str(error).split()))
"""

_TRAIN = """
dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=ranks)
for job in jobs:
    schedule, layers, mine, inputs, targets = loaded(*job)
    is_last = len(layers) - 1 in mine
    schedule.step(*([inputs] if 0 in mine else []), target=targets if is_last else None)
    own = {part: layers[part].weight.grad.clone() for part in mine}
    alone = torch.nn.Sequential(*layers)
    alone.zero_grad()
    torch.nn.functional.mse_loss(alone(inputs), targets).backward()
    for part in mine:
        torch.testing.assert_close(own[part], layers[part].weight.grad, rtol=1e-4, atol=1e-6)
    print("equal gradients of", *mine)
dist.destroy_process_group()
"""


class Written(NamedTuple):
    """A schedule's file, and what it is for."""

    path: Path
    chunks: int
    micro_batches: int
    is_v_shaped: bool


def _process(
    program: str, jobs: Sequence[Written], ranks: int, rank: int, where: Path
) -> subprocess.Popen[str]:
    words = [json.dumps([(str(job.path), *job[1:]) for job in jobs]), str(ranks), str(rank), str(where)]
    line = [sys.executable, "-c", program, *words]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-2000:]
    return out.splitlines()


def passes_loaded(jobs: Sequence[Written], ranks: int) -> list[str]:
    """Return how many passes torch loads of each file for the first rank, or its error."""
    return _ended(_process(_LOAD + _COUNT, jobs, ranks, 0, Path()))


def trained(jobs: Sequence[Written], ranks: int, where: Path) -> list[list[str]]:
    """Train a step by each file, and return the lines of each process: it has compared the gradients."""
    processes = [_process(_LOAD + _TRAIN, jobs, ranks, rank, where) for rank in range(ranks)]
    return [_ended(process) for process in processes]
