"""Ray workers: points that end or block their process, workers that go, chunks, Ctrl-C."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import misbehaving
import pytest
from misbehaving import (
    BAD,
    GOOD,
    Broken,
    Exits,
    Guarded,
    Hangs,
    Killed,
    KilledOnce,
    RunsProgram,
    Segfaults,
    Sleeps,
    Slow,
    node_limit,
    points_with,
    rows_of,
)
from workers import started_ray

from dse.base.errors import InputError
from dse.simulation.simulators import NativeSimulator
from dse.studies.executors import RayExecutor, ray_cluster
from dse.studies.points import evaluate
from dse.studies.store import StudyRow
from dse.testing.builders import design_point

ray = pytest.importorskip("ray", reason="ray is not installed: pip install -e '.[ray]'")


@pytest.fixture(scope="module")
def workers() -> Iterator[None]:
    with started_ray(misbehaving):
        yield


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize(
    ("simulator", "bad", "status", "reason"),
    [
        (Segfaults, (150, 420), "failed", "its process ended with signal 11 (SIGSEGV), twice"),
        (Killed, (0,), "failed", "its process ended with signal 9 (SIGKILL), twice"),
        (Exits, (0,), "failed", "its process ended with exit status 3, twice"),
        (Hangs, (150,), "timeout", "took longer than 0.7 s, twice (executor.point_timeout_s)"),
        (Sleeps, (0,), "timeout", "took longer than 0.7 s, twice (executor.point_timeout_s)"),
    ],
)
def test_a_point_that_ends_or_blocks_its_process_is_found_among_others(
    simulator: type[Guarded], bad: tuple[int, ...], status: str, reason: str
) -> None:
    rows = rows_of(RayExecutor(point_timeout_s=0.7), points_with(simulator(node_limit()), 600, bad))
    expected = evaluate(points_with(simulator(node_limit()), 1)[0])
    for index, row in enumerate(rows):
        if index in bad:
            assert (row.status, row.reason, row.wall_time_ns) == (status, reason, None)
            assert row.activation_recompute
        else:
            assert row == expected


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("times", [1, 3])
def test_a_point_that_ends_its_process_some_times_only_is_ok(tmp_path: Path, times: int) -> None:
    marker = tmp_path / "marker"
    rows = rows_of(RayExecutor(), points_with(KilledOnce(node_limit(), str(marker), times), 40, (20,)))
    assert {row.status for row in rows} == {"ok"}
    assert marker.read_text() == "x" * times


@pytest.mark.usefixtures("workers")
def test_a_worker_that_is_killed_from_outside_costs_no_point(tmp_path: Path) -> None:
    points = points_with(Slow(0.02, str(tmp_path)), 100)
    rows: dict[int, StudyRow] = {}
    for index, row in RayExecutor().run(points):
        rows[index] = row
        if len(rows) == 5:
            os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
    assert sorted(rows) == list(range(100))
    assert list(rows.values()) == [rows[0]] * 100
    assert rows[0].status == "ok"


@pytest.mark.usefixtures("workers")
def test_a_bug_propagates() -> None:
    with pytest.raises(KeyError, match="a bug"):
        list(RayExecutor().run(points_with(Broken(), 5)))


@pytest.mark.usefixtures("workers")
def test_scenarios_go_to_the_store_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[int] = []
    put = ray.put
    monkeypatch.setattr(ray, "put", lambda scenarios: (stored.append(len(scenarios)), put(scenarios))[1])
    one, two = points_with(NativeSimulator(), 300), points_with(NativeSimulator(), 300)
    assert len(rows_of(RayExecutor(), one + two)) == 600
    assert stored == [1, 1]


@pytest.mark.usefixtures("workers")
def test_a_scenario_for_each_point() -> None:
    points = [design_point(strategy) for _ in range(100) for strategy in (GOOD, BAD)]
    assert rows_of(RayExecutor(), points) == [evaluate(points[0]), evaluate(points[1])] * 100


@pytest.mark.usefixtures("workers")
def test_chunks_follow_what_points_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizer is told times as on a quiet machine: real ones would follow what else runs."""
    sizes: list[int] = []
    told = 0

    class Sizes(ray_cluster.ChunkSizer):
        def measured(self, points: int, seconds: float) -> None:
            assert seconds > 0
            nonlocal told
            told += points
            super().measured(points, points * (1e-4 if told <= 3000 else 0.25))
            sizes.append(self.size)

    monkeypatch.setattr(ray_cluster, "ChunkSizer", Sizes)
    cheap, dear = points_with(NativeSimulator(), 3000), points_with(Slow(0.25), 12)
    assert len(rows_of(RayExecutor(), cheap + dear)) == 3012
    assert max(sizes) > 1000
    assert sizes[-1] <= 12


@pytest.mark.usefixtures("workers")
def test_closing_ends_points_and_their_programs(tmp_path: Path) -> None:
    quick = points_with(NativeSimulator(), 2)
    rows = RayExecutor().run([*quick, *points_with(RunsProgram(str(tmp_path)), 6)])
    assert next(iter(rows))[1].status == "ok"
    assert next(iter(rows))[1].status == "ok"

    until = time.monotonic() + 10
    while not (started := list(tmp_path.iterdir())) and time.monotonic() < until:
        time.sleep(0.05)
    began = time.monotonic()
    rows.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 120  # the programs take 300 s
    assert started
    until = time.monotonic() + 20
    while any(Path(f"/proc/{file.name}").exists() for file in tmp_path.iterdir()):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.usefixtures("workers")
def test_ctrl_c_ends_the_run_soon() -> None:
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(RayExecutor().run(itertools.repeat(points_with(Slow(0.1), 1)[0])))  # has no other end
    assert rows_of(RayExecutor(), points_with(NativeSimulator(), 2))[1].status == "ok"


@pytest.mark.usefixtures("workers")
def test_workers_with_another_version_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "engine_version", lambda: "99.0")
    with pytest.raises(InputError, match=r"has dse .*, but this process has 99\.0; install the same"):
        list(RayExecutor().run(points_with(NativeSimulator(), 3)))
