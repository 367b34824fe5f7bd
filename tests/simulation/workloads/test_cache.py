"""Workloads that were generated before are kept up to a number of bytes, not up to a number of workloads."""

from __future__ import annotations

from threading import Barrier, Thread

from hypothesis import given
from hypothesis import strategies as st

from dse.inputs.strategies import Strategy
from dse.simulation.workloads import generate
from dse.simulation.workloads.cache import ByteCache
from dse.testing.builders import TINY


def test_the_values_that_were_used_last_are_kept() -> None:
    cache: ByteCache[str, bytes] = ByteCache(10, len)
    first = cache.get("a", lambda: b"aaaa")
    cache.get("b", lambda: b"bbbb")
    assert cache.get("a", lambda: b"other") is first
    cache.get("c", lambda: b"cccc")  # 12 bytes: b was used longest ago
    assert (len(cache), cache.kept_bytes) == (2, 8)
    assert cache.get("a", lambda: b"other") is first
    assert cache.get("b", lambda: b"new") == b"new"
    cache.clear()
    assert (len(cache), cache.kept_bytes) == (0, 0)


def test_a_value_that_is_too_large_alone_is_not_kept_and_pushes_nothing_out() -> None:
    cache: ByteCache[str, bytes] = ByteCache(10, len)
    cache.get("a", lambda: b"aaaa")
    assert cache.get("large", lambda: bytes(11)) == bytes(11)
    assert (len(cache), cache.kept_bytes) == (1, 4)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7))))
def test_the_bound_holds_whatever_is_asked_for(requests: list[tuple[int, int]]) -> None:
    cache: ByteCache[tuple[int, int], bytes] = ByteCache(20, len)
    for key in requests:
        assert cache.get(key, lambda key=key: bytes(key[1])) == bytes(key[1])  # type: ignore[misc]
        assert cache.kept_bytes <= 20


def test_threads_that_make_one_value_at_a_time_count_it_once() -> None:
    cache: ByteCache[str, bytes] = ByteCache(10, len)
    together = Barrier(4)

    def make() -> bytes:
        together.wait()
        return b"aaaa"

    threads = [Thread(target=cache.get, args=("a", make)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(cache), cache.kept_bytes) == (1, 4)


def test_a_workload_knows_its_size() -> None:
    short, long = (generate(TINY, Strategy(dp=2, pp=pp)).native for pp in (1, 4))
    # 64 bytes a node and more for its dependencies, tensors and names
    for work in (short, long):
        nodes = sum(work.counts(rank)["nodes"] for rank in range(0, work.rank_count, 2))
        assert 100 * nodes < work.memory_bytes < 1000 * nodes
    assert generate(TINY, Strategy(dp=2)).native is short
