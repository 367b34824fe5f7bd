"""Connections to Ray: addresses, clusters that do not answer, own workers, and nodes that come and go."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import misbehaving
import pytest
from misbehaving import Gathers, Killed, Slow, node_limit, points_with
from workers import known_to_workers

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.executors import LocalExecutor, RayExecutor, ray_session
from dse.studies.store import StudyRow
from dse.testing.builders import design_point

ray = pytest.importorskip("ray", reason="ray is not installed: pip install -e '.[ray]'")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("address", ["", "somewhere", "http://head:6379", "ray://head:10001", "head:port"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(InputError, match=r"executor\.address is '.*'; it must be HOST:PORT"):
        list(RayExecutor(address).run([]))


def test_a_cluster_that_does_not_answer() -> None:
    began = time.monotonic()
    with pytest.raises(InputError, match=r"executor\.address is '127.*'; cannot connect: .*ray start --head"):
        list(RayExecutor(f"127.0.0.1:{_free_port()}").run([]))
    assert time.monotonic() - began < 50  # Ray itself would try for a minute, whatever else runs


def test_what_listens_is_not_the_head_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_session, "_ANSWER_SECONDS", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(InputError, match=r"executor\.address is '127.*'; what listens there does not"):
            list(RayExecutor(address).run([]))


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"executor=ray needs ray, which is not installed: pip install"):
        list(RayExecutor().run([]))


def test_it_starts_and_ends_its_own_workers(capfd: pytest.CaptureFixture[str]) -> None:
    with known_to_workers(misbehaving):
        rows = RayExecutor(workers=1).run(points_with(Killed(node_limit()), 30, (7,)))
        assert not ray.is_initialized()
        assert [row.status for _, row in rows].count("ok") == 29
    assert not ray.is_initialized()
    assert capfd.readouterr() == ("", "")


def test_a_node_that_goes_and_one_that_comes_cost_no_point(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    folder = str(tmp_path)
    points = points_with(Gathers(folder, 2), 20) + [
        design_point(strategy, simulator=Gathers(folder, 3))
        for strategy in (Strategy(dp=d, tp=16 // d, activation_recompute=True) for d in (1, 2, 4, 8, 16))
        for _ in range(15)
    ]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        first, _ = cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1)
        rows: dict[int, StudyRow] = {}
        with known_to_workers(misbehaving):
            for index, row in RayExecutor(cluster.address).run(points):
                rows[index] = row
                if len(rows) == 1:
                    assert len(list(tmp_path.iterdir())) == 2  # both nodes have worked
                    cluster.remove_node(first, allow_graceful=False)
                    cluster.add_node(num_cpus=1)
        assert sorted(rows) == list(range(len(points)))
        assert len(list(tmp_path.iterdir())) >= 3  # processes of three nodes
        assert rows == dict(LocalExecutor(2).run(points))
    finally:
        cluster.shutdown()


def _listening_addresses(processes: list[Any]) -> set[str]:
    return {
        connection.laddr.ip.removeprefix("::ffff:")
        for process in processes
        for connection in process.net_connections("tcp")
        if connection.status == "LISTEN"
    }


def test_workers_on_this_machine_listen_on_loopback_only_and_leave_nothing_behind() -> None:
    import psutil  # type: ignore[import-untyped,unused-ignore]  # of Ray

    before = set(psutil.Process().children(recursive=True))
    with ray_session.ray_session(None, 1) as (session, is_ours):
        assert is_ours
        assert session.get(session.remote(lambda: 3).remote()) == 3
        started = set(psutil.Process().children(recursive=True)) - before
        assert len(started) >= 4  # the head, the raylet, its agents, a worker
        assert _listening_addresses([psutil.Process(), *started]) == {"127.0.0.1"}
    assert not [process for process in psutil.wait_procs(started, timeout=30)[1] if process.is_running()]


@pytest.mark.parametrize("name", ["gcs_server", "raylet"])
def test_ray_that_ends_during_a_sweep_is_one_line(tmp_path: Path, name: str) -> None:
    import psutil  # type: ignore[import-untyped,unused-ignore]

    values = ",".join(str(450 + index) for index in range(3000))
    sweep = subprocess.Popen(
        [
            *(
                sys.executable,
                "-m",
                "dse",
                "sweep",
                "system=torus_4x4",
                "model=tiny",
                "simulator.engine=general",
            ),
            *(
                "executor=ray",
                "executor.workers=1",
                "study=s",
                f"space.axes={{system.peak_tflops:[{values}]}}",
            ),
        ],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + 400  # Ray starts slowly beside much else
        while not list(tmp_path.glob("results/s/part-*")):
            assert sweep.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        (process,) = [child for child in psutil.Process(sweep.pid).children() if child.name() == name]
        process.kill()
        _, error = sweep.communicate(timeout=400)
    finally:
        sweep.kill()
    assert sweep.returncode in (1, 2)  # native code of Ray may end the process first
    lines = [line for line in error.splitlines() if not line.startswith("[")]  # it may log a line as well
    assert lines[0] == "executor: ray, on this machine"
    assert len(lines) == 2
    assert lines[1].startswith("error: ")
    assert lines[1].endswith("run the command again to go on from what is stored")


def test_ray_that_cannot_start_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / ("long" * 30)))  # too long for the names of its sockets
    with pytest.raises(
        InputError, match=r"Ray cannot start on this machine: .*; executor=local does without"
    ):
        list(RayExecutor(workers=1).run(points_with(Slow(0.01), 1)))


@pytest.mark.parametrize("version", ["2.58.1", "1.13.0"])
def test_a_ray_that_asks_for_no_token_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(ray, "__version__", version)
    with pytest.raises(
        InputError, match=rf"needs ray 2\.59 or newer.*ray {version} is installed: pip install"
    ):
        list(RayExecutor(workers=1).run([]))
