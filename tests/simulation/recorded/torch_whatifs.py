"""Record a job and what becomes of it with slow links, or with twice the work on half of its ranks.

`python torch_whatifs.py FOLDER JOB:RANKS ...`, as `torch_steps.py`; jobs are `plain-0` to `doubled-2`.
Layers nap as if they waited for a device, so that other programs on the machine change little.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import torch
import torch.distributed as dist
import torch_steps
from torch import nn

WIDTH, LAYERS = 128, 6
FORWARD_S, BACKWARD_S = 0.015, 0.05
DELAY_S = 0.09
"""Two all-reduces at a time are under way, as gloo has two threads."""


class Nap(torch.autograd.Function):
    """Takes its time in both passes."""

    @staticmethod
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        time.sleep(FORWARD_S)
        return x.clone()

    @staticmethod
    def backward(_: Any, gradient: torch.Tensor) -> torch.Tensor:
        time.sleep(BACKWARD_S)
        return gradient.clone()


class Layer(nn.Module):
    """A linear layer and a nap."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Nap.apply(self.linear(x))


def job(delay_s: float, times: int) -> Callable[[], None]:
    """Data parallel. All-reduces take `delay_s` longer; the upper half of the ranks works `times` times."""
    layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
    model = nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    words = torch.randn(4, WIDTH)
    repeated = times - 1 if dist.get_rank() >= dist.get_world_size() // 2 else 0

    def arrive(work: Any, future: Any, buffer: torch.Tensor) -> None:
        work.wait()
        time.sleep(delay_s)
        future.set_result(buffer)

    # PyTorch refuses annotations that are texts.
    def reduce(_, bucket):  # type: ignore[no-untyped-def]
        work, future = dist.all_reduce(bucket.buffer(), async_op=True), torch.futures.Future()
        # A callback of the work itself would run in this thread if the work is done by now.
        Thread(target=arrive, args=(work, future, bucket.buffer())).start()
        return future

    model.register_comm_hook(None, reduce)

    def step() -> None:
        optimizer.zero_grad()
        for _ in range(repeated):
            with model.no_sync():
                model(words).square().mean().backward()
        model(words).square().mean().backward()
        optimizer.step()

    return step


for turn in range(3):
    for name, delay_s, times in (("plain", 0, 1), ("delayed", DELAY_S, 1), ("doubled", 0, 2)):
        torch_steps.JOBS[f"{name}-{turn}"] = partial(job, delay_s, times)

if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    torch_steps.main(Path(sys.argv[1]), sys.argv[2:])
