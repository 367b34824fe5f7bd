"""Bandwidth and latency between all pairs of processes of a job, as a topology that every command reads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from dse.base.lazy import dist, torch
from dse.partition.run.plans import device_of
from dse.partition.run.processes import Progress

_SMALL_BYTES = 8
_WARM_UP = 3


class Link(NamedTuple):
    """A measured link from a process to another: latency in ns, bandwidth in 1e9 bytes per second."""

    source: int
    destination: int
    latency_ns: float
    bandwidth_gbps: float


def probe(message_bytes: int, repetitions: int, rank: int, processes: int, progress: Progress) -> list[Link]:
    """Measure every pair in turn while the others wait; each process returns the links that start at it.

    One side sends 8 bytes, then `message_bytes`, and the other answers with 8 bytes. The least times of the
    repetitions count, which other programs lengthen least. Both directions are measured.
    """
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
            links.append(link_of(source, destination, message_bytes, *times))
    dist.barrier()
    return links


def link_of(
    source: int, destination: int, message_bytes: int, small_ns: Sequence[float], large_ns: Sequence[float]
) -> Link:
    """Return a link from round trips of 8 bytes, half the least of which is latency, and of `message_bytes`.

    A byte takes what the large message takes longer; where it took no longer, all of its round trip.
    """
    trip, large_trip = min(small_ns), min(large_ns)
    longer = large_trip - trip if large_trip > trip else large_trip
    return Link(source, destination, trip / 2, message_bytes / longer)


def topology_csv(links: Sequence[Link], processes: int) -> str:
    """Return the links as the text of a CSV topology."""
    lines = [
        f"{link.source},{link.destination},{link.latency_ns:.0f},{link.bandwidth_gbps:.6f}"
        for link in sorted(links)
    ]
    return "\n".join([str(processes), "Src,Dest,Latency (ns),Bandwidth (GB/s)", *lines, ""])


def _round_trips(
    sent: Any, answer: Any, is_source: bool, source: int, destination: int, repetitions: int
) -> list[float]:
    """Return the ns from sending to the answer of each repetition, on the side that sends."""
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
            torch.cuda.synchronize()
        times.append(float(time.perf_counter_ns() - start))
    return times[_WARM_UP:]
