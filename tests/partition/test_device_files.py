"""Devices of files and systems: routes, distances, and what is wrong with a matrix."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.partition.graphs.sources.measured import is_matrix, read_matrix, read_topology
from dse.partition.graphs.sources.systems import system_devices
from dse.studies.config import compose_config


def _file(folder: Path, text: str) -> Path:
    path = folder / "devices.csv"
    path.write_text(text)
    return path


def test_matrix_of_distances(tmp_path: Path) -> None:
    path = _file(tmp_path, "0,2\n0.5,0\n")
    assert is_matrix(path)
    devices = read_matrix(path)
    assert devices.distance == ((0, 2), (0.5, 0))
    assert devices.ns_per_byte == ()


def test_matrix_of_bandwidths_becomes_distances_and_times(tmp_path: Path) -> None:
    devices = read_matrix(_file(tmp_path, "-,10,5\n10,-,5\n4,5,-\n"), "bandwidth")
    assert devices.distance == ((0, 0, 0.5), (0, 0, 0.5), (0.6, 0.5, 0))
    assert devices.ns_per_byte[2] == (0.25, 0.2, 0)
    assert devices.latency_ns[2] == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "0,1,2\n1,0,2\n",
            "distance",
            "line 1: has 3 values and there are 2 lines; the matrix must be square",
        ),
        ("0,1\n1\n", "distance", "line 2: has 1 values and there are 2 lines; the matrix must be square"),
        ("0,-1\n1,0\n", "distance", "line 1: '-1' must be a number from 0 to 1e"),
        ("0,x\n1,0\n", "distance", "line 1: 'x' must be a number from 0 to 1e"),
        ("0,0\n1,0\n", "bandwidth", "the bandwidth from 0 to 1 is 0; it must be above 0"),
        ("\n", "distance", "is empty"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_named(tmp_path: Path, text: str, kind: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_matrix(_file(tmp_path, text), kind)


def test_routes_of_a_topology_add_up_and_avoid_slow_links(tmp_path: Path) -> None:
    links = "0,1,100,10\n1,0,100,10\n1,2,100,10\n2,1,100,10\n0,2,100,1\n2,0,100,20\n"
    path = _file(tmp_path, f"3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{links}")
    assert not is_matrix(path)
    devices = read_topology(path)
    assert devices.latency_ns[0] == (0, 100, 200)
    assert devices.ns_per_byte[0] == pytest.approx((0, 0.1, 0.2))
    assert devices.ns_per_byte[2][0] == pytest.approx(0.05)
    assert devices.distance[2][0] == 0
    assert devices.distance[0][2] == pytest.approx(0.75)


@given(
    st.integers(2, 24).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(1, 2000), st.integers(1, 400)), min_size=n * n, max_size=n * n),
        )
    )
)
def test_routes_between_all_pairs_are_the_fastest(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    """Against relaxing every pair over every node between (Floyd and Warshall); one in 3 links is missing."""
    count, figures = drawn
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    link = {(a, b): figures[a * count + b] for a, b in pairs if b == (a + 1) % count or (a + b) % 3}
    lines = [f"{a},{b},{latency},{gbps}" for (a, b), (latency, gbps) in link.items()]
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join([str(count), "Src,Dest,Latency (ns),Bandwidth (GB/s)", *lines, ""])
        devices = read_topology(_file(Path(folder), text))
    best = {pair: latency + 2**20 / gbps for pair, (latency, gbps) in link.items()}
    for over in range(count):
        for a, b in pairs:
            if a != over != b:
                way = best.get((a, over), math.inf) + best.get((over, b), math.inf)
                best[a, b] = min(best.get((a, b), math.inf), way)
    for a, b in pairs:
        cost = devices.latency_ns[a][b] + 2**20 * devices.ns_per_byte[a][b]
        assert math.isclose(cost, best[a, b], rel_tol=1e-9)


def test_topology_and_matrix_of_too_many_devices_are_refused_at_once(tmp_path: Path) -> None:
    links = "".join(f"{a},{a + 1},1,1\n{a + 1},{a},1,1\n" for a in range(99_999))
    path = _file(tmp_path, f"100000\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{links}")
    with pytest.raises(InputError, match="has 100000 devices; at most 2048 can be partitioned over"):
        read_topology(path)
    with pytest.raises(InputError, match="has 2049 devices; at most 2048 can be partitioned over"):
        read_matrix(_file(tmp_path, "0\n" * 2049))


def test_devices_without_a_route_are_named(tmp_path: Path) -> None:
    path = _file(tmp_path, "3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,1,1\n1,2,1,1\n")
    with pytest.raises(InputError, match="no route leads from device 1 to 0"):
        read_topology(path)


def test_system_gives_routes_memory_rates_and_tiers() -> None:
    system = compose_config(["system=torus_4x4"]).system
    devices, rates = system_devices(system)
    dimension = system.network[0]
    assert devices.count == 16
    assert devices.tiers == (4, 4)
    assert devices.memory_bytes == (system.memory_bytes,) * 16
    assert devices.latency_ns[0][1] == dimension.latency_ns
    assert devices.latency_ns[0][10] == 4 * dimension.latency_ns  # two hops in each dimension
    assert devices.ns_per_byte[0][1] == pytest.approx(1e9 / (dimension.bandwidth_gbps * 2**30))
    assert rates.flops_per_ns == system.peak_tflops * 1e3


def test_system_of_too_many_npus_is_refused() -> None:
    system = compose_config(["system=torus_4x4", "system.network.0.npus=1024"]).system
    with pytest.raises(InputError, match="at most 2048 can be partitioned over"):
        system_devices(system)
