"""`dse status`: planned, done, missing and failed points, by status and reason; no study: exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

from command_lines import TINY, error_of, run_ok
from study_rows import row

from dse.commands.status import render, status_of
from dse.studies.store import StudyStore
from dse.studies.store.history import key_digits, plan_sweep

SWEEP = "points:\n  planned: 4\nstarted: '2026-11-21T14:30:00+00:00'\nconfiguration:\n  memory_cap: 80GB\n"


def interrupted(folder: Path) -> StudyStore:
    """A study of four rows whose last sweep still lacks two of the four points that it had planned."""
    store = StudyStore.create(folder)
    rows = [
        row(key="a" * 64),
        row(key="b" * 64, status="infeasible", reason="8 heads do not divide by 3"),
        row(key="c" * 64, status="infeasible", reason="8 heads do not divide by 5"),
        row(key="d" * 64, status="failed", reason="it crashed"),
    ]
    store.append(rows)
    store.record_sweep("20261121T143000Z-1f0c33ab", SWEEP)
    keys = b"".join(key_digits(digit * 64) for digit in "abef")
    plan_sweep(store, "20261121T143000Z-1f0c33ab", "", keys)
    return store


def test_an_interrupted_sweep(tmp_path: Path) -> None:
    store = interrupted(tmp_path / "study")
    data = status_of(store)
    assert data == {
        "study": str(store.folder),
        "points": 4,
        "fidelity": "as STAGE and astra-sim-2025-04 compute it (fidelity=stage)",
        "by_status": {"ok": 1, "infeasible": 2, "failed": 1},
        "failed": 1,
        "reasons": [
            {"status": "infeasible", "reason": "… heads do not divide by …", "count": 2},
            {"status": "failed", "reason": "it crashed", "count": 1},
        ],
        "sweeps": 1,
        "last_sweep": {
            "name": "20261121T143000Z-1f0c33ab",
            "started": "2026-11-21T14:30:00+00:00",
            "command": None,
            "memory_cap_bytes": 80_000_000_000,
            "planned": 4,
            "done": 2,
            "missing": 2,
            "has_ended": False,
        },
    }
    assert render(data).splitlines()[1:] == [
        "",
        "last sweep 2026-11-21T14:30:00+00:00, with memory_cap 80 GB",
        "  planned         4",
        "  done            2",
        "  missing         2",
        "  it runs, or was interrupted: run the same sweep again for what is missing",
        "",
        "the study has 4 points of 1 sweep, as STAGE and astra-sim-2025-04 compute it (fidelity=stage)",
        "  ok                  1",
        "  infeasible          2",
        "  failed              1",
        "",
        "why points are not ok",
        "        2  infeasible: … heads do not divide by …",
        "        1  failed: it crashed",
    ]


def test_a_sweep_that_has_no_row_yet(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "study")
    store.record_sweep("20261121T143000Z-1f0c33ab", SWEEP)
    plan_sweep(store, "20261121T143000Z-1f0c33ab", "", key_digits("a" * 64) + key_digits("b" * 64))
    data = status_of(store)
    assert (data["points"], data["reasons"]) == (0, [])
    assert (data["last_sweep"]["planned"], data["last_sweep"]["missing"]) == (2, 2)


def test_a_study_without_records(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "study")
    store.append([row(key="a" * 64)])
    assert status_of(store)["last_sweep"] is None
    assert "no sweep is recorded" in render(status_of(store))


def test_provenance_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "study")
    store.append([row(key="a" * 64)])
    store.record_sweep("20261121T143000Z-1f0c33ab", "{")
    last = status_of(store)["last_sweep"]
    assert (last["started"], last["memory_cap_bytes"], last["planned"]) == (None, None, None)


def test_a_real_sweep_that_has_ended(tmp_path: Path) -> None:
    run_ok("sweep", *TINY, "space.sp=[1]", "memory_cap=40GB", "study=small", cwd=tmp_path)
    data = json.loads(run_ok("status", "results/small", "--json", cwd=tmp_path).out)
    last = data["last_sweep"]
    assert data["points"] == last["planned"] == last["done"] == sum(data["by_status"].values())
    assert (last["missing"], last["has_ended"], last["memory_cap_bytes"]) == (0, True, 40_000_000_000)
    assert last["command"][-1] == "study=small"


def test_no_study_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    assert "results is not a study" in error_of("status", "results", cwd=tmp_path)
    assert "results/nowhere" in error_of("status", "results/nowhere", cwd=tmp_path)
