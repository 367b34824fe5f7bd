"""Sweeps killed at random moments: `python tests/sweeps/chaos.py --points 2000 --kills 20` (make chaos).

Every kill is a SIGKILL of the whole driver. At the end the study must equal that of a sweep which nobody
disturbed, row for row, and all that was computed twice must have ended after the last part was written.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from dse.results import StudyStore, as_rows
from dse.sweeps.writer import MOST_FLUSH_S

DRIVER = Path(__file__).with_name("chaos_driver.py")
POINTS_PER_VALUE = 10  # strategies of tiny on 16 NPUs with sp 1
HELD_S = MOST_FLUSH_S + 1.0  # what is older than that at the last write is in a part, unless it was in flight
DEADLINE_S = 600


@dataclass(frozen=True)
class Kill:
    """What one kill cost: simulations that ended in the run, and rows that the study gained."""

    simulated: int
    gained: int
    after_last_part: int

    @property
    def lost(self) -> int:
        """Simulations that have to be repeated."""
        return self.simulated - self.gained


def overrides(results: Path, points: int) -> list[str]:
    """A sweep of so many points, each of them simulated rank by rank so that it takes milliseconds."""
    values = ",".join(str(450 + index) for index in range(points // POINTS_PER_VALUE))
    return [
        *("system=torus_4x4", "model=tiny", "simulator.engine=general", "space.sp=[1]", "study=chaos"),
        f"space.axes={{system.peak_tflops:[{values}]}}",
        f"results_dir={results}",
        "executor=local",
    ]


def start(log: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start a sweep."""
    return subprocess.Popen([sys.executable, str(DRIVER), str(log), *arguments], stdout=subprocess.DEVNULL)


def run_killed(folder: Path, points: int, kills: int, seed: int) -> list[Kill]:
    """Kill a sweep `kills` times, then let it end; return what each kill cost."""
    draw = random.Random(seed)
    arguments = overrides(folder / "killed", points)
    store = StudyStore(folder / "killed" / "chaos")
    costs: list[Kill] = []
    while len(costs) < kills:
        log = folder / f"{len(costs)}.log"
        before = stored(store)
        process = start(log, arguments)
        wait_for_simulations(process, log, draw.randint(1, max(1, (points - before) // (kills - len(costs)))))
        time.sleep(draw.random() * 0.2)
        process.kill()
        process.wait()
        ended = [float(line) for line in log.read_text().splitlines()] if log.exists() else []
        parts = [path.stat().st_mtime for path in store.folder.glob("part-*.parquet")]
        since = max(parts, default=0.0) - HELD_S
        costs.append(Kill(len(ended), stored(store) - before, sum(moment > since for moment in ended)))
    assert start(folder / "last.log", arguments).wait(DEADLINE_S) == 0
    return costs


def wait_for_simulations(process: subprocess.Popen[bytes], log: Path, count: int) -> None:
    """Return when so many simulations of a run have ended, or the sweep has."""
    deadline = time.monotonic() + DEADLINE_S
    while process.poll() is None and time.monotonic() < deadline:
        if log.exists() and log.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.01)


def stored(store: StudyStore) -> int:
    """Number of points in the study."""
    return len(store.keys()) if store.folder.is_dir() else 0


def check(folder: Path, points: int, kills: int, seed: int) -> list[Kill]:
    """Run a sweep with kills and one without, and compare; return what each kill cost."""
    costs = run_killed(folder, points, kills, seed)
    assert start(folder / "whole.log", overrides(folder / "whole", points)).wait(DEADLINE_S) == 0
    killed, whole = (StudyStore(folder / name / "chaos") for name in ("killed", "whole"))
    assert whole.read_table().num_rows == points
    assert as_rows(killed.read_table()) == as_rows(whole.read_table())  # both are in the order of ROW_ORDER
    assert len(killed.parts()) == 1
    last = (folder / "last.log").read_text().count("\n")
    assert sum(cost.gained for cost in costs) + last == points
    for cost in costs:
        assert 0 <= cost.lost <= cost.after_last_part, costs
    return costs


def main() -> None:
    """Print the cost of the kills."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        costs = check(Path(folder), arguments.points, arguments.kills, arguments.seed)
    simulated = sum(cost.simulated for cost in costs)
    lost = sum(cost.lost for cost in costs)
    print(
        f"{len(costs)} kills in {arguments.points} points: the study equals the undisturbed one; "
        f"{lost} of {simulated} simulations in killed runs are repeated, "
        f"at most {max(cost.lost for cost in costs)} after a kill"
    )


if __name__ == "__main__":
    main()
