"""A sweep in a process of its own, to be killed: `python chaos_driver.py LOG OVERRIDE...`.

It is `python -m dse.sweep` but for one thing: every simulation that ends appends a line to LOG.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from dse.commands import sweep
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome
from dse.simulation.workloads import Workload
from dse.studies.points import point


@dataclass(frozen=True)
class LoggedSimulator(NativeSimulator):
    """Logs with one write to a file opened for appending, which the kernel keeps whole."""

    log: str = ""

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        outcome = super().simulate(workload, system)
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, b"\n")
        os.close(log)
        return outcome


if __name__ == "__main__":
    path = str(Path(sys.argv[1]).absolute())
    point.make_simulator = lambda settings: LoggedSimulator(settings.engine, log=path)  # type: ignore[attr-defined]
    sys.exit(sweep.main(sys.argv[2:]))
