"""network.yml with our own keys (shape, routing, file): written and read back without loss."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import AWARE, dimension, system

from dse.base.errors import InputError
from dse.inputs.systems import Dimension, SystemSpec, read_system, write_system
from dse.inputs.systems.graph import HEADER

GRAPH = "3\n" + ",".join(HEADER) + "\n0,1,500,50\n1,2,500,50\n2,0,500,50\n"
MESH = """topology: [Mesh2D]
npus_count: [12]
bandwidth: [50]
latency: [500]
shape: [[4, 3]]
"""


def _read(folder: Path) -> SystemSpec:
    files = (folder / name for name in ("system.json", "network.yml", "remote_memory.json"))
    return read_system(*files, name="test", network_model=AWARE)


def _read_network(folder: Path, network: str) -> tuple[Dimension, ...]:
    write_system(system("Ring 4"), folder)
    (folder / "network.yml").write_text(network)
    return _read(folder).network


SHAPES = (
    *("Ring 4", "Switch 3", "FullyConnected 2", "Mesh2D 4x3", "Torus2D 2x5", "Torus3D 2x1x3", "Hypercube 8"),
    *("FatTree 2x3x4", "FatTree 2x3x4 ecmp", "FatTree 2x3x4 deterministic", "Dragonfly 1x2x3"),
    *("Graph 3 a.csv", "Graph 2 b c.csv"),
)
SPEEDS = st.floats(min_value=0, max_value=1e15, exclude_min=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SHAPES), SPEEDS, SPEEDS), min_size=1, max_size=4))
def test_every_network_survives_writing_and_reading(parts: list[tuple[str, float, float]]) -> None:
    """The files of graphs are copied next to network.yml, and read from there."""
    with tempfile.TemporaryDirectory() as name:
        sources, target = Path(name) / "graphs", Path(name) / "target"
        sources.mkdir()
        dimensions = []
        for text, bandwidth, latency in parts:
            topology, _, rest = text.partition(" ")
            npus, _, file = rest.partition(" ")
            parsed = dimension(f"Graph {npus} x" if topology == "Graph" else text)
            if topology == "Graph":
                (sources / file).write_text(GRAPH)
                parsed = replace(parsed, file=str(sources / file))
            dimensions.append(replace(parsed, bandwidth_gbps=bandwidth, latency_ns=latency))
        on = replace(system(",".join(["Ring 2"] * len(dimensions))), network=tuple(dimensions))
        write_system(on, target)
        read = _read(target)
        moved = [
            replace(d, file=str(target / Path(d.file).name)) if d.file is not None else d for d in dimensions
        ]
        assert read == replace(on, network=tuple(moved))
        assert all(Path(d.file).read_text() == GRAPH for d in read.network if d.file is not None)
        write_system(read, target)  # in place
        assert _read(target) == read


def test_a_mesh_is_written_as_users_write_it(tmp_path: Path) -> None:
    mesh = replace(system("Mesh2D 4x3"), network=(Dimension("Mesh2D", 12, 50, 500, shape=(4, 3)),))
    write_system(mesh, tmp_path)
    assert (tmp_path / "network.yml").read_text() == MESH
    assert _read_network(tmp_path, MESH) == mesh.network


def test_networks_of_the_reference_have_no_keys_of_ours(tmp_path: Path) -> None:
    write_system(system("Ring 4,Switch 2"), tmp_path)
    keys = [line.partition(":")[0] for line in (tmp_path / "network.yml").read_text().splitlines()]
    assert keys == ["topology", "npus_count", "bandwidth", "latency"]


@pytest.mark.parametrize("file", ["ring.csv", "[ring.csv]", "'graphs/ring.csv'"])
def test_the_file_of_a_graph_is_looked_for_next_to_the_network(tmp_path: Path, file: str) -> None:
    network = "topology: [Graph]\nnpus_count: [3]\nbandwidth: [1]\nlatency: [0]\nfile: " + file + "\n"
    (read,) = _read_network(tmp_path, network)
    assert read.file == str(tmp_path / file.strip("[]'"))
    (tmp_path / "absolute").mkdir()
    (read,) = _read_network(tmp_path / "absolute", network.replace(file, "/data/ring.csv"))
    assert read.file == "/data/ring.csv"


def test_mixed_dimensions_have_empty_entries(tmp_path: Path) -> None:
    text = """topology: [Ring, FatTree, Graph]
npus_count: [4, 4, 3]
bandwidth: [50, 50, 1]
latency: [500, 500, 0]
shape: [[], [2, 2, 1], []]
routing: ['', ecmp, '']
file: ['', '', ring.csv]
"""
    ring, tree, graph = _read_network(tmp_path, text)
    assert (ring.shape, ring.routing, ring.file) == ((), "", None)
    assert (tree.shape, tree.routing, tree.file) == ((2, 2, 1), "ecmp", None)
    assert (graph.shape, graph.routing, graph.file) == ((), "", str(tmp_path / "ring.csv"))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[[4, 3]]", "[4, 3]", "shape has 2 entries; it must have 1, one a dimension"),
        ("[[4, 3]]", "[mesh]", "shape.0 is mesh; it must be a list of integers, or []"),
        ("[[4, 3]]", "[[4, -3]]", "shape.0 is ['4', '-3']; it must be a list of integers"),
        ("[[4, 3]]", "[[4, 4]]", "shape.0 is [4, 4], which has 16 NPUs, but npus is 12"),
        ("[[4, 3]]", "[[12]]", "shape.0 is [12]; Mesh2D needs [width, height]"),
        ("shape: [[4, 3]]\n", "", "shape.0 is []; Mesh2D needs [width, height]"),
        ("[[4, 3]]", "[[4, 3]]\nrouting: [ecmp]", "routing.0 is 'ecmp'; allowed are"),
        ("[[4, 3]]", "[[4, 3]]\nfile: [a.csv]", "file.0 is set, but Mesh2D has none"),
        ("[[4, 3]]", "[[4, 3]]\nfile: [[a.csv]]", "file.0 is ['a.csv']; it must be a text"),
        ("shape", "shapes", "unknown key shapes; did you mean 'shape'?"),
    ],
)
def test_a_bad_key_is_named_with_its_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        _read_network(tmp_path, MESH.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'network.yml'}: {problem}")
