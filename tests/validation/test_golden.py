"""The simulator against recorded results of the reference: all ranks, all figures, exactly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dse.simulators import NativeSimulator
from dse.simulators.native import EngineMethod
from dse.validation import Case, check, load_cases

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "golden"
FULL_SET = ROOT.parent / "shared" / "golden"
ENGINES: tuple[EngineMethod, ...] = ("auto", "general")
FILES = ("points.jsonl", "collectives.jsonl", "graphs.tar.gz")


def _unaware(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.network_model == "congestion_unaware"]


def _mismatches(cases: Sequence[Case], engine: EngineMethod = "auto", threads: int = 1) -> list[str]:
    simulator = NativeSimulator(engine)
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda case: check(case, simulator), cases)
        return [mismatch.describe() for mismatches in found for mismatch in mismatches]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("file", "statuses"),
    [
        ("points.jsonl", {"ok": 12, "deadlock": 1}),
        ("collectives.jsonl", {"ok": 39, "unsupported": 3}),
        ("graphs.tar.gz", {"ok": 7, "deadlock": 7}),
    ],
)
def test_samples_of_the_reference_are_reproduced(
    file: str, statuses: dict[str, int], engine: EngineMethod
) -> None:
    with load_cases(SAMPLES / file) as cases:
        assert Counter(case.expected.status for case in cases) == statuses
        assert _unaware(cases) == cases
        assert all(case.unsupported_network is None for case in cases)
        assert _mismatches(cases, engine) == []


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
@pytest.mark.parametrize("file", FILES)
def test_the_full_golden_set_is_reproduced(file: str, engine: EngineMethod) -> None:
    with load_cases(FULL_SET / file) as cases:
        chosen = _unaware(cases)
        assert len(chosen) >= 50
        assert [case.name for case in chosen if case.unsupported_network] == []
        assert _mismatches(chosen, engine, threads=2) == []
