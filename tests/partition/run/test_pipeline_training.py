"""Partitioned models train: losses are those of one process, a process that dies ends the job."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dse.base.errors import InputError
from dse.inputs.networks.csv import read_link_graph

pytest.importorskip("torch", reason="needs the extra torch: pip install 'dse[torch]'")

from dse.commands.pipeline import main
from dse.partition.graphs.sources.torch_graph import exported, read_torch
from dse.partition.graphs.sources.torch_models import task_named
from dse.partition.graphs.steps import StageGraph
from dse.partition.problem.replicas import layout_of
from dse.partition.run.plans import Plan
from dse.partition.run.prediction import measured_overhead
from dse.partition.run.processes import ProcessDied, Progress, run_processes
from dse.partition.run.profile import measure
from dse.partition.run.stages import stages_of
from dse.partition.run.training import train_alone, train_pipeline, train_rehearsed


def placement(name: str, devices: int) -> dict[str, int]:
    """Equal numbers of operators in their order; branches of two_branches on devices of their own."""
    operators = read_torch(name).operators
    if name == "two_branches":
        places = {"left": 0, "right": 1}
        return {o.name: min(devices - 1, places.get(o.module.split(".")[0], 2)) for o in operators}
    return {o.name: n * devices // len(operators) for n, o in enumerate(operators)}


@pytest.mark.parametrize(
    ("name", "devices", "schedule"),
    [
        ("two_branches", 3, "gpipe"),
        ("transformer", 2, "1f1b"),
        ("mixture", 4, "1f1b"),
        ("mixture", 4, "interleaved"),
    ],
)
def test_losses_are_those_of_one_process(name: str, devices: int, schedule: str) -> None:
    """Inputs and gradients skip stages in branches; stages of the mixture go round two processes, or not."""
    plan = Plan(name, placement(name, devices), schedule, micro_batches=4, steps=3)
    piped = run_processes(train_pipeline, 2 if schedule == "interleaved" else devices, plan)
    alone = run_processes(train_alone, 1, plan, group=False)[0]
    assert alone.losses is not None
    assert [one.losses for one in piped if one.losses is not None] == [pytest.approx(alone.losses, rel=1e-5)]
    assert len(set(alone.losses)) == 3


def test_stage_without_parameters_trains_too() -> None:
    """The second of three stages is the activation after the first layer."""
    places = {o.name: 2 for o in read_torch("mixture").operators} | {"linear": 0, "relu": 1}
    plan = Plan("mixture", places, micro_batches=4, steps=2)
    piped = run_processes(train_pipeline, 3, plan)
    alone = run_processes(train_alone, 1, plan, group=False)[0]
    assert piped[2].losses == pytest.approx(alone.losses, rel=1e-5)


DROPS = """
import torch
from torch import nn


class Drops(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.side = nn.Linear(32, 64), nn.Linear(64, 32), nn.Linear(32, 32)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.second(self.drop(torch.relu(self.first(x)))) + torch.dropout(self.side(x), 0.2, True)


def model():
    def sample(generator, count):
        x = torch.randn(count, 32, generator=generator)
        return (x,), torch.sin(x)

    return Drops(), sample, nn.functional.mse_loss
"""


def test_dropout_draws_the_same_in_a_pipeline_as_in_one_process(tmp_path: Path) -> None:
    """The first stage has the first and the last dropout of the model, the second the one between."""
    file = tmp_path / "drops.py"
    file.write_text(DROPS)
    name = f"{file}:model"
    places = {operator.name: 0 for operator in read_torch(name).operators}
    places |= {"linear_1": 1, "add": 1}
    plan = Plan(name, places, micro_batches=4, steps=3)
    piped = run_processes(train_pipeline, 2, plan)
    alone = run_processes(train_alone, 1, plan, group=False)[0]
    assert piped[1].losses == pytest.approx(alone.losses, rel=1e-6)
    replicated = run_processes(train_pipeline, 4, dataclasses.replace(plan, replicas=2))
    assert [one.losses for one in replicated[1::2]] == [pytest.approx(alone.losses, rel=1e-6)] * 2
    first = run_processes(train_pipeline, 3, dataclasses.replace(plan, replicas=(2, 1)))
    assert [one.losses for one in first] == [None, pytest.approx(alone.losses, rel=1e-6), None]
    other = run_processes(train_alone, 1, dataclasses.replace(plan, seed=1), group=False)[0]
    assert other.losses != pytest.approx(alone.losses, rel=1e-3)


IN_PLACE = """
import torch
from torch import nn


def model():
    def sample(generator, count):
        x = torch.randn(count, 32, generator=generator)
        return (x,), torch.sin(x)

    layers = nn.Linear(32, 64), nn.ReLU(inplace=True), nn.Linear(64, 32), nn.Dropout(0.1, inplace=True)
    return nn.Sequential(*layers), sample, nn.functional.mse_loss


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 32)

    def forward(self, x):
        x = self.first(x)
        twice = x * 2
        rows = x.view(-1, 4, 8).transpose(1, 2)
        return self.last(torch.relu_(rows).reshape(-1, 32)) + twice


