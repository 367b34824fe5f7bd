"""Puts this folder on the import path, so that every test finds what they share; what all tests need."""

import gc
import os
import signal

from hypothesis import HealthCheck, settings

# Time says nothing on a machine that does other things too: no limit for an example, nor for drawing them.
settings.register_profile("dse", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dse")

# Started in the background of a script, a process ignores Ctrl-C, and so would all that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a test makes it shall make itself, and leave nothing behind; tests of the cache name a folder.
os.environ["DSE_CACHE"] = "off"


def pytest_collection_finish() -> None:
    """Keep what is imported by then out of each later collection of garbage, half a million objects."""
    gc.collect()
    gc.freeze()
