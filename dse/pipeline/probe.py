"""Bandwidth and latency between all pairs of processes of a job, as a topology that every command reads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from dse.pipeline.plans import device_of
from dse.pipeline.processes import Progress

_SMALL_BYTES = 8
_WARM_UP = 3


class Link(NamedTuple):
    """What was measured from a process to another: latency in ns, bandwidth in 1e9 bytes per second."""

    source: int
    destination: int
    latency_ns: float
    bandwidth_gbps: float


def probe(message_bytes: int, repetitions: int, rank: int, processes: int, progress: Progress) -> list[Link]:
    """Measure every pair in turn while the others wait; each process returns the links that start at it.

    The latency is half the median round trip of 8 bytes. For the bandwidth one side sends `message_bytes` and
    the other answers with 8 bytes: bytes / (median time - round trip). Both directions are measured.
    """
    import torch
    import torch.distributed as dist

    device = device_of(rank)
    small = torch.zeros(_SMALL_BYTES, dtype=torch.uint8, device=device)
    large = torch.zeros(message_bytes, dtype=torch.uint8, device=device)
    links = []
    pairs = [(a, b) for a in range(processes) for b in range(processes) if a != b]
    for number, (source, destination) in enumerate(pairs):
        progress(number)
        dist.barrier()
        if rank not in (source, destination):
            continue
        times = [
            _round_trips(sent, small, rank == source, source, destination, repetitions)
            for sent in (small, large)
        ]
        if rank == source:
            trip, large_trip = times
            gain = max(large_trip - trip, 1.0)
            links.append(Link(source, destination, trip / 2, message_bytes / gain))
    dist.barrier()
    return links


def topology_csv(links: Sequence[Link], processes: int) -> str:
    """Return the links as the text of a CSV topology."""
    lines = [
        f"{link.source},{link.destination},{link.latency_ns:.0f},{link.bandwidth_gbps:.6f}"
        for link in sorted(links)
    ]
    return "\n".join([str(processes), "Src,Dest,Latency (ns),Bandwidth (GB/s)", *lines, ""])


def _round_trips(
    sent: Any, answer: Any, is_source: bool, source: int, destination: int, repetitions: int
) -> float:
    """Return the median ns from sending to the answer; 0 at the other side."""
    import torch.distributed as dist

    times = []
    for _ in range(_WARM_UP + repetitions):
        start = time.perf_counter_ns()
        if is_source:
            dist.send(sent, destination)
            dist.recv(answer, destination)
        else:
            dist.recv(sent, source)
            dist.send(answer, source)
        if sent.is_cuda:
            import torch

            torch.cuda.synchronize()
        times.append(time.perf_counter_ns() - start)
    return float(statistics.median(times[_WARM_UP:])) if is_source else 0.0
