"""Our simulators do what every simulator must; another implementation is one more line in SIMULATORS.

ASTRA-sim is there as a stand-in of ours, and for real where the environment names one (tests/outside.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from outside import astrasim_program, real_astrasim

from dse.simulation.simulators import AstraSimSimulator, NativeSimulator, Simulator
from dse.testing.simulators import (
    ExplainsDeadlocks,
    ReferenceFigures,
    RefusesTheImpossible,
    SimulatorContract,
)

SIMULATORS: dict[str, Callable[[Path], Simulator]] = {
    "native, auto": lambda _: NativeSimulator("auto"),
    "native, general": lambda _: NativeSimulator("general"),
    "astrasim, stand-in": lambda folder: AstraSimSimulator(astrasim_program(folder), 60, folder / "logs"),
    "astrasim, real": lambda folder: real_astrasim(folder / "logs"),
}
# Those that answer with an error where ASTRA-sim itself hangs, loops for ever or crashes.
STRICT = [name for name in SIMULATORS if name != "astrasim, real"]
# Those that say why ranks hang; ASTRA-sim does not.
EXPLAINING = [name for name in SIMULATORS if name.startswith("native")]


class TestSimulators(SimulatorContract, ReferenceFigures):
    @pytest.fixture(params=SIMULATORS)
    def simulator(self, request: pytest.FixtureRequest, tmp_path: Path) -> Simulator:
        return SIMULATORS[request.param](tmp_path)


class TestStrictSimulators(RefusesTheImpossible):
    @pytest.fixture(params=STRICT)
    def simulator(self, request: pytest.FixtureRequest, tmp_path: Path) -> Simulator:
        return SIMULATORS[request.param](tmp_path)


class TestExplainingSimulators(ExplainsDeadlocks):
    @pytest.fixture(params=EXPLAINING)
    def simulator(self, request: pytest.FixtureRequest, tmp_path: Path) -> Simulator:
        return SIMULATORS[request.param](tmp_path)
