"""A study says how many points its latest sweep has still to compute."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from command_lines import TINY, run_ok
from study_rows import keyed

from dse.studies.store import StudyStore
from dse.studies.store.history import Unfinished, finish_sweep, key_digits, plan_sweep, unfinished_sweep

STUDY = "results/tiny-torus_4x4"
LATE = f"{2**64 - 1:016x}"


def plan(store: StudyStore, name: str, *keys: str) -> None:
    plan_sweep(store, name, f"configuration {name}", b"".join(map(key_digits, keys)))
    store.record_sweep(name, "{}")


def key(number: int) -> str:
    return f"{number:016x}" * 2


def test_what_the_latest_sweep_lacks_is_counted_key_by_key(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    store.append([row for number in (1, 2, 9) for row in keyed(number, key=key(number))])
    assert unfinished_sweep(store) is None
    plan(store, "20260101T000000Z-a", *map(key, range(1, 5)))
    assert unfinished_sweep(store) == Unfinished(planned=4, missing=2)
    store.append([row for number in (3, 4) for row in keyed(number, key=key(number))])
    assert unfinished_sweep(store) is None


def test_an_older_sweep_that_was_given_up_is_not_spoken_of(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    store.append(keyed(1, key=key(1)))
    plan(store, "20260101T000000Z-a", *map(key, range(1, 5)))
    store.record_sweep("20260101T000001Z-b", "{}")
    assert unfinished_sweep(store) is None


def test_a_sweep_that_ends_removes_its_plan_and_those_that_nothing_is_missing_of(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    plan(store, "20260101T000000Z-a", key(1), key(2))
    plan(store, "20260101T000000Z-b", key(1), key(7))
    plan(store, "20260101T000000Z-c", key(1))
    finish_sweep(store, "configuration 20260101T000000Z-c", {key(1), key(2)})
    left = [path.name for path in (tmp_path / "_sweeps").glob("*.unfinished")]
    assert left == ["20260101T000000Z-b.unfinished"]


def test_a_search_that_was_interrupted_says_so_without_a_number(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path)
    store.append(keyed(1))
    plan(store, "20260101T000000Z-a")
    unfinished = unfinished_sweep(store)
    assert unfinished is not None
    assert unfinished.sentence() == "the last search has not ended: run the same sweep again"


def test_a_killed_sweep_is_spoken_of_until_it_has_run_again(tmp_path: Path) -> None:
    sweep = ("system=system1", "model=llama70b", "space=full", "study=s", "executor.threads=1")
    line = [sys.executable, "-m", "dse.sweep", *sweep]
    process = subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    store = StudyStore(tmp_path / "results" / "s")
    for _ in range(3000):
        if store.exists() and store.count():
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    count = store.read_table(["key"]).num_rows
    assert 0 < count < 336
    done = run_ok("best", "results/s", cwd=tmp_path)
    last = done.out.splitlines()[0]
    assert last == f"{count} of 336 points; {336 - count} missing: run the same sweep again"
    assert f"note: {last}" in run_ok("explain", "results/s", "--no-switches", cwd=tmp_path).err
    run_ok("sweep", *sweep, cwd=tmp_path)
    assert "missing" not in run_ok("best", "results/s", cwd=tmp_path).out
    assert not list((tmp_path / "results" / "s" / "_sweeps").glob("*.unfinished"))


def test_a_sweep_that_ends_leaves_no_plan(tmp_path: Path) -> None:
    run_ok("sweep", *TINY, "space.sp=[1]", cwd=tmp_path)
    run_ok("sweep", *TINY, "search=random", "search.samples=12", cwd=tmp_path)
    names = sorted(path.suffix for path in (tmp_path / STUDY / "_sweeps").iterdir())
    assert names == [".yaml", ".yaml"]
