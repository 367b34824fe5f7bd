"""Timelines of simulated plans: a process for each type in each stage, the passes in their order."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from dse.answers.timelines.plan import plan_timeline
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet
from dse.planner.questions.simulation import simulate

TYPES = ("A100", "V100")
PROFILES = ProfileSet(
    {
        ProfileKey(kind, tp, batch): Profile((ms * batch / tp,) * 4, (100.0,) * 4, 0.0, 8.0, 0.0)
        for kind, ms in zip(TYPES, (3.0, 6.0), strict=True)
        for tp in (1, 2)
        for batch in (1, 2, 4, 8)
    },
    ProfileKey("A100", 1, 1),
    (1e7,) * 4,
)
HOSTS = (Host("a", "A100", 2, 100.0, 10.0), Host("v", "V100", 2, 100.0, 10.0))
PROBLEM = PlanProblem(MixedCluster(HOSTS, dict.fromkeys(TYPES, 80.0)), PROFILES, TYPES, gbs=8)
PLAN = ClusterPlan(TYPES, (2, 2), ((1, 2), (2, 1)), 4, (0, 3, 4), 2)


def test_a_plan_is_drawn_by_stage(tmp_path: Path) -> None:
    summary = plan_timeline(PROBLEM, PLAN, tmp_path / "plan.json")
    data = json.loads((tmp_path / "plan.json").read_text())
    events = data["traceEvents"]
    assert [e["args"]["name"] for e in events if e["name"] == "process_name"] == [
        "stage 0, A100 1 x 2, layers 0 to 2: rank 0",
        "stage 1, V100 2 x 1, layers 3 to 3: rank 2",
    ]
    assert data["otherData"]["stages"] == "1 x 2, 2 x 1"
    first = [e["name"] for e in events if e["ph"] == "B" and e["pid"] == 1 and e["cat"].endswith("bound")]
    passes = ["forward 0", "forward 1", "backward 0", "forward 2", "backward 1", "forward 3"]
    assert first == [*passes, "backward 2", "backward 3", "update"]
    assert summary.slices == sum(e["ph"] == "B" for e in events)
    last_us = max(e["ts"] for e in events if e["ph"] == "E")
    assert last_us <= simulate(PROBLEM, PLAN).step_ms * 1e3


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json.gz", tmp_path / "two.json.gz"
    plan_timeline(PROBLEM, PLAN, one)
    plan_timeline(PROBLEM, PLAN, two)
    assert one.read_bytes() == two.read_bytes()
    assert b"reduce gradients" in gzip.decompress(one.read_bytes())