def twice():
    return Twice(), model()[1], nn.functional.mse_loss
"""


def test_stages_begin_with_operators_that_change_what_they_receive(tmp_path: Path) -> None:
    file = tmp_path / "changes.py"
    file.write_text(IN_PLACE)
    places = {"linear": 0, "relu_": 1, "linear_1": 1, "dropout_": 2}
    plan = Plan(f"{file}:model", places, micro_batches=4, steps=2)
    piped = run_processes(train_pipeline, 3, plan)
    alone = run_processes(train_alone, 1, plan, group=False)[0]
    assert piped[2].losses == pytest.approx(alone.losses, rel=1e-5)


@pytest.mark.parametrize(
    "own", [("mul", "add"), ("view", "transpose", "relu_", "reshape", "linear_1", "add")]
)
def test_values_that_change_are_sent_as_they_were_and_received_as_copies(
    own: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "changes.py"
    file.write_text(IN_PLACE)
    names = [operator.name for operator in read_torch(f"{file}:twice").operators]
    plan = Plan(f"{file}:twice", {name: int(name in own) for name in names}, micro_batches=4, steps=2)
    piped = run_processes(train_pipeline, 2, plan)
    alone = run_processes(train_alone, 1, plan, group=False)[0]
    assert piped[1].losses == pytest.approx(alone.losses, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "replicas", "schedule"),
    [("mixture", (1, 2), "gpipe"), ("mixture", (2, 1, 1), "1f1b"), ("two_branches", (2, 1, 1), "1f1b")],
)
def test_stages_have_replicas_of_their_own(name: str, replicas: tuple[int, ...], schedule: str) -> None:
    """The first process of every stage is followed by the second of the one that has two."""
    plan = Plan(name, placement(name, len(replicas)), schedule, 4, steps=2, replicas=replicas)
    piped = run_processes(train_pipeline, sum(replicas), plan)
    alone = run_processes(train_alone, 1, plan, group=False)[0]
    last = [rank for rank, one in enumerate(piped) if one.losses is not None]
    assert last == ([1, 2] if replicas == (1, 2) else [2])
    assert all(piped[rank].losses == pytest.approx(alone.losses, rel=1e-6) for rank in last)


def test_replicas_are_those_of_devices_in_their_order() -> None:
    """The partition has the first stage on device 3."""
    plan = Plan("mixture", {"a": 3, "b": 1}, replicas=(1, 2))
    assert plan.layout([3, 1], 3) == layout_of((2, 1), 2)
    assert Plan("mixture", {}, "interleaved").layout(range(4), 2) == layout_of(1, 2)


@pytest.mark.parametrize(
    ("name", "devices", "schedule"), [("two_branches", 3, "gpipe"), ("mixture", 4, "interleaved")]
)
def test_framework_takes_time_for_passes_without_work(name: str, devices: int, schedule: str) -> None:
    plan = Plan(name, placement(name, devices), schedule, micro_batches=4)
    found = run_processes(measured_overhead, 2 if schedule == "interleaved" else devices, plan, 2)
    assert all(one.pass_ns > 1000 for one in found)
    assert all(
        0 < averaging < end
        for one in found
        for averaging, end in zip(one.averaging_ns, one.end_ns, strict=True)
    )


def test_rehearsal_takes_the_time_of_its_stages_and_changes_no_loss() -> None:
    """The first stage takes 10 + 20 ms for each of two micro-batches, the second 1 + 2 ms and 30 ms after."""
    plan = Plan("two_branches", placement("two_branches", 2), micro_batches=2, steps=2)
    stages = StageGraph((1e7, 1e6), {}, 2.0, (0.0, 3e7))
    rehearsed = run_processes(train_rehearsed, 2, plan, stages)
    trained = run_processes(train_pipeline, 2, plan)
    assert rehearsed[1].losses == trained[1].losses
    assert all(seconds >= 0.06 for one in rehearsed for seconds in one.rehearsed)
    assert [one.rehearsed for one in trained] == [[], []]


def test_profile_counts_cpu_time_of_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves on by 10 ns each time that it is read, and no other clock."""
    clock = SimpleNamespace(thread_time_ns=itertools.count(0, 10).__next__)
    monkeypatch.setattr("dse.partition.run.profile.time", clock)
    found = measure("two_branches", 2, 1, 1, 0, 1, lambda _: None)
    assert sum(found.operator_ns.values()) == pytest.approx(10)
    assert (found.backward, found.optimizer_ns) == (1, 10)


def dies(_: Plan, rank: int, processes: int, progress: Progress) -> None:
    """Train, but the second process is killed in the second step."""

    def until(step: int) -> None:
        progress(step)
        if rank == 1 and step == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    train_pipeline(_, rank, processes, until)


