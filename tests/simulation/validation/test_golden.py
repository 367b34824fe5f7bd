"""The simulator against recorded results of the reference: all ranks, all figures, exactly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.native import EngineMethod
from dse.simulation.validation import Case, check, load_cases

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "golden"
FULL_SET = ROOT.parent / "shared" / "golden"
ENGINES: tuple[EngineMethod, ...] = ("auto", "general")


def _mismatches(cases: Sequence[Case], engine: EngineMethod = "auto", threads: int = 1) -> list[str]:
    simulator = NativeSimulator(engine)
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda case: check(case, simulator), cases)
        return [mismatch.describe() for mismatches in found for mismatch in mismatches]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("file", "network_model", "statuses"),
    [
        ("points.jsonl", "congestion_unaware", {"ok": 12, "deadlock": 1}),
        ("points.jsonl", "congestion_aware", {"ok": 4, "deadlock": 1}),
        ("collectives.jsonl", "congestion_unaware", {"ok": 39, "unsupported": 3}),
        ("collectives.jsonl", "congestion_aware", {"ok": 14, "unsupported": 1}),
        ("graphs.tar.gz", "congestion_unaware", {"ok": 7, "deadlock": 7}),
        ("graphs.tar.gz", "congestion_aware", {"ok": 6, "deadlock": 2}),
        ("graphs_more.tar.gz", "congestion_unaware", {"ok": 24, "deadlock": 17}),
        ("graphs_more.tar.gz", "congestion_aware", {"ok": 16, "deadlock": 4}),
        ("dimension_ids.tar.gz", "congestion_unaware", {"ok": 8, "deadlock": 12}),
    ],
)
def test_samples_of_the_reference_are_reproduced(
    file: str, network_model: str, statuses: dict[str, int], engine: EngineMethod
) -> None:
    with load_cases(SAMPLES / file) as cases:
        chosen = [case for case in cases if case.network_model == network_model]
        assert Counter(case.expected.status for case in chosen) == statuses
        assert _mismatches(chosen, engine) == []


def test_samples_on_meshes_are_among_them() -> None:
    records = [json.loads(line) for line in (SAMPLES / "collectives.jsonl").read_text().splitlines()]
    shapes = Counter(tuple(record["network"][0].get("shape", ())) for record in records)
    assert shapes == {(): 51, (4, 4): 3, (3, 5): 2, (8, 2): 1}


def test_a_record_that_is_off_by_one_is_a_mismatch(tmp_path: Path) -> None:
    record = json.loads((SAMPLES / "points.jsonl").read_text().splitlines()[0])
    assert record["expected"]["ranks"]["wall_time_ns"] == 1_792_330
    record["expected"]["ranks"]["wall_time_ns"] += 1
    path = tmp_path / "off.jsonl"
    path.write_text(json.dumps(record))
    with load_cases(path) as cases:
        mismatches = _mismatches(cases)
    assert mismatches == [
        f"MISMATCH tiny4_dp16_tp1_sp1_pp1_ar0_ws0__ring16__unaware: rank {rank} wall_time_ns: "
        "expected 1792331, got 1792330"
        for rank in range(16)
    ]


@pytest.mark.slow
@pytest.mark.skipif(not FULL_SET.is_dir(), reason="no folder shared/golden beside the repository")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("file", "count"),
    [("points.jsonl", 93), ("collectives.jsonl", 421), ("graphs.tar.gz", 140), ("graphs_more.tar.gz", 61)],
)
def test_the_full_golden_set_is_reproduced(file: str, count: int, engine: EngineMethod) -> None:
    with load_cases(FULL_SET / file) as cases:
        assert len(cases) == count
        assert _mismatches(cases, engine, threads=2) == []
