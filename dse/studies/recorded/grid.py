"""From keys with lists, such as links.bandwidth_factor=1,2, to the cases of all combinations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast, get_args

from dse.base.errors import InputError, did_you_mean
from dse.base.settings.checks import check_choice
from dse.base.texts import counted
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import Simulator, SimulatorSettings, make_simulator
from dse.simulation.simulators.settings import EngineMethod
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference
from dse.studies.recorded.case import Case
from dse.studies.recorded.keys import WHAT_IF_KEYS, WHOLE
from dse.studies.recorded.traces import Traces
from dse.studies.space.grid import combinations

_SIMULATOR_KEYS = ("engine", "reference", "binary", "timeout_s", "log_dir")


def cases(
    traces: Traces,
    values: Mapping[str, str],
    overrides: Sequence[str],
    known: dict[tuple[str, ...], SystemSpec] | None = None,
) -> Iterator[Case]:
    """Yield the cases of all combinations of lists, the last key varying fastest.

    `values` are keys of the what-if, `overrides` those of system and simulator; `known` keeps systems.

    Raises:
        InputError: a wrong list or value, no system for traces of Chakra, or as `compose_config`.
    """
    asked = {key: text for key, text in values.items() if key in WHAT_IF_KEYS and key != "base_system"}
    groups, of_system, of_simulator = _sorted(overrides)
    if traces.is_recorded and of_simulator:
        key = next(iter(of_simulator))
        raise InputError(f"{key}={of_simulator[key]} has no effect on a recorded step, which is played again")
    axes = {**groups, **of_simulator, **asked}
    known = {} if known is None else known
    base = _system(values["base_system"], (), known) if "base_system" in values else None
    if base is not None and "system" not in groups:
        raise InputError("base_system is given without system; write the system to compare it with, too")
    for chosen in combinations(axes, whole=WHOLE):
        name = chosen.pop("system", "")
        fields = {key: chosen.pop(key) for key in of_simulator}
        if name:
            system: SystemSpec | None = _system(name, of_system, known)
        else:
            system = None if traces.is_recorded else _own(traces, chosen.get("network_model"))
        shown = " ".join([name, *of_system]) if name else ""
        simulator = _simulator(fields)
        yield Case(traces, shown, system, simulator, chosen, base, values.get("base_system", ""))


def _sorted(overrides: Sequence[str]) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """The system's names, its other keys as overrides, and the keys of the simulator."""
    names: dict[str, str] = {}
    of_system: list[str] = []
    of_simulator: dict[str, str] = {}
    for word in overrides:
        key, _, text = word.partition("=")
        if key.startswith("system."):
            of_system.append(word)
            continue
        found = names if key == "system" else of_simulator
        if key in found:
            raise InputError(f"{key} occurs twice, as '{found[key]}' and '{text}'; write {key}=[a,b]")
        found[key] = text
    if of_system and not names:
        raise InputError(f"{of_system[0]} has no effect without a system; write system=NAME too")
    return names, of_system, of_simulator


def _system(name: str, overrides: Sequence[str], known: dict[tuple[str, ...], SystemSpec]) -> SystemSpec:
    key = (name, *overrides)
    if key not in known:
        from dse.studies.composed import system_of  # loads the configuration, for systems by name only

        known[key] = system_of([f"system={name}", *overrides])
    return known[key]


def _own(traces: Traces, network_model: str | None) -> SystemSpec:
    system = traces.own(network_model)
    if system is None:
        some = f"{counted(len(traces.paths), 'trace')} such as {traces.paths[0].name}"
        raise InputError(f"{traces.name}: has {some}, but no {traces.lacks}; add it, or write system=NAME")
    return system


def _simulator(fields: Mapping[str, str]) -> Simulator:
    values = {key.removeprefix("simulator."): text for key, text in fields.items() if key != "simulator"}
    for name in values:
        if name not in _SIMULATOR_KEYS:
            allowed = ", ".join(f"simulator.{each}" for each in _SIMULATOR_KEYS)
            raise InputError(
                f"unknown key simulator.{name}; allowed are {allowed}{did_you_mean(name, _SIMULATOR_KEYS)}"
            )
    name = fields.get("simulator", "native")
    if name == "native" and values.keys() <= {"engine", "reference"}:
        engine, reference = values.get("engine", "auto"), values.get("reference", DEFAULT_REFERENCE)
        check_choice("simulator.engine", engine, get_args(EngineMethod))
        check_choice("simulator.reference", reference, get_args(Reference))
        return make_simulator(
            SimulatorSettings("native", cast(EngineMethod, engine), reference=cast(Reference, reference))
        )
    from dse.studies.config import compose_config  # knows the defaults of other programs

    words = [f"simulator={name}", *(f"simulator.{key}={text}" for key, text in values.items())]
    return make_simulator(compose_config(words).simulator)
