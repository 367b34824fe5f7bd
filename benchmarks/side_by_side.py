"""ASTRA-sim and STAGE next to us, if ASTRA_SIM_BIN and STAGE_DIR name them.

ASTRA_SIM_BIN is an ASTRA-sim with the congestion-unaware analytical network. STAGE_DIR is a checkout of
STAGE; STAGE_ENTRY is its entry file (main.py), STAGE_PYTHON an interpreter that has its packages (ours).
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.measure import BenchmarkError, run_command
from benchmarks.traces import check_same_traces
from dse.base.errors import DseError
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.astrasim import write_inputs
from dse.simulation.validation import Case as RecordedCase
from dse.simulation.validation import Expected, check
from dse.simulation.validation.contents import read_log
from dse.simulation.workloads import StageGenerator, generate

ASTRA_SIM, STAGE = "ASTRA_SIM_BIN", "STAGE_DIR"
_OLD_NAME = "STAGE_SCRIPT"


@dataclass(frozen=True)
class ReferenceRun:
    """CPU seconds of a reference; `does` is generate or simulate.

    `equal_figures` of its report, and `equal_traces`, were compared with ours; None: it writes no such.
    """

    name: str
    does: str
    cpu_s: float
    equal_figures: int | None = None
    equal_traces: int | None = None


def side_by_side(case: Case, folder: Path) -> Iterator[ReferenceRun]:
    """Run the point with what the environment names, in `folder`; say what fails or differs."""
    for variable in (STAGE, ASTRA_SIM):
        place = os.environ.get(variable)
        if not place:
            continue
        try:
            if variable == STAGE:
                yield _run_stage(case, Path(place).resolve())
            else:
                yield _run_astra_sim(case, Path(place).resolve(), folder)
        except (BenchmarkError, DseError) as error:
            note(f"{variable}: {case.strategy.label()}: {error}")


def note_what_is_missing() -> None:
    """Say on stderr which program the environment does not name."""
    for variable in (STAGE, ASTRA_SIM):
        if not os.environ.get(variable):
            note(f"{variable} is not set: nothing runs side by side with it")


def _run_astra_sim(case: Case, binary: Path, folder: Path) -> ReferenceRun:
    options = write_inputs(generate(case.model, case.strategy), case.system, folder / "inputs")
    run = run_command([binary, *options], folder)  # writes logs and traces into its working folder
    log = folder / "reference.log"
    log.write_text(run.output)
    return ReferenceRun("ASTRA-sim", "simulate", run.cpu_s, equal_figures=_compare(case, log))


def _compare(case: Case, log: Path) -> int:
    """Return the number of equal figures: all that are printed, of every rank.

    Raises:
        BenchmarkError: a figure differs, or a rank has no report; names the first.
    """
    theirs = read_log(log)
    recorded = RecordedCase(
        name=case.strategy.label(),
        network_model=case.system.network_model,
        load=lambda _: (generate(case.model, case.strategy), case.system),
        expected=Expected("ok", theirs),
    )
    mismatches = check(recorded, NativeSimulator())
    if mismatches:
        first = mismatches[0]
        rank = "" if first.rank is None else f"rank {first.rank}, "
        raise BenchmarkError(f"{rank}{first.metric}: {first.expected}, ours is {first.got}")
    if case.system.track_local_memory:
        silent = [rank for rank, figures in theirs.items() if "peak_memory_bytes" not in figures]
        if silent:
            note(f"{ASTRA_SIM}: {recorded.name}: prints no peak memory of rank {silent[0]}; not compared")
    return sum(len(figures) for figures in theirs.values())


def _run_stage(case: Case, checkout: Path) -> ReferenceRun:
    if _OLD_NAME in os.environ:
        raise BenchmarkError(f"{_OLD_NAME} has no effect; write STAGE_ENTRY={os.environ[_OLD_NAME]}")
    generator = StageGenerator(
        checkout, os.environ.get("STAGE_ENTRY", "main.py"), os.environ.get("STAGE_PYTHON")
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    theirs = generator.generate(case.model, case.strategy, "stage")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    equal = check_same_traces(generate(case.model, case.strategy), theirs)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ReferenceRun("STAGE", "generate", cpu_s, equal_traces=equal)


def note(text: str) -> None:
    """Say something on stderr."""
    print(f"note: {text}", file=sys.stderr)
