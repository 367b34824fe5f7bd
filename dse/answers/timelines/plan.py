"""The timeline of a simulated plan for a mixed cluster: a process for each type of GPU in each stage."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

from dse.answers.timelines.bounds import TimelineSummary
from dse.answers.timelines.write import write_timeline
from dse.base.files import write_output
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.questions.simulation import PlanSimulator


def plan_timeline(problem: PlanProblem, plan: ClusterPlan, path: Path) -> TimelineSummary:
    """Simulate a plan and write its timeline as trace events; a name that ends in .gz is compressed.

    Drawn is one GPU of each type in each stage, the first of a replica: passes, messages between stages, the
    reduction of gradients, the update. The same plan gives the same bytes.

    Raises:
        Infeasible: the plan cannot be run.
        InputError: the file cannot be written.
    """
    recording, titles = PlanSimulator(problem).record(plan)
    text = io.StringIO()
    summary = write_timeline(recording, text, about=_about(plan), titles=titles)
    data = text.getvalue().encode()
    write_output(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data, "timeline")
    return summary


def _about(plan: ClusterPlan) -> dict[str, str]:
    return {
        "types": ", ".join(plan.types),
        "stages": ", ".join(f"{dp} x {tp}" for dp, tp in plan.strategies),
        "micro-batches": str(plan.batches),
        "layers": ", ".join(map(str, plan.partition)),
    }
