"""Devices of a system: its NPUs, the routes between them, memory, rates, and its tiers."""

from __future__ import annotations

from dataclasses import replace

from dse.base.errors import InputError
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.links import link_graph
from dse.partition.graphs.sources.measured import devices_of_links
from dse.partition.graphs.sources.source import Rates
from dse.partition.problem.problem import MOST_DEVICES, Devices


def system_devices(system: SystemSpec) -> tuple[Devices, Rates]:
    """Return the devices of a system, and what one of speed 1 does.

    A switch is a node of the network: messages pass it on. Deratings of compute are speeds. A GB/s of a
    system's network is 2^30 bytes per second.

    Raises:
        InputError: more NPUs than a matrix of all pairs can hold.
    """
    if system.npus > MOST_DEVICES:
        raise InputError(
            f"devices={system.name} has {system.npus} NPUs; at most {MOST_DEVICES} can be partitioned over: "
            "take fewer with system.network.0.npus=N"
        )
    devices = devices_of_links(link_graph(system, switches="nodes"), system.name, gb_bytes=2**30)
    sizes = [size for dimension in system.network for size in _sizes(dimension.npus, dimension.shape)]
    speeds = [1.0] * system.npus
    for derating in system.deratings:
        speeds[derating.npu] *= derating.compute_factor
    rates = (
        Rates(system.peak_tflops * 1e3, system.memory_bandwidth_gbps) if system.peak_tflops else Rates(1e3)
    )
    return (
        replace(
            devices,
            speeds=tuple(speeds) if system.deratings else (),
            memory_bytes=(float(system.memory_bytes),) * system.npus,
            tiers=tuple(size for size in reversed(sizes) if size > 1),
            names=tuple(f"NPU {npu}" for npu in range(system.npus)),
        ),
        rates,
    )


def _sizes(npus: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a dimension, innermost first: those of a grid, else one."""
    product = 1
    for size in shape:
        product *= size
    return shape if shape and product == npus else (npus,)
