"""Ray for tests: two workers on this machine, which know the classes of the module that asks."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from types import ModuleType

import pytest


@contextlib.contextmanager
def started_ray(module: ModuleType, cpus: int = 2) -> Iterator[None]:
    """Start Ray once for many runs; classes of `module` go to the workers as they are, not by name."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install -e '.[ray]'")
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(
        "local",
        num_cpus=cpus,
        object_store_memory=100 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        with known_to_workers(module):
            yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def known_to_workers(module: ModuleType) -> Iterator[None]:
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)
