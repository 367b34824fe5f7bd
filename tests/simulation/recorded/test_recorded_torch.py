"""Steps that PyTorch records here: DDP, FSDP, 1F1B and a grid of groups, on 2 and 4 processes."""

from __future__ import annotations

import fcntl
import functools
import gzip
import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.simulation.recorded.pytorch import read_recorded
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import RecordedStep
from dse.simulation.recorded.times import rank_of_node

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: make torch"
)

RUNS = ("ddp:2", "slow:2", "fsdp:2", "pipeline:2", "ddp:4", "pipeline:4", "grid:4")
DELAY_NS = 1_000_000_000  # of torch_steps.py
PARAMETERS = (
    256 * 128
    + 4 * (4 * 128 + 128 * 384 + 384 + 128 * 128 + 128 + 2 * 128 * 512 + 512 + 128)
    + 128 * 256
    + 256
)


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All runs, recorded once by whichever worker comes first."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "torch_steps"
    with (folder.parent / "torch_steps.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            program = str(Path(__file__).parent / "torch_steps.py")
            run = subprocess.run(
                [sys.executable, program, str(folder), *RUNS],
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            assert run.returncode == 0, run.stderr[-3000:]
    return folder


@functools.cache
def step_of(recordings: Path, run: str) -> RecordedStep:
    return read_recorded([recordings / run.replace(":", ".")])


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_a_replay_ends_within_a_tenth_of_the_measured_step(recordings: Path, run: str) -> None:
    step = step_of(recordings, run)
    played = replayed(step)
    print(
        run,
        (step.measured_ns / 1e6).round(3).tolist(),
        "ms, errors",
        played.errors.tolist(),
        *step.notes,
        sep="\n",
    )
    ranks = int(run[-1])
    assert (step.ranks, step.world_size) == (tuple(range(ranks)), ranks)
    assert step.measured_ns.min() > 50_000_000
    assert np.abs(played.errors).max() <= 0.10
    assert played.is_trusted
    assert step.clocks_agree


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_every_communication_has_all_its_members_and_somebody_who_waits(recordings: Path, run: str) -> None:
    step = step_of(recordings, run)
    awaited = set(step.before.tolist())
    for communication in step.communications:
        ranks = tuple(rank_of_node(step, node) for node in communication.nodes)
        assert ranks == tuple(sorted(communication.members))
        assert awaited.issuperset(communication.nodes)


@pytest.mark.slow
def test_the_bytes_are_those_of_the_model(recordings: Path) -> None:
    for run in ("ddp:2", "ddp:4"):
        kinds = [(c.kind, c.size_bytes) for c in step_of(recordings, run).communications]
        assert {kind for kind, _ in kinds} == {"all_reduce"}
        assert sum(size for _, size in kinds) == 4 * PARAMETERS + 4  # and the loss
    sharded = step_of(recordings, "fsdp:2").communications
    scattered = sum(c.size_bytes for c in sharded if c.kind == "reduce_scatter")
    assert scattered == 4 * PARAMETERS
    assert {c.kind for c in sharded} == {"all_gather", "reduce_scatter"}
    for ranks in (2, 4):
        messages = step_of(recordings, f"pipeline:{ranks}").communications
        assert {(c.kind, c.size_bytes) for c in messages} == {("message", 4 * 2 * 128 * 128)}
        assert len(messages) == 2 * 4 * (ranks - 1)


@pytest.mark.slow
def test_the_others_wait_for_the_slow_rank(recordings: Path) -> None:
    waited = replayed(step_of(recordings, "slow:2")).waited_for_ns
    assert waited.get((0, 1), 0) >= 0.5 * DELAY_NS
    assert waited.get((0, 1), 0) > waited.get((1, 0), 0)


@pytest.mark.slow
def test_a_rank_that_sleeps_longer_delays_all(recordings: Path) -> None:
    """Both ranks end later by the delay, but for the time that the delayed one had waited before."""
    step = step_of(recordings, "ddp:2")
    played = replayed(step)
    backward = next(
        node
        for node in range(int(step.rank_first[1]), step.node_count)
        if step.names[step.name[node]].startswith("autograd::engine::evaluate_function")
    )
    gap_ns = step.gap_ns.copy()
    gap_ns[backward] += DELAY_NS
    later = replayed(replace(step, gap_ns=gap_ns)).rank_end_ns - played.rank_end_ns
    slack_ns = played.waited_for_ns.get((1, 0), 0)
    assert DELAY_NS - slack_ns <= later[1] <= DELAY_NS
    assert DELAY_NS - slack_ns <= later[0] <= DELAY_NS


@pytest.mark.slow
def test_columns_of_a_grid_wait_for_their_own_rows_only(recordings: Path) -> None:
    step = step_of(recordings, "grid:4")
    groups = {(c.size_bytes, c.members) for c in step.communications}
    assert groups == {(2**18, (0, 1)), (2**18, (2, 3)), (2**10, (0, 2)), (2**10, (1, 3))}
    waited = replayed(step).waited_for_ns
    assert waited.get((2, 3), 0) > 0.5 * 3 * DELAY_NS / 10
    assert (0, 3) not in waited
    assert (1, 2) not in waited
    assert any("gloo does not say which of 5 process groups" in note for note in step.notes)


@pytest.mark.slow
@pytest.mark.parametrize("run", ["ddp:2", "fsdp:2", "pipeline:4"])
def test_a_lost_rank_is_named_and_the_others_are_replayed(recordings: Path, run: str, tmp_path: Path) -> None:
    for path in (recordings / run.replace(":", ".")).glob("*.json"):
        if ".1." not in path.name:
            (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    step = read_recorded([tmp_path])
    assert step.missing_ranks == (1,)
    assert np.abs(replayed(step).errors).max() <= 0.15
    assert f"1 rank of {run[-1]} not recorded (1)" in " ".join(step.notes)
