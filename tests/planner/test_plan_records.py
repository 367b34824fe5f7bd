"""Plans in files: what is written is read again, whatever the form, and damage is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dse.base.errors import InputError
from dse.planner.files.files import (
    SUFFIXES,
    check_target,
    entries_csv,
    json_text,
    read_document,
    write_document,
)
from dse.planner.files.output import proof_text, result_text
from dse.planner.files.records import document
from dse.planner.page.page import Cell, host_rows, render_page
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs import price
from dse.planner.problem.problem import ClusterPlan, PlanProblem, PlanResult, Profile, ProfileKey, ProfileSet
from dse.planner.questions.bottleneck import groups_text, parts_ms, reasons

PROFILES = {
    ProfileKey(type_, tp, batch): Profile(
        (0.1 * slow * batch / tp, *(2.3 * slow * batch / tp,) * 4, 0.7 * slow * batch / tp),
        (0.0, *(300.5 * batch / tp,) * 4, 20.25),
        0.125,
        3.5 * slow,
        0.0625,
    )
    for type_, slow in (("A100", 1.0), ("V100", 3.1))
    for tp in (1, 2)
    for batch in (1, 2, 4, 8)
}
PROBLEM = PlanProblem(
    MixedCluster(
        (Host("v0", "V100", 2, 50, 10), Host("a0", "A100", 2, 46, 10), Host("<a1>", "A100", 2, 46, 10, 1)),
        {"V100": 16.0, "A100": 80.0},
        {"V100": 0.9, "A100": 2.0},
        5.0,
    ),
    ProfileSet(PROFILES, ProfileKey("A100", 1, 1), (8e7, *(2e8,) * 4, 8.1e7), False, "measured"),
    ("A100", "V100"),
    gbs=8,
)
PLAN = ClusterPlan(("A100", "V100"), (4, 2), ((2, 2), (2, 1)), 4, (0, 5, 6), 2)
OTHER = replace(PLAN, partition=(0, 4, 6))
COSTS = {plan: price(PROBLEM, plan, "strict") for plan in (PLAN, OTHER)}
RESULT = PlanResult(
    "exact",
    "strict",
    None,
    17,
    PLAN,
    COSTS[PLAN],
    COSTS[PLAN].cost_ms / 1.25,
    False,
    0.5,
    tuple((COSTS[plan].cost_ms, plan) for plan in (PLAN, OTHER)),
    {"memory of V100": 4, "no profile of V100 tp 2 batch 16": 1},
    {"kind": "test"},
)
DATA = document(PROBLEM, RESULT, {"cluster": "three hosts", "model": "six layers"})


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".parquet"])
def test_a_document_survives_every_form(suffix: str, tmp_path: Path) -> None:
    (path,) = write_document(tmp_path / f"plan{suffix}", DATA)
    assert read_document(path) == json.loads(json.dumps(DATA))


def test_a_folder_has_all_forms_and_is_read(tmp_path: Path) -> None:
    written = write_document(tmp_path / "new" / "plan", DATA)
    assert sorted(path.suffix for path in written) == sorted(SUFFIXES)
    assert read_document(tmp_path / "new" / "plan")["best"]["cost_ms"] == RESULT.ranking[0][0]


def test_a_parquet_file_has_a_row_per_stage(tmp_path: Path) -> None:
    (path,) = write_document(tmp_path / "plan.parquet", DATA)
    rows = pq.read_table(path).to_pylist()
    assert [(row["gpus"], row["dp"], row["tp"], row["first_layer"], row["end_layer"]) for row in rows] == [
        (4, 2, 2, 0, 5),
        (2, 2, 1, 5, 6),
    ]
    assert json.loads(rows[0]["hosts"])[1] == {"host": 2, "address": "<a1>", "first": 0, "gpus": 2}
    # 9.28e8 bytes of half-precision parameters: 8 bytes each with states, over tp 2, and activations.
    held = 8 * 8.8e8 / 2 + 2 * (4 * 150.25) * 2**20
    assert json.loads(rows[0]["memory_bytes"]) == [[held, 4]]
    assert rows[0]["most_memory_share"] == held / (80 * 2**30)


def test_parts_of_the_step_sum_to_it() -> None:
    assert sum(parts_ms(DATA["best"], "strict").values()) == pytest.approx(DATA["best"]["cost_ms"], rel=1e-12)
    compat = replace(PROBLEM, profiles=replace(PROBLEM.profiles, memory_has_states=True))
    one = ClusterPlan(("A100", "V100"), (4, 2), ((2, 2), (1, 2)), 4, (0, 5, 6), 2)
    cost = price(compat, one, "compat")
    found = document(compat, replace(RESULT, cost_model="compat", best=one, cost=cost), {})
    assert sum(parts_ms(found["best"], "compat").values()) == pytest.approx(cost.cost_ms, rel=1e-12)


def test_the_text_has_bound_gap_stages_and_reasons() -> None:
    text = result_text(DATA, "three hosts", "six layers")
    assert "six layers: 6 layers, 8 sequences per step, on three hosts: 2 V100 + 4 A100" in text
    assert "at most 25.00 % above the optimum" in text
    assert (
        "cannot be: memory of V100 (4 kinds of stage)\ncannot be: no profile of V100 tp 2 batch 16 (1 kind"
        in text
    )
    assert "    0  4 A100      2    2 x 2     0-4" in text
    assert "stage 0 sets the pace" in text or "stage 1 sets the pace" in text


def test_messages_that_share_an_uplink_are_told_with_what_they_may_add() -> None:
    """Two replicas on each node send 2 x 1024 x 4096 x 2 bytes at once, over 5 GB/s between islands."""
    crowded = replace(PLAN, strategies=((4, 1), (2, 1)), batches=2)
    cost = price(PROBLEM, crowded, "strict")
    told = reasons(document(PROBLEM, replace(RESULT, best=crowded, cost=cost, ranking=()), {}))
    (line,) = [sentence for sentence in told if "uplink" in sentence]
    assert line.startswith("messages of 2 replicas of stage 0 share a node's uplink")
    assert "up to 3.355 ms more per micro-batch" in line
    assert not [sentence for sentence in reasons(DATA) if "uplink" in sentence]  # a tensor group sends once


def test_batches_of_missing_profiles_are_told_together() -> None:
    missing = {f"no profile of V100 tp 2 batch {batch}": 3 for batch in (16, 2, 8)}
    text = result_text(document(PROBLEM, replace(RESULT, infeasible=missing), {}), "c", "m")
    assert "cannot be: no profile of V100 tp 2 batch 2, 8, 16 (9 kinds of stage)" in text


def test_a_document_without_a_plan_says_so(tmp_path: Path) -> None:
    nothing = replace(RESULT, best=None, cost=None, bound_ms=None, ranking=())
    data = document(PROBLEM, nothing, DATA["provenance"])
    assert "no plan fits\ncannot be: memory of V100" in result_text(data, "c", "m")
    written = write_document(tmp_path / "plan", data)
    assert "No plan fits" in written[-1].read_text(encoding="utf-8")


def test_the_page_draws_stages_on_hosts_and_loads_nothing(tmp_path: Path) -> None:
    assert [(row.first, row.hosts, row.cells) for row in host_rows(DATA)] == [
        ("v0", 1, (Cell(1, 2),)),
        ("a0", 1, (Cell(0, 2),)),
        ("<a1>", 1, (Cell(0, 2),)),
    ]
    (path,) = write_document(tmp_path / "plan.html", DATA)
    page = path.read_text(encoding="utf-8")
    assert "&lt;a1&gt;" in page
    assert "<a1>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<script") == 1  # headings of tables sort
    assert 'data-of="' in page


def test_hosts_that_are_cut_alike_are_one_row() -> None:
    hosts = [["a", "A100", 2, 46, 10, 0], ["b", "A100", 2, 46, 10, 0], ["c", "A100", 4, 46, 10, 0]]
    alike = {"best": None, "problem": {"cluster": {"hosts": hosts}}}
    assert [(row.hosts, row.cells) for row in host_rows(alike)] == [
        (2, (Cell(None, 2),)),
        (1, (Cell(None, 4),)),
    ]


def test_equal_stages_are_counted() -> None:
    plan = {"groups": [4, 4, 8], "strategies": [[4, 1], [4, 1], [1, 8]]}
    assert groups_text(plan) == "2 times 4 as 4x1 | 8 as 1x8"


def test_short_groups_stay_on_a_line() -> None:
    assert json_text({"a": [1, 2]}) == '{"a": [1, 2]}'
    long = {"values": list(range(60))}
    assert json.loads(json_text(long)) == long
    assert json_text(long).startswith('{\n  "values": [\n    0,\n')


def test_entries_of_answers_are_rows() -> None:
    assert entries_csv([{"a": 1, "b": {"c": 2}}, {"a": None}]) == 'a,b\n1,"{""c"": 2}"\n,\n'


def test_files_cut_short_are_named(tmp_path: Path) -> None:
    for suffix in (".json", ".parquet"):
        (path,) = write_document(tmp_path / f"plan{suffix}", DATA)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(InputError, match=r"malformed JSON|is no Parquet file"):
            read_document(path)
    other = tmp_path / "other.json"
    other.write_text('{"version": 1}', encoding="utf-8")
    with pytest.raises(InputError, match="is no plan; dse plan"):
        read_document(other)
    other.write_text('{"version": 99, "problem": {}}', encoding="utf-8")
    with pytest.raises(InputError, match="is of version 99; this release reads version 1"):
        read_document(other)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plan.txt", "it must end in .json, .yaml, .csv, .parquet, .html, or be a folder"),
        ("none/plan.json", "does not exist"),
        ("file", "which is a file; name a folder"),
    ],
)
def test_targets_that_cannot_be_written_are_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        check_target(tmp_path / name)
    assert message in str(caught.value)


def test_a_page_and_a_table_say_the_proof_in_the_same_words() -> None:
    open_ = {**DATA, "optimal": False, "bound_ms": 80.0, "gap": 0.25}
    assert (
        proof_text(open_)
        == "no plan of this space is below 80 ms, so it is at most 25.00 % above the optimum"
    )
    for bound_ms in (None, 0.0, -8.0):
        assert proof_text({**open_, "bound_ms": bound_ms, "gap": None}) == "no bound is known"
    assert proof_text({**open_, "optimal": True}) == "proven optimal within this space"
    assert "no plan of this space is below 80 ms, so it is at most 25.00 % above the optimum" in render_page(
        open_
    )
