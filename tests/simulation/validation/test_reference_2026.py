"""ASTRA-sim of March 2026 beside that of April 2025: recorded rules, collectives and runs, to the cycle."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import DseError
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.native import EngineMethod
from dse.simulation.validation import CRASHED, REFERENCES, Case, check, load_cases, verdict
from dse.simulation.validation.collectives import collective_case
from dse.simulation.workloads import Reference

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "golden" / "reference_2026"
FULL_SET = ROOT.parent / "shared" / "golden"
OLD, NEW = REFERENCES
ENGINES: tuple[EngineMethod, ...] = ("auto", "general")
RULES: dict[str, dict[Reference, Any]] = json.loads((SAMPLES / "rules.json").read_text())
UNDEFINED = "five-dims"  # reads past a list: refused
CUSTOM = "custom-"  # April 2025 ignores these keys of system.json: refused


def _ends(case: Case, reference: Reference, engine: EngineMethod) -> Any:
    """The ends of the ranks of a case in the form of rules.json."""
    try:
        outcome = NativeSimulator(engine, reference).simulate(*case.load(reference))
    except DseError:
        return "error"
    ranks = [found for rank in range(outcome.rank_count) if (found := outcome.rank(rank)) is not None]
    return {
        "finish_ns": dict(Counter(str(found.finish_ns) for found in ranks)),
        **({"peak_memory_bytes": peak} if (peak := ranks and ranks[0].peak_memory_bytes) is not None else {}),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_every_rule_is_that_of_its_reference(engine: EngineMethod) -> None:
    wrong = []
    with load_cases(SAMPLES / "rules.tar.gz") as cases:
        by_name = {case.name.removeprefix("rules/"): case for case in cases}
        for name, expected in RULES.items():
            for reference in REFERENCES:
                got, want = _ends(by_name[name], reference, engine), expected[reference]
                refused = (name == UNDEFINED and reference == NEW) or (
                    name.startswith(CUSTOM) and reference == OLD
                )
                if refused:
                    want = "error"
                if got != want and got | want != got:  # a peak that was not printed
                    wrong.append((name, reference, want, got))
    assert wrong == []
    assert sum(expected[OLD] != expected[NEW] for expected in RULES.values()) > 40


def test_every_figure_of_the_recorded_rules_is_equal() -> None:
    with load_cases(SAMPLES / "rules.tar.gz") as cases:
        found = {
            case.name.removeprefix("rules/"): check(case, NativeSimulator(reference=NEW))
            for case in cases
            if case.name != f"rules/{UNDEFINED}"
        }
    crashed = {name for name, mismatches in found.items() if mismatches and mismatches[0].metric == CRASHED}
    assert len(found) == 97
    assert crashed == {
        *("confusion", "custom-ar-in-groups-of-8", "group-nonnumeric", "group-not-member", "group-unknown"),
        *(
            "group0-in-file",
            "grp-hd-a2a",
            "grp-no-impl",
            "grp3-halving",
            "pytorch-meta-pg0",
            "pytorch-meta-pg1",
        ),
    }
    # The program crashed without a word: its log looks like a deadlock.
    assert {name for name, mismatches in found.items() if mismatches} - crashed == {
        "grp4-doubleBinaryTree-AR"
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_collectives_in_groups_run_the_listed_algorithm(engine: EngineMethod) -> None:
    with load_cases(SAMPLES / "collectives.jsonl") as cases:
        assert Counter(case.expected.status for case in cases) == {"ok": 15, "unsupported": 2}
        simulator = NativeSimulator(engine, NEW)
        assert [m.describe() for case in cases for m in check(case, simulator)] == []
        assert all(verdict(case, REFERENCES).equals == [NEW] for case in cases)


def test_a_run_of_stage_of_2026_equals_one_reference() -> None:
    with load_cases(SAMPLES / "stage_2026.tar.gz") as cases:
        (case,) = cases
        assert verdict(case, REFERENCES).equals == [NEW]
        assert verdict(case, [OLD]).mismatches != []


def test_a_digit_of_the_new_log_counts() -> None:
    with load_cases(SAMPLES / "stage_2026.tar.gz") as cases:
        folder = cases[0].folder
        assert folder is not None
        log = (folder / "reference.log").read_text()
        line = next(text for text in log.splitlines() if "communication overlap" in text)
        figure = line.rsplit(" ", 1)[1]
        (folder / "reference.log").write_text(
            log.replace(line, line.replace(figure, str(int(figure) + 1)), 1)
        )
        (case,) = _loaded(folder)
        (mismatch,) = check(case, NativeSimulator(reference=NEW))
    assert (mismatch.metric, mismatch.expected, mismatch.got) == ("overlap_ns", int(figure) + 1, int(figure))


def _loaded(folder: Path) -> list[Case]:
    with load_cases(folder) as cases:
        return cases


@pytest.mark.slow
@pytest.mark.skipif(not FULL_SET.is_dir(), reason="no folder shared/golden beside the repository")
def test_all_runs_of_2026_are_equal_and_all_others_under_both() -> None:
    only = []
    for file, count in (("stage_2026_runs.tar.gz", 14), ("examples.tar.gz", 32)):
        with load_cases(FULL_SET / "reference_2026" / file) as cases:
            assert len(cases) == count
            for case in cases:
                equals = verdict(case, REFERENCES).equals
                assert NEW in equals, case.name
                only += [case.name] if OLD not in equals else []
    assert only == ["gpt_ar-1dD"]  # in the groups of two of the others, direct is ring


@pytest.mark.slow
@pytest.mark.skipif(not FULL_SET.is_dir(), reason="no folder shared/golden beside the repository")
@pytest.mark.parametrize("engine", ENGINES)
def test_all_collectives_of_the_full_set(engine: EngineMethod) -> None:
    simulator = NativeSimulator(engine, NEW)
    changed = {
        record["id"]: record["finish_ns_2026_03"]
        for record in map(
            json.loads, (FULL_SET / "reference_2026" / "collectives.jsonl").read_text().splitlines()
        )
    }
    mismatches = []
    for line in (FULL_SET / "collectives.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["id"] in changed:
            new = changed.pop(record["id"])
            record["expected"] = (
                {"status": "unsupported"} if new is None else {"status": "ok", "finish_ns": new}
            )
        mismatches += check(collective_case(record, record["id"]), simulator)
    assert changed == {}
    assert [mismatch.describe() for mismatch in mismatches] == []


@pytest.mark.slow
@pytest.mark.skipif(not FULL_SET.is_dir(), reason="no folder shared/golden beside the repository")
def test_ids_of_dimensions_stay_those_of_2025() -> None:
    with load_cases(FULL_SET / "reference_2026" / "dimension_ids.tar.gz") as cases:
        assert len(cases) == 20
        assert all(OLD in verdict(case, REFERENCES).equals for case in cases)
