"""Record steps of small transformers by PyTorch on CPUs: `python torch_steps.py FOLDER JOB:RANKS ...`.

Writes FOLDER/JOB.RANKS/et.RANK.json and kineto.RANK.json. PyTorch is imported once: the ranks are forks.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

WIDTH, HEADS, WORDS, LENGTH, LAYERS = 128, 4, 256, 128, 4
MICROBATCHES = 4
DELAY_S = 1.0
"""A slow rank sleeps so long between its forward and its backward pass."""


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.other_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(self.norm(x)).split(WIDTH, 2)
        heads = [part.unflatten(2, (HEADS, -1)).transpose(1, 2) for part in parts]
        x = x + self.join(scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.inner(self.other_norm(x))


class Part(nn.Module):
    """Some layers, the first of which reads words and the last of which writes them."""

    def __init__(self, layers: int, *, is_first: bool, is_last: bool) -> None:
        super().__init__()
        self.read = nn.Embedding(WORDS, WIDTH) if is_first else nn.Identity()
        self.blocks = nn.ModuleList([Block() for _ in range(layers)])
        self.write = nn.Linear(WIDTH, WORDS) if is_last else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.read(x)
        for block in self.blocks:
            x = block(x)
        return self.write(x)


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return cross_entropy(output.flatten(0, 1), target.flatten())


def ddp(slow_rank: int = -1) -> Callable[[], None]:
    """Data parallel, several buckets; the loss is summed at the end."""
    words = torch.randint(0, WORDS, (8, LENGTH))
    model = nn.parallel.DistributedDataParallel(Part(LAYERS, is_first=True, is_last=True), bucket_cap_mb=1)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss = loss_of(model(words), words)
        if dist.get_rank() == slow_rank:
            time.sleep(DELAY_S)
        loss.backward()
        optimizer.step()
        dist.all_reduce(loss.detach())

    return step


def fsdp() -> Callable[[], None]:
    """Fully sharded, a group of parameters a layer."""
    words = torch.randint(0, WORDS, (8, LENGTH))
    model = Part(LAYERS, is_first=True, is_last=True)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(words), words).backward()
        optimizer.step()

    return step


def pipeline() -> Callable[[], None]:
    """1F1B, a stage a rank."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    words = torch.randint(0, WORDS, (8, LENGTH))
    part = Part(LAYERS // ranks, is_first=rank == 0, is_last=rank == ranks - 1)
    stage = PipelineStage(part, rank, ranks, torch.device("cpu"))
    order = Schedule1F1B(stage, n_microbatches=MICROBATCHES, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(part.parameters())

    def step() -> None:
        optimizer.zero_grad()
        args = (words,) if rank == 0 else ()
        order.step(*args, **({"target": words} if rank == ranks - 1 else {}))
        optimizer.step()

    return step


def grid() -> Callable[[], None]:
    """Four ranks in two rows and two columns: sums along the rows and, of another size, along the columns."""
    rank = dist.get_rank()
    rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    weight = torch.eye(256)

    def step() -> None:
        x = torch.ones(256, 256)
        for _ in range(3):
            x = torch.mm(x, weight)
            if rank == 3:
                time.sleep(DELAY_S / 10)
            dist.all_reduce(x, group=rows[rank // 2])
            y = x[0].clone()
            dist.all_reduce(y, group=columns[rank % 2])

    return step


JOBS: dict[str, Callable[[], Callable[[], None]]] = {
    "ddp": ddp,
    "slow": lambda: ddp(slow_rank=1),
    "fsdp": fsdp,
    "pipeline": pipeline,
    "grid": grid,
}


def record(job: str, folder: Path, rank: int, ranks: int) -> None:
    """Run a job as one rank; record its third step."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    step = JOBS[job]()

    def save(profiler: Any) -> None:
        profiler.export_chrome_trace(f"{folder}/kineto.{rank}.json")

    observer = ExecutionTraceObserver().register_callback(f"{folder}/et.{rank}.json")
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
        execution_trace_observer=observer,
        on_trace_ready=save,
    ) as profiler:
        for _ in range(3):
            step()
            profiler.step()
    dist.barrier()
    dist.destroy_process_group()


def main(folder: Path, runs: list[str]) -> None:
    context = multiprocessing.get_context("fork")
    for run in runs:
        job, ranks = run.split(":")
        home = folder / f"{job}.{ranks}"
        home.mkdir(parents=True)
        members = [
            context.Process(target=record, args=(job, home, rank, int(ranks))) for rank in range(int(ranks))
        ]
        for member in members:
            member.start()
        for member in members:
            member.join()
        if any(member.exitcode for member in members):
            sys.exit(f"{job} failed")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    main(Path(sys.argv[1]), sys.argv[2:])
