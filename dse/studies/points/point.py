"""A design point: a scenario (everything but the strategy) and a strategy; its content-addressed key."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import (
    AXES,
    AxisValue,
    Divisibility,
    Strategy,
    StrategyAxis,
    resolved_divisibility,
)
from dse.inputs.systems import SystemSpec
from dse.prediction.runs.asked import AskedRun
from dse.simulation.simulators import NativeSimulator, Simulator, SimulatorSettings, make_simulator
from dse.simulation.workloads import NativeGenerator, WorkloadGenerator, WorkloadSettings, make_generator
from dse.studies.points.inputs import canonical_json, model_json, result_version, system_json
from dse.studies.points.methods import Method, method_of
from dse.studies.store.lookup import KEY_DIGITS

# The axes of 0.2.0 always count. Younger ones count where they are not what they are by default, so that they
# leave the keys of older points as they are.
KEY_AXES = tuple(sorted(AXES, key=lambda axis: axis.since > 1))
"""The axes in the order in which keys have them."""

POWER_KEY = "board_power_w"

_key_values = attrgetter(*[axis.name for axis in KEY_AXES])


def key_text(axis: StrategyAxis, value: AxisValue) -> str:
    """Return what the text of a key says of an axis."""
    if axis.since == 1:
        return f" {int(value)}"
    return "" if value == axis.default else f" {axis.name}={value}"


@dataclass(frozen=True)
class Scenario:
    """The shared part of many design points: study, model, system, and what generates and simulates.

    `divisibility` None means what the model's fidelity says. `run` is the training run whose figures rows
    have, None where they have none.
    """

    study: str
    model: ModelSpec
    system: SystemSpec
    divisibility: Divisibility | None = None
    simulator: Simulator = field(default_factory=NativeSimulator)
    generator: WorkloadGenerator = field(default_factory=NativeGenerator)
    run: AskedRun | None = None

    @functools.cached_property
    def resolved_divisibility(self) -> Divisibility:
        """The rule for sizes that do not divide."""
        return resolved_divisibility(self.model, self.divisibility)

    @functools.cached_property
    def model_spec(self) -> str:
        """The model as canonical JSON."""
        return model_json(self.model)

    @functools.cached_property
    def system_spec(self) -> str:
        """The system as canonical JSON, with digests of the files that it names."""
        return system_json(self.system)

    @functools.cached_property
    def options(self) -> str:
        """The generator and the simulator, as canonical JSON: all of it that a result may depend on."""
        return canonical_json(
            {
                "divisibility": self.resolved_divisibility,
                "result_version": result_version(),
                "simulator": self.simulator.identity(),
                "workload": self.generator.identity(),
                **self.method.identity(),
                **self._run_options,
            }
        )

    @property
    def _run_options(self) -> dict[str, Any]:
        """The run, and the power of the board, which no other result depends on."""
        if self.run is None:
            return {}
        chip = self.system.accelerator
        return {"run": self.run.identity(), POWER_KEY: None if chip is None else chip.board_power_w}

    @functools.cached_property
    def digest(self) -> str:
        """A hash of the three texts above. The name of the study is no input."""
        texts = json.dumps([self.model_spec, self.system_spec, self.options])
        return hashlib.sha256(texts.encode()).hexdigest()

    @functools.cached_property
    def method(self) -> Method:
        """How the points are answered: predicted from the structure of a step, or simulated from traces."""
        return method_of(self)

    @functools.cached_property
    def in_blocks(self) -> bool:
        """Whether many points are answered as one block."""
        return self.method.in_blocks(self)

    def check(self) -> None:
        """Refuse settings that the method of the scenario does not have; done once.

        Raises:
            InputError: names the setting.
        """
        _ = self._checked

    @functools.cached_property
    def _checked(self) -> None:
        self.method.check(self)

    @property
    def is_external(self) -> bool:
        """Whether programs of the user's own generate or simulate."""
        return self.simulator.is_external or self.generator.is_external

    def stop(self) -> None:
        """End the programs that evaluate points of this scenario, if any run."""
        self.generator.stop()
        self.simulator.stop()


@dataclass(frozen=True)
class DesignPoint:
    """The inputs that a row of a study depends on."""

    scenario: Scenario
    strategy: Strategy
    known_key: str = field(default="", compare=False, repr=False)

    @property
    def is_feasible(self) -> bool:
        """Whether a workload exists and fills the system; other points are rows with a reason."""
        on = self.scenario
        fills = self.strategy.npus == on.system.npus
        on.check()
        return fills and on.method.is_feasible(self)

    @property
    def key(self) -> str:
        """`KEY_DIGITS` hexadecimal digits: a hash of every input and of the version of results."""
        if self.known_key:
            return self.known_key
        texts = map(key_text, KEY_AXES, _key_values(self.strategy))
        text = self.scenario.digest + "".join(texts)
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


@runtime_checkable
class ScenarioInputs(Protocol):
    """The inputs of a scenario from a configuration."""

    @property
    def study(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> ModelSpec: ...  # noqa: D102
    @property
    def system(self) -> SystemSpec: ...  # noqa: D102
    @property
    def workload(self) -> WorkloadSettings: ...  # noqa: D102
    @property
    def simulator(self) -> SimulatorSettings: ...  # noqa: D102
    @property
    def run(self) -> AskedRun | None: ...  # noqa: D102


def scenario_of(config: ScenarioInputs, model: ModelSpec | None = None) -> Scenario:
    """Return the scenario of a configuration, with another model if one is given.

    Raises:
        InputError: the program of a simulator or generator is missing.
    """
    return Scenario(
        study=config.study,
        model=model or config.model,
        system=config.system,
        divisibility=config.workload.divisibility,
        simulator=make_simulator(config.simulator),
        generator=make_generator(config.workload),
        run=config.run,
    )
