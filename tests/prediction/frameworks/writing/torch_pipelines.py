"""Programs of one process each in which torch loads a schedule, or trains with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

_LOAD = """
import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime

path, ranks, parts, batches, backend, rank, where, is_v = sys.argv[1:]
ranks, parts, batches, rank = int(ranks), int(parts), int(batches), int(rank)
if backend == "fake":
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=rank, world_size=ranks, store=FakeStore())
else:
    dist.init_process_group(backend, init_method="file://" + where, rank=rank, world_size=ranks)
torch.manual_seed(1)
layers = [torch.nn.Linear(8, 8) for _ in range(parts)]
inputs, targets = torch.randn(2 * batches, 8), torch.randn(2 * batches, 8)
cpu = torch.device("cpu")
example = torch.randn(2, 8, requires_grad=True)


def rank_of(part):
    row, place = divmod(part, ranks)
    return ranks - 1 - place if is_v == "v" and row % 2 else place


mine = [part for part in range(parts) if rank_of(part) == rank]
stages = [
    PipelineStage(layers[part], part, parts, cpu, input_args=(example,), output_args=(example,))
    for part in mine
]
schedule = _PipelineScheduleRuntime(stages, batches, loss_fn=torch.nn.functional.mse_loss, scale_grads=True)
schedule.stage_index_to_group_rank = {part: rank_of(part) for part in range(parts)}
for stage in stages:
    stage.stage_index_to_group_rank = schedule.stage_index_to_group_rank
schedule._load_csv(path)
"""

_COUNT = """
passes = [action for action in schedule.pipeline_order[rank] if action is not None]
print(len(passes))
"""

_TRAIN = """
schedule.step(*([inputs] if 0 in mine else []), target=targets if parts - 1 in mine else None)
own = {part: layers[part].weight.grad.clone() for part in mine}
alone = torch.nn.Sequential(*layers)
alone.zero_grad()
torch.nn.functional.mse_loss(alone(inputs), targets).backward()
for part in mine:
    torch.testing.assert_close(own[part], layers[part].weight.grad, rtol=1e-4, atol=1e-6)
print("equal gradients of", *mine)
dist.destroy_process_group()
"""


def _process(
    program: str, path: Path, shape: tuple[int, int, int], backend: str, rank: int, is_v_shaped: bool
) -> subprocess.Popen[str]:
    ranks, chunks, batches = shape
    words = [
        path,
        ranks,
        ranks * chunks,
        batches,
        backend,
        rank,
        path.with_suffix(".meeting"),
        "v" * is_v_shaped,
    ]
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    return ("" if process.returncode else out.strip()), err


def passes_loaded(path: Path, shape: tuple[int, int, int], is_v_shaped: bool) -> tuple[str, str]:
    """How many passes torch loads for the first rank of ranks, chunks and micro-batches; or its error."""
    return _ended(_process(_LOAD + _COUNT, path, shape, "fake", 0, is_v_shaped))


def trained(path: Path, shape: tuple[int, int, int], is_v_shaped: bool) -> list[tuple[str, str]]:
    """What each process prints after a step whose gradients it has compared; or its error."""
    processes = [_process(_LOAD + _TRAIN, path, shape, "gloo", rank, is_v_shaped) for rank in range(shape[0])]
    return [_ended(process) for process in processes]
