"""What the engine owns and Python asks: topologies, names of algorithms; loaded to check, not to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dse.base.errors import InputError
from dse.inputs.systems import Dimension, SystemSpec
from dse.inputs.systems.fields import CollectiveAlgorithms
from dse.native import _engine


def test_importing_systems_loads_no_engine() -> None:
    program = "import sys, dse.inputs.systems; print([name for name in sys.modules if '_engine' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_table_of_topologies() -> None:
    assert _engine.topologies() == [
        *("Ring", "FullyConnected", "Switch", "Mesh2D", "Torus2D", "Torus3D", "FatTree", "Dragonfly"),
        *("Hypercube", "Graph"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        *("ring", "direct", "direct1", "direct99999", "halvingDoubling", "doubleBinaryTree"),
        *("oneRing", "oneDirect", "oneDirect8", "oneHalvingDoubling", "synthesized", "oneSynthesized"),
    ],
)
def test_known_algorithms(name: str) -> None:
    assert _engine.algorithm_problem(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        *("", "Ring", "ring2", "direct0", "direct08", "direct123456", "direct-1", "halvingDoubling4"),
        *("oneDoubleBinaryTree", "onering", "oneRing1", "direct٣"),
    ],
)
def test_unknown_algorithms(name: str) -> None:
    problem = _engine.algorithm_problem(name)
    assert problem.startswith(
        f"is '{name}'; allowed are ring, direct, halvingDoubling, doubleBinaryTree, synthesized, oneRing, "
        "oneDirect, oneHalvingDoubling, oneSynthesized, directN or oneDirectN with a window N of 1 to 5 "
        "digits"
    )


@pytest.mark.parametrize("shape", [(4, -1), (4, True), (4, 2**40), (4, 1.0), ("4", 1)])
def test_a_shape_is_shown_as_it_is_given(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as caught:
        SystemSpec(
            name="bad",
            network=(Dimension("Mesh2D", 4, 50, 500, shape=shape),),
            collectives=CollectiveAlgorithms(),
            network_model="congestion_unaware",
            scheduling_policy="LIFO",
            peak_tflops=1,
            memory_bandwidth_gbps=1,
        )
    assert str(caught.value) == f"system.network.0.shape is {list(shape)}; Mesh2D needs [width, height]"
