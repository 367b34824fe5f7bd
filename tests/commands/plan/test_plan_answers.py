"""The command plan: what it answers and writes, in one process."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_lines import ClosedOutput
from plan_command import FIRST, Run, keys, refused

from dse.base.units import format_duration_ns
from dse.commands.plan.__main__ import main


@pytest.mark.parametrize(("planner", "count", "plans"), [("metis", 612, 206), ("metis-strat", 562, 183)])
def test_the_walks_count_as_the_reference(
    run: Run, inputs: Path, planner: str, count: int, plans: int
) -> None:
    out = run(*keys(inputs), FIRST, f"planner={planner}", "cost=compat", "format=json")
    found = json.loads(out)
    best = found["best"]
    assert (found["planner"], found["cost_model"], found["count"], found["plans"]) == (
        planner,
        "compat",
        count,
        plans,
    )
    assert best["cost_ms"] == 1795.4520359635353
    assert (best["types"], best["groups"], best["strategies"]) == (["A100", "V100"], [32], [[1, 32]])
    assert (best["batches"], best["partition"]) == (1, [0, 10])
    assert (found["bound_ms"], found["optimal"]) == (None, False)
    assert found["seconds"] > 0


@pytest.mark.parametrize(
    ("mixed", "cost_ms", "groups", "partition"),
    [
        ("true", 1795.4520359635353, [32], [0, 10]),
        ("false", 2345.625866869221, [16, 16], [0, 3, 10]),
    ],
)
def test_the_exact_search_finds_the_known_optima(
    run: Run, inputs: Path, mixed: str, cost_ms: float, groups: list[int], partition: list[int]
) -> None:
    out = run(
        *keys(inputs), FIRST, "planner=exact", "cost=compat", f"allow_mixed_stages={mixed}", "format=json"
    )
    found = json.loads(out)
    assert (found["best"]["cost_ms"], found["best"]["groups"]) == (cost_ms, groups)
    assert (found["best"]["partition"], found["optimal"], found["bound_ms"]) == (partition, True, cost_ms)


def test_files_are_checked_and_a_changed_one_is_not_valid(run: Run, inputs: Path, tmp_path: Path) -> None:
    run(*keys(inputs), "planner=exact", "allow_mixed_stages=false", "-o", str(tmp_path / "out"))
    assert "valid: the plan costs what the file says" in run("check", str(tmp_path / "out"))
    file = tmp_path / "out" / "plan.json"
    data = json.loads(file.read_text(encoding="utf-8"))

    def changed(change: Callable[[dict[str, Any]], object]) -> str:
        own = json.loads(json.dumps(data))
        change(own)
        file.write_text(json.dumps(own), encoding="utf-8")
        verdict = json.loads(run("check", str(file), "format=json", code=1))
        assert not verdict["valid"]
        return "\n".join(verdict["lines"])

    assert "certificate" in changed(lambda own: own.update(certificate=None))
    assert "certificate" in changed(lambda own: own["certificate"]["blocks"].pop())
    assert "certificate" in changed(lambda own: own["certificate"].update(bound_ms=1.0))
    assert "plan" in changed(lambda own: own["plan"]["partition"].__setitem__(1, 1))
    assert changed(lambda own: own["problem"].update(gbs=64))
    # What people read of the answer is no part of the digest.
    assert "best.cost_ms: 1.0, but plan" in changed(lambda own: own["best"].update(cost_ms=1.0))
    assert "best.partition" in changed(lambda own: own["best"]["partition"].__setitem__(1, 1))
    assert "best.stages" in changed(lambda own: own["best"]["stages"][0].update(execution_ms=1.0))
    assert "bound_ms" in changed(lambda own: own.update(bound_ms=1.0))
    assert "optimal" in changed(lambda own: own.update(optimal="yes"))
    assert "ranking[1].cost_ms" in changed(lambda own: own["ranking"][1].update(cost_ms=1.0))
    assert "ranking[0]" in changed(lambda own: own["ranking"][0].update(batches=7))


def test_an_answer_without_proof_is_not_called_truncated(run: Run, inputs: Path, tmp_path: Path) -> None:
    run(*keys(inputs), FIRST, "planner=metis", "-o", str(tmp_path / "walk.json"))
    assert "for planner metis writes none; exact does" in run("check", str(tmp_path / "walk.json"), code=1)
    run(*keys(inputs), "planner=anytime", "time_limit=0.2", "-o", str(tmp_path / "boxes.json"))
    assert re.search(r"by [1-9]\d* proofs over all plans", run("check", str(tmp_path / "boxes.json")))
    run(*keys(inputs), "memory_reserve=0.99", "-o", str(tmp_path / "none.json"), code=1)
    assert "for planner exact found none" in run("check", str(tmp_path / "none.json"), code=1)


def test_the_simulator_orders_the_cheapest_plans(run: Run, inputs: Path) -> None:
    asked = (*keys(inputs), "planner=exact", "simulate=3")
    found = json.loads(run(*asked, "format=json"))
    plans = found["simulation"]["plans"]
    assert sorted(one["by_price"] for one in plans) == [1, 2, 3]
    assert [one["step_ms"] for one in plans] == sorted(one["step_ms"] for one in plans)
    for one in plans:
        assert one["price_ms"] == found["ranking"][one["by_price"] - 1]["cost_ms"]
        explained = one["price_ms"] + sum(one["effects"].values()) + one["remainder_ms"]
        assert explained == pytest.approx(one["step_ms"], rel=1e-9)
    assert "simulated, the shortest step first:" in run(*asked)
    assert "only the 2 cheapest are kept; write top=3" in refused(*asked, "top=2")


def test_what_metis_s_best_plan_lacks_is_said(run: Run, inputs: Path) -> None:
    asked = [*keys(inputs), FIRST, "planner=metis"]
    assert "cannot run as it is: stage 0 has tensor groups over several types, priced at the" in run(*asked)
    assert json.loads(run(*asked, "format=json"))["best"]["defects"][1] == (
        "V100 tp 32: layers 0 to 9 need 51.9 GiB a GPU, 14.4 GiB may be used"
    )
    other = [key.replace("[A100,V100]", "[V100,A100]") for key in asked]
    truncated, *_ = json.loads(run(*other, "format=json"))["best"]["defects"]
    assert truncated == "its price counts 1 of its 2 stages"
    strict = json.loads(run(*keys(inputs), "planner=exact", "format=json"))
    assert strict["best"]["defects"] == []


def test_the_best_plan_is_drawn(run: Run, inputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json.gz"
    plain = run(*keys(inputs), "planner=exact", "format=csv")
    assert run(*keys(inputs), "planner=exact", "format=csv", f"timeline={file}") == plain
    assert f"wrote {file}: " in run.notes  # type: ignore[attr-defined]
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    stages = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert len(stages) == len(plain.splitlines()) - 1


def test_a_walk_without_plans_does_not_say_that_none_fits(run: Run, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("0.0.0.1 slots=1\n", encoding="utf-8")
    asked = [f"hostfile={tmp_path / 'hosts'}", *keys(inputs)[1:3], "gbs=128"]
    assert "no plan was found\nthe search found no plan, and does not prove" in run(
        *asked, "planner=metis", code=1
    )
    assert "no plan fits\n" in run(*asked, "planner=exact", code=1)
    page = tmp_path / "page.html"
    run(*asked, "planner=metis", "-o", str(page), code=1)
    text = page.read_text(encoding="utf-8")
    assert ">No plan was found<" in text
    assert "No plan fits" not in text


def test_nothing_is_drawn_where_no_plan_fits(run: Run, inputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    run(*keys(inputs), "planner=exact", "memory_reserve=0.99", f"timeline={file}", code=1)
    assert "no timeline was written" in run.notes  # type: ignore[attr-defined]
    assert not file.exists()


def test_labels_are_not_called_boxes(run: Run, inputs: Path) -> None:
    out = run(*keys(inputs), FIRST, "planner=anytime", "cost=compat")
    assert re.search(r"planner anytime, cost model compat: \d+ labels in", out)


def test_a_gap_beside_the_exact_planner_of_auto_is_said_to_do_nothing(run: Run, inputs: Path) -> None:
    run(*keys(inputs), "gap=0.01")
    note = "gap=0.01 has no effect: planner=auto chose exact, which ends when its plan is proven optimal"
    assert note in run.notes  # type: ignore[attr-defined]
    run(*keys(inputs), "planner=anytime", "gap=0.01")
    assert "has no effect" not in run.notes  # type: ignore[attr-defined]


def test_names_that_no_help_lists_work_and_say_what_they_are(run: Run, inputs: Path) -> None:
    out = run(*keys(inputs), FIRST, "planner=metis")
    assert "planner metis, cost model compat: count " in out
    assert "note: planner=metis is the walk of Metis over plans" in run.notes  # type: ignore[attr-defined]
    fast = run(*keys(inputs), "planner=fast")
    assert re.sub(r"in [0-9.]+ .?s", "", run(*keys(inputs), "planner=anytime")) == re.sub(
        r"in [0-9.]+ .?s", "", fast
    )
    assert "note: planner=anytime is the search that planner=fast makes" in run.notes  # type: ignore[attr-defined]


def test_forms_without_a_certificate_are_named(run: Run, inputs: Path, tmp_path: Path) -> None:
    for name in ("plan.csv", "plan.html"):
        run(*keys(inputs), "planner=exact", "-o", str(tmp_path / name))
        for action in ("check", "explain"):
            assert "holds no plan that can be read again; name a .json, .yaml" in refused(
                action, str(tmp_path / name)
            )


def test_all_forms_say_the_same(run: Run, inputs: Path) -> None:
    import yaml

    asked = (*keys(inputs), "planner=exact", "allow_mixed_stages=false")
    found = json.loads(run(*asked, "format=json"))
    again = yaml.safe_load(run(*asked, "format=yaml"))
    assert again["best"] == found["best"]
    table = run(*asked)
    assert "proven optimal" in table
    assert f"{format_duration_ns(1e6 * found['best']['cost_ms'])} per step" in table
    rows = run(*asked, "format=csv").splitlines()
    assert len(rows) == 1 + len(found["best"]["groups"])


def test_a_missing_profile_takes_out_only_its_plans(run: Run, inputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    for file in (inputs / "profiles").iterdir():
        if file.name != "DeviceType.V100_tp1_bs1.json":
            (folder / file.name).write_bytes(file.read_bytes())
    asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
    whole = json.loads(run(*keys(inputs), "planner=exact", "format=json"))
    found = json.loads(run(*asked, f"profiles={folder}", "planner=exact", "format=json"))
    assert whole["best"]["strategies"][0] == [8, 1]  # with a sample each, which is what is missing now
    assert found["best"]["cost_ms"] > whole["best"]["cost_ms"]
    assert found["optimal"]
    assert any("V100 tp 1 batch 1" in reason for reason in found["infeasible"]), found["infeasible"]


def printed(arguments: Sequence[str], seed: str, folder: Path) -> bytes:
    """What a process of its own prints, under a hash seed; without the time that it took."""
    line = [sys.executable, "-m", "dse", "plan", *arguments, "format=json"]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(line, cwd=folder, capture_output=True, check=True, env=environment, timeout=120)
    return b"\n".join(line for line in done.stdout.splitlines() if b'"seconds"' not in line)


def test_bytes_depend_on_no_hash_seed_or_file_order(inputs: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "profiles"
    shuffled.mkdir()
    for file in sorted((inputs / "profiles").iterdir(), key=lambda file: file.name[::-1]):
        (shuffled / file.name).write_bytes(file.read_bytes())
    for planner in ("metis", "exact"):
        asked = [key for key in keys(inputs) if not key.startswith("profiles=")]
        asked += [f"planner={planner}", "cost=compat", FIRST]
        one = printed([*asked, f"profiles={inputs / 'profiles'}"], "1", tmp_path)
        assert printed([*asked, f"profiles={shuffled}"], "2", tmp_path) == one


def test_who_stops_reading_still_gets_the_plan(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout", ClosedOutput())
    with pytest.raises(BrokenPipeError):
        main([*keys(inputs), "-o", str(tmp_path / "plan.json")])
    assert json.loads((tmp_path / "plan.json").read_text())["best"]
