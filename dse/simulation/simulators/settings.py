"""Settings of what evaluates a point: keys, checks, choices. Loads no simulator until one is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from dse.base.settings import (
    Choices,
    check_choice,
    checked_path,
    checked_seconds,
    key,
    options,
    refuse_foreign,
)
from dse.simulation.workloads.references import DEFAULT_REFERENCE, Reference

if TYPE_CHECKING:
    from dse.simulation.simulators.base import Simulator

EngineMethod = Literal["auto", "general"]
SIMULATORS = Choices(
    "simulator",
    "dse.simulators",
    {
        "native": "dse.simulation.simulators.native:make",
        "astrasim": "dse.simulation.simulators.astrasim:make",
    },
)


@dataclass
class SimulatorSchema:
    """conf/simulator/*.yaml: what evaluates a point, see `dse.simulators`."""

    name: str = key(
        "`native`: the engine of this package; `astrasim`: a program of yours, see "
        "[backends.md](backends.md#astra-sim)"
    )
    engine: str | None = key(
        "`native`: `auto` simulates one rank of each class where they are proven to do the same, "
        "`general` every rank; the results are equal",
        None,
    )
    reference: str | None = key(
        "`native`: the version of ASTRA-sim that it equals, `astra-sim-2025-04` or `astra-sim-2026-03`, see "
        "[simulator.md](simulator.md#two-references)",
        None,
    )
    binary: str | None = key(
        "`astrasim`: the program; a script that starts it (in a container, say) is one too", None
    )
    timeout_s: float | None = key(
        "`astrasim`: seconds per point, above 0; then it has the status `timeout`", None
    )
    log_dir: str | None = key(
        "`astrasim`: folder for the logs of all runs, `astrasim-<system>-<random>.log`; null:"
        " only logs of runs that went wrong, among temporary files",
        None,
    )
    options: dict[str, Any] = options("simulator")


@dataclass(frozen=True)
class SimulatorSettings:
    """The simulator that evaluates a point; None where the choice has no such setting.

    native has an `engine`, auto (by classes of ranks where proven) or general (every rank), and the
    `reference` that it equals; astrasim has the
    program `binary`, which may run for `timeout_s` per point, and a folder for its logs; those of other
    packages have `options`.
    """

    name: str
    engine: EngineMethod | None = None
    reference: Reference = DEFAULT_REFERENCE
    binary: Path | None = None
    timeout_s: float | None = None
    log_dir: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def simulator_settings(values: SimulatorSchema) -> SimulatorSettings:
    """Return checked settings.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    SIMULATORS.check(values.name)
    SIMULATORS.refuse_options(values)
    if values.name != "astrasim":
        refuse_foreign("simulator", values, "astrasim", ("binary", "timeout_s", "log_dir"))
    if values.name != "native":
        refuse_foreign("simulator", values, "native", ("engine", "reference"))
    if values.name == "native":
        check_choice("simulator.engine", str(values.engine), get_args(EngineMethod))
        check_choice("simulator.reference", str(values.reference), get_args(Reference))
        return SimulatorSettings(
            "native", cast(EngineMethod, values.engine), cast(Reference, values.reference)
        )
    if values.name == "astrasim":
        return SimulatorSettings(
            "astrasim",
            binary=checked_path("simulator.binary", values.binary),
            timeout_s=checked_seconds("simulator.timeout_s", values.timeout_s),
            log_dir=checked_path("simulator.log_dir", values.log_dir),
        )
    return SimulatorSettings(values.name, options=values.options)


def make_simulator(settings: SimulatorSettings) -> Simulator:
    """Return the simulator that the configuration names.

    Raises:
        InputError: it needs a program and there is none.
    """
    return cast("Simulator", SIMULATORS.load(settings.name)(settings))
