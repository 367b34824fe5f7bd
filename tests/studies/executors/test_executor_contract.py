"""Our executors do what every executor must; another implementation is one more line in EXECUTORS."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest
from workers import started_ray

from dse.studies.executors import Executor, LocalExecutor, RayExecutor
from dse.testing.executors import ExecutorContract

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "local, 1 thread": lambda: LocalExecutor(1),
    "local, 3 threads": lambda: LocalExecutor(3),
    "ray": lambda: RayExecutor(workers=2),
}


@pytest.fixture(scope="module")
def ray_workers() -> Iterator[None]:
    with started_ray(sys.modules[__name__]):
        yield


class TestExecutors(ExecutorContract):
    @pytest.fixture(params=EXECUTORS)
    def executor(self, request: pytest.FixtureRequest) -> Executor:
        if request.param == "ray":
            request.getfixturevalue("ray_workers")
        return EXECUTORS[request.param]()