def test_process_that_dies_in_training_ends_the_job() -> None:
    plan = Plan("two_branches", placement("two_branches", 2), steps=3)
    with pytest.raises(ProcessDied) as caught:
        run_processes(dies, 2, plan)
    assert str(caught.value) == "process 1 was ended by SIGKILL in step 1; the other processes were stopped"


def test_run_compares_with_one_process_fsdp_and_the_prediction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, links = tmp_path / "partition.json", tmp_path / "links.csv"
    file.write_text(json.dumps({"operators": placement("two_branches", 2)}))
    assert main(["probe", "processes=2", "repetitions=3", "-o", str(links)]) == 0
    assert read_link_graph(links).npus == 2
    capsys.readouterr()
    options = [f"partition={file}", "microbatches=4", "steps=3", f"topology={links}"]
    assert main(["run", "two_branches", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["equal"]
    assert found["difference"] <= 1e-5
    assert found["losses_sharded"] == pytest.approx(found["losses_alone"], rel=1e-4)
    times = (
        "step_s",
        "predicted_step_s",
        "rehearsed_step_s",
        "predicted_work_s",
        "overhead_of_a_pass_s",
        "step_alone_s",
    )
    assert all(found[key] > 0 for key in (*times, "step_sharded_s"))
    assert found["fastest_step_s"] <= found["step_s"]


def test_replicas_of_stages_in_a_partition_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "partition.json"
    file.write_text(json.dumps({"operators": placement("two_branches", 2), "replicas": [2, 1]}))
    options = [f"partition={file}", "microbatches=4", "steps=3", "--no-baseline", "--json"]
    assert main(["run", "two_branches", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["processes"], found["replicas"], found["equal"]) == (3, [2, 1], True)
    assert found["fastest_rehearsed_step_s"] > 0
    assert found["predicted_step_s"] > 0


def test_torchrun_starts_the_processes_instead(tmp_path: Path) -> None:
    """Two hosts of one process each, both this machine; only the first tells."""
    file = tmp_path / "partition.json"
    file.write_text(json.dumps({"operators": placement("two_branches", 2)}))
    run = ["-m", "dse", "pipeline", "run", "two_branches", f"partition={file}", "microbatches=2", "steps=2"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "1",
        "LOCAL_RANK": "0",
    }
    begun = [
        subprocess.Popen(
            [sys.executable, *run, "--no-prediction", "--json"],
            env=environment | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    first, second = (process.communicate(timeout=300)[0] for process in begun)
    assert [process.returncode for process in begun] == [0, 0]
    assert json.loads(first)["equal"]
    assert second == ""


def test_partition_of_another_model_is_refused() -> None:
    traced = exported(task_named("mixture"), 2)
    with pytest.raises(InputError, match="no device for the operator linear; it is of another model"):
        stages_of(traced, {"conv": 0})


def test_partition_of_another_model_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "partition.json"
    file.write_text(json.dumps({"operators": {"conv": 0, "dense": 1}}))
    with pytest.raises(InputError, match="no device for the operator linear; it is of another model"):
        main(["run", "mixture", f"partition={file}"])


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "partition.json"
    file.write_text(json.dumps({"operators": placement("two_branches", 2)}))
    run = ["run", "two_branches", f"partition={file}"]
    for options, message in (
        (["processes=3"], "processes is 3, but the partition has 2 devices"),
        (["schedule=interleaved"], "must be 2 or more times as many, such as processes=1"),
        (["replicas=3"], "replicas is 3, which cannot share 8 micro-batches evenly; .* such as 9"),
        (["replicas=3,1"], "replicas is 3,1, which cannot .* must be a multiple of 3, such as 9"),
        (["replicas=2,1,1"], "replicas is 2,1,1, of 3 stages, but the partition has 2 devices"),
        (["replicas=4,2", "processes=5"], "processes is 5, but the partition has 2 devices and 4,2 replicas"),
        (["replicas=64", "microbatches=64"], "replicas is 64, in all 128; at most 64 run"),
        (["replicas=2", "processes=2"], "processes is 2, but the partition has 2 devices and 2 replicas"),
        (["steps=0"], "steps is '0'; it must be a whole number, 1 to 1000000"),
        (["--no-prediction", "topology=x"], "topology has no effect with --no-prediction"),
    ):
        with pytest.raises(InputError, match=message):
            main([*run, *options])
    for replicas in ("[2]", "[2, 0]", "1.5"):
        file.write_text(f'{{"operators": {{"a": 0, "b": 1}}, "replicas": {replicas}}}')
        with pytest.raises(InputError, match=r"it must be a number from 1, or a list of them, one for each"):
            main(run)
    for content in (
        "{}",
        '{"operators": {}}',
        '{"operators": {}, "replicas": [1]}',
        '{"operators": {"a": -1}}',
    ):
        file.write_text(content)
        with pytest.raises(InputError, match="has no operators with devices"):
            main(run)
