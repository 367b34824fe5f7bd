"""Without PyTorch the commands say how to get it."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.commands.pipeline import main
from dse.partition.graphs.steps import StageGraph
from dse.partition.problem.problem import Devices
from dse.partition.run import comparison, prediction
from dse.partition.run.plans import Plan
from dse.partition.run.prediction import Predicted, longest_ns, shared_cores, threads_of, work_ns
from dse.partition.run.probe import link_of
from dse.partition.run.processes import launched_processes, launched_rank


def test_without_torch_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "torch" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(InputError, match=r"dse pipeline probe needs PyTorch; pip install 'dse\[torch\]'"):
        main(["probe"])


def test_the_work_of_a_step_is_of_all_passes_and_optimizers() -> None:
    """8 micro-batches of 10 + 30 ns and twice that backward, and 40 ns of optimizers."""
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0, after_ns=(15.0, 25.0))
    assert work_ns(stages, 8) == 1000.0


def test_what_processes_do_together_takes_as_long_as_the_last_of_them() -> None:
    """In the first of two repetitions the second process takes 7 ns, in the second the first takes 9 ns."""
    assert longest_ns([[5, 9], [7, 3]]) == 7


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with more cores than the process may use."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3}, raising=False)


@pytest.mark.usefixtures("one_core")
def test_only_cores_that_may_be_used_count() -> None:
    assert threads_of(2) == 1
    assert shared_cores(1) == []
    assert shared_cores(2)[0].startswith(
        "2 processes share 1 core; in the predicted step those with work have"
    )


@pytest.mark.usefixtures("one_core")
def test_processes_that_torchrun_started_share_the_cores_of_their_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One on this host and three on others; it must have started as many as the job has."""
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "4"), ("LOCAL_WORLD_SIZE", "1")):
        monkeypatch.setenv(name, value)
    assert shared_cores(4) == []
    assert (launched_rank(), launched_processes()) == (1, 4)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert launched_rank() is None
    assert shared_cores(4) != []


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two stages on a CPU that are not run: simulated ends, 2 ns of the framework a pass, steps of 2 s."""
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0, after_ns=(15.0, 25.0))
    ends = [SimpleNamespace(finish_ns=400.0), None, SimpleNamespace(finish_ns=720.0)]
    outcome = SimpleNamespace(outcome=SimpleNamespace(classes=ends))
    overhead = SimpleNamespace(pass_ns=2.0, averaging_ns=[1.0, 1.0], end_ns=[50.0, 6.0])
    cpu = SimpleNamespace(type="cpu")
    trained = [SimpleNamespace(losses=[1.0], seconds=[9.0, 9.0, 2.0, 3.0, 2.5], rehearsed=[])]
    for module, name, value in (
        (prediction, "measured_profile", None),
        (prediction, "_stages", stages),
        (prediction, "simulate_step", outcome),
        (prediction, "run_processes", [overhead, overhead]),
        (prediction, "device_of", cpu),
        (comparison, "device_of", cpu),
        (comparison, "run_processes", trained),
    ):
        monkeypatch.setattr(module, name, lambda *_, value=value, **__: value)


LINKS = Devices(2, (), ((0.0, 1.0), (1.0, 0.0)), ((0.0, 1.0), (1.0, 0.0)))
PLAN = Plan("tiny", {"a": 0, "b": 1})


@pytest.mark.usefixtures("one_core", "fakes")
@pytest.mark.parametrize(("device", "step_s"), [("cpu", 1.07e-6), ("cuda", 7.26e-7)])
def test_processes_on_a_core_take_turns_and_gpus_do_not(
    device: str, step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8 micro-batches of 120 ns and four passes of 2 ns, 40 ns of optimizers, and 6 ns to end."""
    for module in (prediction, comparison):
        monkeypatch.setattr(module, "device_of", lambda _: SimpleNamespace(type=device))
    found = comparison.compare(PLAN, 2, Devices(2), predict=True, baseline=False)
    assert found.predicted is not None
    assert found.predicted.step_s == pytest.approx(step_s, rel=1e-12)
    assert found.predicted.work_s == pytest.approx(1e-6, rel=1e-12)
    assert found.predicted.overhead_s == 2e-9
    assert len(found.notes) == (1 if device == "cpu" else 0)
    assert comparison.compare(PLAN, 2, LINKS, predict=False, baseline=False).notes == ()


