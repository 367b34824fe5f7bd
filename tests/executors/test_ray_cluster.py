"""Connections to Ray: addresses, clusters that do not answer, own workers, and nodes that come and go."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import misbehaving
import pytest
from builders import design_point
from misbehaving import Killed, Slow, node_limit, points_with
from workers import known_to_workers

from dse.errors import InputError
from dse.executors import LocalExecutor, RayExecutor, ray_session
from dse.results import StudyRow
from dse.strategies import Strategy

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
    assert time.monotonic() - began < 10


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

    points = points_with(Slow(0.02), 60) + [
        design_point(strategy, simulator=Slow(0.02, str(tmp_path)))
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
                if len(rows) == 60:
                    cluster.remove_node(first, allow_graceful=False)
                    cluster.add_node(num_cpus=1)
        assert sorted(rows) == list(range(len(points)))
        local = dict(LocalExecutor(2).run(points))
        assert rows == local
        assert len(list(tmp_path.iterdir())) >= 3  # processes of three nodes
    finally:
        cluster.shutdown()
