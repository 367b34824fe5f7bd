"""A design point: a scenario (everything but the strategy) and a strategy; its content-addressed key."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from dse.models import ModelSpec
from dse.points.inputs import canonical_json, engine_version, model_json, system_json
from dse.simulators import NativeSimulator, Simulator, make_simulator
from dse.strategies import STRATEGY_FIELDS, Strategy
from dse.systems import SystemSpec
from dse.workloads import NativeGenerator, WorkloadGenerator, make_generator
from dse.workloads.generate import Divisibility

if TYPE_CHECKING:
    from dse.config import Config

KEY_DIGITS = 32
"""Hexadecimal digits of a key: 128 bits, so that 10^9 points collide with a probability of about 10^-21."""

_KEY_TEXT = "%s" + " %d" * len(STRATEGY_FIELDS)
_strategy_values = attrgetter(*STRATEGY_FIELDS)


@dataclass(frozen=True)
class Scenario:
    """What many design points share: the study, the model, the system, and what generates and simulates."""

    study: str
    model: ModelSpec
    system: SystemSpec
    divisibility: Divisibility = "stage"
    simulator: Simulator = field(default_factory=NativeSimulator)
    generator: WorkloadGenerator = field(default_factory=NativeGenerator)

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
        """What generates and simulates, as canonical JSON: all of it that a result may depend on."""
        return canonical_json(
            {
                "divisibility": self.divisibility,
                "engine": engine_version(),
                "simulator": self.simulator.identity(),
                "workload": self.generator.identity(),
            }
        )

    @functools.cached_property
    def digest(self) -> str:
        """A hash of the three texts above. The name of the study is no input."""
        texts = json.dumps([self.model_spec, self.system_spec, self.options])
        return hashlib.sha256(texts.encode()).hexdigest()

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
    """What a row of a study depends on."""

    scenario: Scenario
    strategy: Strategy

    @property
    def key(self) -> str:
        """`KEY_DIGITS` hexadecimal digits: a hash of every input and of the version of the engine."""
        text = _KEY_TEXT % (self.scenario.digest, *_strategy_values(self.strategy))
        return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def scenario_of(config: Config, model: ModelSpec | None = None, system: SystemSpec | None = None) -> Scenario:
    """Return the scenario of a configuration, with another model or system if one is given.

    Raises:
        InputError: the program of a simulator or generator is missing.
    """
    return Scenario(
        study=config.study,
        model=model or config.model,
        system=system or config.system,
        divisibility=config.workload.divisibility,
        simulator=make_simulator(config.simulator),
        generator=make_generator(config.workload),
    )
