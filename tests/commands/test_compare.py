"""`python -m dse compare`: what differs between two studies, and every strategy that both have."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from command_lines import TINY, error_of, run_ok
from study_rows import failed_row, keyed

from dse.answers import groups
from dse.answers.differences import compare_groups, pairs
from dse.answers.differences_text import render_comparison
from dse.answers.fidelities import REFERENCE
from dse.base.errors import InputError
from dse.commands import compare
from dse.studies.store import StudyRow, StudyStore, as_rows, as_table

_AXES = ("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute")
FASTER = [f"system.network.{dimension}.bandwidth_gbps=200" for dimension in (0, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    run_ok("sweep", *TINY, "study=a", cwd=folder)
    run_ok("sweep", *TINY, *FASTER, "study=b", "space.sp=[1,2]", cwd=folder)
    run_ok("sweep", "system=dgx16", "model=tiny", "study=dgx", "space.sp=[1]", cwd=folder)
    run_ok(
        "sweep", "space.axes={model:[tiny],system:[torus_4x4,dgx16]}", "study=two", "space.sp=[1]", cwd=folder
    )
    return folder


def rows(folder: Path, study: str) -> dict[tuple[object, ...], StudyRow]:
    found = as_rows(StudyStore(folder / "results" / study).read_table())
    return {tuple([getattr(row, name) for name in _AXES]): row for row in found}


def test_every_common_strategy_is_there_with_its_own_figures(folder: Path) -> None:
    first, second = rows(folder, "a"), rows(folder, "b")
    data = json.loads(run_ok("compare", "results/a", "results/b", "--json", cwd=folder).out)
    assert [entry["name"] for entry in data["inputs"]] == [name.partition("=")[0] for name in FASTER]
    assert data["inputs"][0]["first"] == [100]
    assert len(data["strategies"]) == len(set(first) & set(second)) == len(second)
    assert (data["only_first"], data["only_second"]) == (len(first) - len(second), 0)
    for entry in data["strategies"]:
        strategy = tuple(entry[name] for name in _AXES)
        assert entry["first_wall_time_ns"] == first[strategy].wall_time_ns
        assert entry["second_wall_time_ns"] == second[strategy].wall_time_ns
        assert entry["second_peak_memory_bytes"] == second[strategy].peak_memory_bytes
    changes = [entry["change"] for entry in data["strategies"]]
    assert changes == sorted(changes)
    assert data["second"]["best"]["wall_time_ns"] == min(row.wall_time_ns or 0 for row in second.values())


def test_the_text_names_inputs_answers_and_strategies(folder: Path) -> None:
    text = run_ok("compare", "results/a", "results/b", "items=2", "csv=all.csv", cwd=folder).out
    assert "  system.network.0.bandwidth_gbps  100 -> 200\n" in text
    assert "without a memory cap" in text
    assert "under 80 GB" in text
    assert text.count("\n  gain") == 2
    assert "only in a" in text
    assert max(map(len, text.splitlines())) <= 110
    with (folder / "all.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows(folder, "b"))


def test_a_study_compared_with_itself_does_not_differ(folder: Path) -> None:
    text = run_ok("compare", "results/a", "results/a", cwd=folder).out
    assert "the inputs are the same" in text
    assert "0 are faster" in text
    assert "gain" not in text


def test_two_systems_are_compared_where_each_study_has_one(folder: Path) -> None:
    text = run_ok("compare", "results/a", "results/dgx", "--no-memory-cap", cwd=folder).out
    assert text.startswith(f"tiny on torus_4x4, 16 NPUs -> tiny on dgx16, 16 NPUs, {REFERENCE}\n")
    assert "under" not in text


def test_groups_of_one_title_belong_together(folder: Path) -> None:
    data = json.loads(run_ok("compare", "results/a", "results/two", "--json", cwd=folder).out)
    assert data["title"] == "tiny on torus_4x4, 16 NPUs"


def test_studies_without_a_common_group_are_refused() -> None:
    one, other = (
        groups(as_table([row for name in names for row in keyed(8, model=name)]))
        for names in (("m1", "m2"), ("m3",))
    )
    with pytest.raises(InputError, match="nothing in common"):
        pairs(one, other)


def test_points_that_are_not_ok_or_do_not_fit() -> None:
    (good,) = groups(as_table(keyed(8)))
    (bad,) = groups(as_table([failed_row("deadlock", "why")]))
    comparison = compare_groups(good, bad)
    assert (comparison.changes, comparison.only_first) == ((), 1)
    assert "  second: no point is ok" in render_comparison(comparison)
    slow = compare_groups(
        good, groups(as_table(keyed(8, wall_time_ns=2 * 4_088_264_658)))[0], memory_cap_bytes=1
    )
    text = render_comparison(slow)
    assert "+100.0 %" in text
    assert "  first: no point fits" in text
    assert "\n  loss" in text


def test_user_errors_are_one_line(folder: Path) -> None:
    assert "nowhere" in error_of("compare", "results/a", "results/nowhere", cwd=folder)
    assert "items is '-1'; it must be a whole number" in error_of(
        "compare", "results/a", "results/b", "items=-1", cwd=folder
    )
    with pytest.raises(InputError, match="unit"):
        compare.main([str(folder / "results" / "a"), str(folder / "results" / "b"), "memory_cap=80"])
