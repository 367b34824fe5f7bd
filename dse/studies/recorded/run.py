"""The run of a case: its simulation, with or without a recording, or its replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome, Recording
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload
from dse.studies.recorded.case import Case
from dse.studies.recorded.keys import STEP_KEYS, changed_system, changes_of

if TYPE_CHECKING:
    from dse.simulation.recorded.replay import Replay


def simulated(case: Case) -> tuple[Workload, Outcome]:
    """Return the workload of traces of Chakra, and how its simulation ends.

    Raises:
        InputError: files or keys are wrong, or do not fit the system.
        SimulationError, SimulationTimeout: as `Simulator.simulate`.
    """
    workload, system = _inputs(case)
    outcome = case.traces.once(f"outcome {case.key}", lambda: case.simulator.simulate(workload, system))
    return workload, outcome


def recorded_run(case: Case) -> Recording:
    """Return the same with what happened when, on a rank of each class; only the native simulator knows.

    Raises:
        InputError: as `simulated`, or another simulator.
    """
    if not isinstance(case.simulator, NativeSimulator):
        raise InputError("what happens when is known of simulator=native only; leave simulator out")
    workload, system = _inputs(case)
    return case.simulator.record(workload, system)


def replay_of(case: Case) -> Replay:
    """Return a recorded step played again with the changes that the case asks for.

    Raises:
        InputError: as `read_recorded`, or changes that the step cannot take.
    """
    from dse.simulation.recorded.changes import Changes
    from dse.simulation.recorded.replay import replayed

    changes = changes_of(case.asked, case.system, case.base_system)
    if changes == Changes():
        return case.traces.baseline()
    replay = replayed(case.traces.step(), changes)
    case.traces.once(f"assumed {case.key}", lambda: _assumed(case, replay))
    return replay


def assumed(case: Case) -> tuple[str, ...]:
    """Return what the what-if of a recorded step assumed, a sentence each; raises as `replay_of`."""
    return case.traces.once(f"assumed {case.key}", lambda: _assumed(case, replay_of(case)))


def _assumed(case: Case, replay: Replay) -> tuple[str, ...]:
    known = case.traces.step().notes
    return tuple([note for note in replay.step.notes if note not in known])


def _inputs(case: Case) -> tuple[Workload, SystemSpec]:
    foreign = [key for key in case.asked if key in STEP_KEYS]
    if foreign:
        raise InputError(
            f"{foreign[0]}={case.asked[foreign[0]]} changes recorded steps, but {case.traces.name} has "
            "traces of Chakra, whose work a simulator times; leave it out"
        )
    assert case.system is not None
    reference: Reference = getattr(case.simulator, "reference", DEFAULT_REFERENCE)
    workload = case.traces.workload(reference, is_kept=case.simulator.is_external)
    return workload, changed_system(case.system, case.asked)
