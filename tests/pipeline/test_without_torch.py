"""Without PyTorch the commands say how to get it."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from dse.errors import InputError
from dse.partition.devices import Devices
from dse.partition.steps import StageGraph
from dse.pipeline import comparison
from dse.pipeline.__main__ import main
from dse.pipeline.comparison import Plan, least_step_ns, predicted_step_ns, shared_cores, threads_of


def test_without_torch_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "torch" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(InputError, match=r"dse pipeline probe needs PyTorch; pip install 'dse\[torch\]'"):
        main(["probe"])


def test_a_step_is_no_shorter_than_all_work_on_all_cores() -> None:
    """8 micro-batches of 10 + 30 ns and twice that backward, and 40 ns of optimizers, on two cores."""
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0, after_ns=(15.0, 25.0))
    assert least_step_ns(stages, 8, 2) == 500.0


def test_a_prediction_is_the_last_end_or_all_work() -> None:
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0, after_ns=(15.0, 25.0))
    assert predicted_step_ns([400.0, 720.0], stages, 8, 2) == 720.0
    assert predicted_step_ns([400.0, 720.0], stages, 8, 1) == 1000.0
    assert predicted_step_ns([400.0], stages, 8, 2) == 500.0


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with more cores than the process may use."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3}, raising=False)


@pytest.mark.usefixtures("one_core")
def test_only_cores_that_may_be_used_count() -> None:
    assert threads_of(2) == 1
    assert shared_cores(1) == []
    assert shared_cores(2)[0].startswith("2 processes share 1 core; the prediction has all work on all cores")


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize(("device", "predicted_s"), [("cpu", 1e-6), ("cuda", 7.2e-7)])
def test_processes_on_a_core_take_turns_and_gpus_do_not(
    device: str, predicted_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0, after_ns=(15.0, 25.0))
    ends = [SimpleNamespace(finish_ns=400.0), None, SimpleNamespace(finish_ns=720.0)]
    fakes = {
        "measured_profile": None,
        "_stages": stages,
        "simulate_step": SimpleNamespace(outcome=SimpleNamespace(classes=ends)),
        "device_of": SimpleNamespace(type=device),
        "run_processes": [SimpleNamespace(losses=[1.0], seconds=[2.0])],
    }
    for name, value in fakes.items():
        monkeypatch.setattr(comparison, name, lambda *_, value=value, **__: value)
    links = Devices(2, (), ((0.0, 1.0), (1.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)))
    found = comparison.compare(Plan("tiny", {}), 2, links, predict=True, baseline=False)
    assert found.predicted_s == predicted_s
    assert len(found.notes) == (1 if device == "cpu" else 0)
    assert comparison.compare(Plan("tiny", {}), 2, links, predict=False, baseline=False).notes == ()