@pytest.mark.usefixtures("fakes")
def test_answer_has_the_median_and_the_fastest_step_after_warm_up() -> None:
    found = comparison.compare(PLAN, 2, LINKS, predict=False, baseline=True)
    assert found.text().splitlines()[4:] == [
        "step                          median     fastest",
        "pipeline, measured         2500.0 ms   2000.0 ms",
        "FSDP, measured             2500.0 ms   2000.0 ms",
        "one process, measured      2500.0 ms   2000.0 ms",
        "",
        "FSDP: every process has a share of the samples and of the parameters, and gathers the parameters of "
        "a layer before it uses them",
    ]
    assert (found.to_json()["step_s"], found.to_json()["fastest_step_s"]) == (2.5, 2.0)


def test_prediction_is_compared_with_the_median_and_the_fastest_step() -> None:
    steps, step = comparison.Steps(0.2, 0.1), Predicted(0.11, 0.1, 0.001, StageGraph((1.0,), {}))
    rehearsed = comparison.Steps(0.19, 0.105)
    found = comparison.Compared(
        PLAN, 2, [1.0], [1.0], None, steps, step, steps, None, steps_rehearsed=rehearsed
    )
    blank = " " * 14
    assert f"predicted         110.0 ms{blank}-45.0 % of the median, +10.0 % of the fastest" in found.text()
    assert (
        "rehearsed         190.0 ms    105.0 ms  -5.0 % of the median, +5.0 % of the fastest" in found.text()
    )
    assert (found.to_json()["rehearsed_step_s"], found.to_json()["fastest_rehearsed_step_s"]) == rehearsed


@pytest.mark.parametrize(
    ("step", "is_equal", "said"),
    [
        (9, False, "losses DIFFER FROM"),
        (10, True, "later ones differ by up to 0.0001: sums in another order"),
    ],
)
def test_losses_of_the_first_steps_must_be_those_of_one_process(step: int, is_equal: bool, said: str) -> None:
    alone = [1.0] * 12
    losses = [*alone[:step], 1.0001, *alone[step + 1 :]]
    steps = comparison.Steps(0.2, 0.1)
    found = comparison.Compared(PLAN, 2, losses, alone, None, steps, None, steps, None)
    assert found.is_equal == is_equal
    assert said in found.text()
    assert found.to_json()["difference_of_all_steps"] == pytest.approx(1e-4)


def test_link_is_what_the_fastest_round_trips_say() -> None:
    """A megabyte takes 100 µs more than 8 bytes, or, where it takes no longer, all of its 20 µs."""
    assert link_of(0, 1, 10**6, [4e4, 2e4, 9e6], [5e6, 1.2e5]) == (0, 1, 1e4, 10.0)
    assert link_of(1, 0, 10**6, [4e4], [2e4]) == (1, 0, 2e4, 50.0)


@pytest.mark.usefixtures("fakes")
def test_pipeline_slower_than_one_process_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([[3e-3] * 4, [2e-3] * 4] * 2)

    def run(*_: Any, **__: Any) -> Any:
        return [SimpleNamespace(losses=[1.0], seconds=next(times), rehearsed=[])]

    monkeypatch.setattr(comparison, "run_processes", run)
    one = StageGraph((1.0,), {})
    monkeypatch.setattr(comparison, "predicted", lambda *_: Predicted(2e-3, 3.2e-3, 5e-4, one))
    monkeypatch.setattr(comparison, "shared_cores", lambda _: [])
    found = comparison.compare(PLAN, 2, LINKS, predict=True, baseline=False)
    assert found.notes == (
        "the pipeline is slower than one process: the framework takes 0.5 ms for each of 32 passes, "
        "which have 0.1 ms of work each; a larger micro_batch has more",
    )
    found = comparison.compare(PLAN, 2, LINKS, predict=False, baseline=False)
    assert found.notes[0].endswith("leave out --no-prediction to see what the framework takes")
