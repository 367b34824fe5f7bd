"""ASTRA-sim and STAGE next to us, if ASTRA_SIM_BIN and STAGE_DIR name them.

ASTRA_SIM_BIN is an ASTRA-sim with the congestion-unaware analytical network. STAGE_DIR is a checkout of
STAGE: its program is STAGE_DIR/main.py unless STAGE_SCRIPT names another, and runs with
STAGE_PYTHON, else with our own Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.measure import BenchmarkError, Run, run_command
from dse.errors import InputError
from dse.simulators import NativeSimulator, Outcome
from dse.systems import write_system
from dse.validation.log import read_log
from dse.workloads import generate

ASTRA_SIM, STAGE = "ASTRA_SIM_BIN", "STAGE_DIR"
_COMPARED = ("finish_ns", "exposed_comm_ns", "wall_time_ns", "gpu_time_ns", "comm_time_ns")


@dataclass(frozen=True)
class ReferenceRun:
    """CPU seconds of a reference; `does` is generate or simulate. `equal_figures`: compared with ours."""

    name: str
    does: str
    cpu_s: float
    equal_figures: int | None = None


def side_by_side(case: Case, folder: Path) -> Iterator[ReferenceRun]:
    """Export the point into `folder` and run what the environment names; say what is missing or fails."""
    for variable, run in ((STAGE, _run_stage), (ASTRA_SIM, _run_astra_sim)):
        place = os.environ.get(variable)
        if not place:
            _note(f"{variable} is not set: nothing runs side by side with it")
            continue
        try:
            yield run(case, Path(place).resolve(), folder)
        except (BenchmarkError, InputError) as error:
            _note(f"{variable}: {error}")


def _run_astra_sim(case: Case, binary: Path, folder: Path) -> ReferenceRun:
    inputs = folder / "inputs"
    workload = generate(case.model, case.strategy)
    workload.export(inputs)
    write_system(case.system, inputs)
    files = {
        "workload": "trace",
        "comm-group": "comm_group.json",
        "system": "system.json",
        "network": "network.yml",
        "remote-memory": "remote_memory.json",
    }
    options = [f"--{option}-configuration={inputs / name}" for option, name in files.items()]
    run = run_command([binary, *options], folder)  # writes logs and traces into its working folder
    return ReferenceRun(
        "ASTRA-sim",
        "simulate",
        run.cpu_s,
        _compare(run, folder, NativeSimulator().simulate(workload, case.system)),
    )


def _compare(run: Run, folder: Path, ours: Outcome) -> int:
    """Return the number of equal figures; a difference or a missing rank is an error."""
    log = folder / "reference.log"
    log.write_text(run.output)
    theirs = read_log(log)
    equal = 0
    for rank in range(ours.rank_count):
        if rank not in theirs:
            raise BenchmarkError(f"no report of rank {rank} in what the program printed")
        metrics = ours.rank(rank)
        assert metrics is not None
        figures = asdict(metrics)
        for name in _COMPARED:
            if name not in theirs[rank]:
                continue
            figure = figures[name] % 2**64  # the reference prints a negative time as an unsigned number
            if theirs[rank][name] != figure:
                raise BenchmarkError(f"rank {rank}, {name}: {theirs[rank][name]}, ours is {figure}")
            equal += 1
    return equal


def _run_stage(case: Case, checkout: Path, folder: Path) -> ReferenceRun:
    script = checkout / os.environ.get("STAGE_SCRIPT", "main.py")
    if not script.is_file():
        raise BenchmarkError(f"no {script.name} in the checkout; STAGE_SCRIPT names another program")
    output = folder / "stage"
    output.mkdir()
    model, strategy = case.model, case.strategy
    options = {
        "output_dir": output,
        "output_name": "trace",
        "comm_group_file": "comm_group.json",
        "dp": strategy.dp,
        "tp": strategy.tp,
        "sp": strategy.sp,
        "pp": strategy.pp,
        "weight_sharded": strategy.weight_sharded,
        "activation_recompute": strategy.activation_recompute,
        "din": model.input_dim,
        "dout": model.output_dim,
        "dmodel": model.d_model,
        "dff": model.d_ff,
        "batch": model.batch_size,
        "seq": model.seq_len,
        "head": model.num_heads,
        "num_stacks": model.num_layers,
    }
    python = os.environ.get("STAGE_PYTHON", sys.executable)
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return ReferenceRun("STAGE", "generate", run_command([python, script, *arguments], checkout).cpu_s)


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
