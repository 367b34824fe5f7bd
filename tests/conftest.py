"""Puts this folder on the import path, so that every test finds what they share; what all tests need."""

import gc
import os
import signal
import tempfile

from hypothesis import HealthCheck, settings

# Time says nothing on a machine that does other things too: no limit for an example, nor for drawing them.
settings.register_profile("dse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dse")

# Started in the background of a script, a process ignores Ctrl-C, and so would all that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# One test of a run searches a schedule for a training step, others read it; nothing is left behind. Workers
# have the variable from the process that starts them. Tests of the cache name a folder.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _schedules = tempfile.TemporaryDirectory(prefix="dse-schedules-")
    os.environ["DSE_CACHE"] = _schedules.name


def pytest_collection_finish() -> None:
    """Keep what is imported by then out of each later collection of garbage, half a million objects."""
    gc.collect()
    gc.freeze()
