"""The drop-in Mesh2D for astra-network-analytical, compiled against a stand-in of the interface."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "external" / "astra-network-analytical"
STANDIN = ROOT / "tests" / "standins" / "astra_network_analytical"
SIZES = [(1, 1), (1, 5), (5, 1), (2, 2), (4, 4), (3, 7), (8, 2), (9, 9)]


class Mesh(NamedTuple):
    size: list[int]
    links: dict[tuple[int, int], tuple[float, float]]
    routes: dict[tuple[int, int], list[int]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    program = tmp_path_factory.mktemp("mesh") / "print_mesh"
    options = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
    paths = [f"-I{SOURCES}", f"-I{STANDIN}", str(SOURCES / "Mesh2D.cpp"), str(STANDIN / "print_mesh.cpp")]
    done = subprocess.run(
        [compiler, *options, *paths, "-o", str(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return program


def _mesh(program: Path, width: int, height: int) -> Mesh:
    line = [str(program), str(width), str(height)]
    mesh = Mesh([], {}, {})
    for text in subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines():
        kind, *words = text.split()
        if kind == "size":
            mesh.size.extend(map(int, words))
        elif kind == "link":
            mesh.links[int(words[0]), int(words[1])] = float(words[2]), float(words[3])
        else:
            assert kind == "route"
            mesh.routes[int(words[0]), int(words[-1])] = [int(word) for word in words]
    return mesh


def test_routes_of_the_drawing(program: Path) -> None:
    routes = _mesh(program, 4, 4).routes
    assert routes[1, 7] == [1, 2, 3, 7]
    assert routes[14, 5] == [14, 13, 9, 5]
    assert routes[6, 6] == [6]
    assert routes[12, 3] == [12, 13, 14, 15, 11, 7, 3]
    routes = _mesh(program, 4, 3).routes
    assert routes[1, 7] == [1, 2, 3, 7]
    assert routes[10, 5] == [10, 9, 5]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_links_join_neighbours_both_ways(program: Path, width: int, height: int) -> None:
    mesh = _mesh(program, width, height)
    assert mesh.size == [width, height, width * height]
    nodes = set(product(range(width), range(height)))
    expected = {
        (y * width + x, other_y * width + other_x)
        for x, y in nodes
        for other_x, other_y in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
        if (other_x, other_y) in nodes
    }
    assert set(mesh.links) == expected
    assert len(mesh.links) == 2 * ((width - 1) * height + width * (height - 1))
    assert set(mesh.links.values()) <= {(50.5, 500.0)}


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_all_pairs_move_along_x_then_y_over_links(program: Path, width: int, height: int) -> None:
    mesh = _mesh(program, width, height)
    npus = width * height
    assert set(mesh.routes) == set(product(range(npus), repeat=2))
    for (source, destination), route in mesh.routes.items():
        (y, x), (to_y, to_x) = divmod(source, width), divmod(destination, width)
        assert len(route) == 1 + abs(x - to_x) + abs(y - to_y)
        assert all(hop in mesh.links for hop in pairwise(route))
        turn = y * width + to_x  # the last NPU in the row of the source
        assert route.index(turn) == abs(x - to_x)


@pytest.mark.parametrize(("source", "destination"), [(-1, 0), (0, 6)])
def test_an_npu_outside_of_the_mesh_fails_an_assertion(program: Path, source: int, destination: int) -> None:
    line = [str(program), "3", "2", "route", str(source), str(destination)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGABRT
    assert "has(src) && has(dest)" in done.stderr


def test_a_shape_that_does_not_have_the_npus_of_the_file_is_refused(program: Path) -> None:
    done = subprocess.run([str(program), "3", "2", "5"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "shape must be [[width, height]] with width * height = npus_count\n"


def test_the_case_in_the_readme_is_the_one_that_is_compiled() -> None:
    helper = (STANDIN / "Helper.h").read_text()
    (case,) = re.findall(r"```cpp\n( *case .*?)```", (SOURCES / "README.md").read_text(), re.DOTALL)
    assert "".join(case.split()) in "".join(helper.split())


@pytest.mark.parametrize(("width", "height"), [(0, 4), (4, 0), (-1, 2), (65536, 65536)])
def test_a_size_that_is_no_mesh_is_refused(program: Path, width: int, height: int) -> None:
    done = subprocess.run(
        [str(program), str(width), str(height)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"Mesh2D of {width} x {height}: both sides must be at least 1")
