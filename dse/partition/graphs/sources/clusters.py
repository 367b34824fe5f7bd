"""Devices of a mixed cluster: GPUs of several types on hosts, and the bandwidth between any two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dse.base.errors import InputError
from dse.inputs.accelerators import accelerator
from dse.partition.graphs.sources.measured import devices_of_matrix
from dse.partition.graphs.sources.source import Rates
from dse.partition.problem.problem import MOST_DEVICES, Devices


@dataclass(frozen=True)
class ClusterHost:
    """A host of equal GPUs; bandwidths in 10^9 bytes per second, of a GPU inside and of the host's uplink."""

    name: str
    accelerator: str
    gpus: int
    intra_gbps: float
    inter_gbps: float
    island: int = 0


def cluster_devices(
    name: str, hosts: Sequence[ClusterHost], between_islands_gbps: float | None
) -> tuple[Devices, Rates]:
    """Return the GPUs of a cluster in the order of its hosts, and what the fastest one, of speed 1, does.

    Between two GPUs is the slowest link on the way, without latency: clusters say none. Speeds are shares of
    the most operations per second of 16-bit numbers.

    Raises:
        InputError: more GPUs than a matrix of all pairs can hold.
    """
    count = sum(host.gpus for host in hosts)
    if count > MOST_DEVICES:
        raise InputError(f"devices={name} has {count} GPUs; at most {MOST_DEVICES} can be partitioned over")
    of = [host for host in hosts for _ in range(host.gpus)]
    place = [number for number, host in enumerate(hosts) for _ in range(host.gpus)]
    types = {host.accelerator: accelerator(host.accelerator) for host in hosts}
    tflops = {
        name: max(found.peak_tflops.get(kind, 0.0) for kind in ("bf16", "fp16"))
        for name, found in types.items()
    }

    def gbps(a: int, b: int) -> float:
        if place[a] == place[b]:
            return of[a].intra_gbps
        uplinks = min(of[a].inter_gbps, of[b].inter_gbps)
        return min(uplinks, between_islands_gbps or uplinks) if of[a].island != of[b].island else uplinks

    matrix = tuple(tuple(gbps(a, b) if a != b else 0.0 for b in range(count)) for a in range(count))
    most = max(tflops, key=lambda key: tflops[key])
    names = tuple(f"{host.name} GPU {gpu}" for host in hosts for gpu in range(host.gpus))
    is_even = len({host.gpus for host in hosts}) == 1
    tiers = tuple(size for size in (len(hosts), hosts[0].gpus) if size > 1) if is_even else ()
    devices = replace(
        devices_of_matrix(matrix, "bandwidth", name),
        speeds=tuple(tflops[host.accelerator] / tflops[most] for host in of),
        memory_bytes=tuple(float(types[host.accelerator].usable_memory_bytes) for host in of),
        tiers=tiers,
        names=names,
    )
    return devices, Rates(tflops[most] * 1e3, types[most].memory_bandwidth_gbps)
