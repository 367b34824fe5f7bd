"""A sweep in a process of its own, to be killed: `python chaos_driver.py LOG OVERRIDE...`.

It is `python -m dse.sweep` but for one thing: every simulation that ends appends its time to LOG.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from dse import sweep
from dse.points import point
from dse.simulators import NativeSimulator, Outcome
from dse.systems import SystemSpec
from dse.workloads import Workload


class LoggedSimulator(NativeSimulator):
    """Logs with one write to a file opened for appending, which the kernel keeps whole."""

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        outcome = super().simulate(workload, system)
        os.write(LOG, f"{time.time()}\n".encode())
        return outcome


if __name__ == "__main__":
    LOG = os.open(Path(sys.argv[1]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    point.make_simulator = lambda settings: LoggedSimulator(settings.engine)  # type: ignore[attr-defined]
    sys.exit(sweep.main(sys.argv[2:]))
