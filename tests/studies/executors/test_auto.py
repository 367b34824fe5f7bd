"""Which executor is chosen, and what is said about it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dse.studies.executors import AUTO_RAY_THRESHOLD_S, LocalExecutor, RayExecutor, choose, make_executor
from dse.studies.executors.chunks import Chunk, ChunkSizer


@pytest.mark.parametrize(
    ("address", "estimated_s", "is_ray_installed", "name", "reason"),
    [
        (None, None, True, "local", "how much work it is, is not known"),
        (
            None,
            60.0,
            True,
            "local",
            "executor: local, about 60 s of work on this machine with its cores free",
        ),
        (None, AUTO_RAY_THRESHOLD_S, True, "local", "about 30 min of work"),
        (
            None,
            AUTO_RAY_THRESHOLD_S + 600,
            True,
            "ray",
            "since it is about 40 min of work on this machine with its cores free",
        ),
        (
            None,
            1e5,
            False,
            "local",
            "about 27.8 h of work on this machine with its cores free; with ray installed",
        ),
        ("head:6379", None, True, "ray", "executor.address is head:6379"),
        ("head:6379", 1.0, False, "ray", "executor.address is head:6379"),  # which then says what is missing
    ],
)
def test_the_choice_follows_the_address_and_then_the_work(
    address: str | None, estimated_s: float | None, is_ray_installed: bool, name: str, reason: str
) -> None:
    choice = choose(address=address, estimated_s=estimated_s, is_ray_installed=is_ray_installed)
    assert choice.name == name
    assert reason in choice.reason
    assert choice.reason.startswith(f"executor: {name}")


@pytest.mark.parametrize(
    ("estimated_s", "matters"), [(0.1, False), (59.0, False), (60.0, True), (1e5, True), (None, False)]
)
def test_a_sweep_says_where_it_runs_only_if_that_is_elsewhere_or_takes_long(
    estimated_s: float | None, matters: bool
) -> None:
    for installed in (True, False):
        choice = choose(address=None, estimated_s=estimated_s, is_ray_installed=installed)
        assert choice.matters is matters
    assert choose(address="head:6379", estimated_s=0.1, is_ray_installed=True).matters


def _settings(name: str, **changes: Any) -> Any:
    values = {"name": name, "threads": None, "address": None, "workers": None, "point_timeout_s": 60.0}
    return SimpleNamespace(**{**values, **changes})


def test_a_named_executor_needs_no_estimate() -> None:
    def estimate() -> float:
        raise AssertionError

    executor, said = make_executor(_settings("local", threads=2), estimate)
    assert isinstance(executor, LocalExecutor)
    assert (said.reason, said.matters) == ("executor: local, 2 threads", False)
    for settings in (_settings("ray"), _settings("auto", address="head:6379")):
        executor, said = make_executor(settings, estimate)
        assert isinstance(executor, RayExecutor)
        assert said.reason.startswith("executor: ray")
        assert said.matters


def test_auto_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.studies.executors.auto.is_installed", lambda _: True)
    assert isinstance(make_executor(_settings("auto"), lambda: 5.0)[0], LocalExecutor)
    assert isinstance(make_executor(_settings("auto"), lambda: 5000.0)[0], RayExecutor)
    assert isinstance(make_executor(_settings("auto"))[0], LocalExecutor)


def test_chunks_grow_step_by_step_and_shrink_at_once() -> None:
    sizer = ChunkSizer(1.0, 1000)
    sizes = [sizer.size]
    for _ in range(6):
        sizer.measured(sizer.size, sizer.size * 1e-4)
        sizes.append(sizer.size)
    assert sizes == [1, 4, 16, 64, 256, 1000, 1000]
    sizer.measured(2, 2.0)
    assert sizer.size == 1
    sizer.measured(0, 1.0)
    assert sizer.size == 1


def test_halves_hold_all_points() -> None:
    items: Any = [(index, None) for index in range(5)]
    first, second = Chunk(items, losses=1, node_losses=2).halves()
    assert first.items + second.items == items
    assert (first.losses, second.losses, first.node_losses, second.node_losses) == (2, 2, 2, 2)
    assert Chunk(items, losses=1).without(3) == Chunk(items[3:], losses=1)
