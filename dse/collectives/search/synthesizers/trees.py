"""Trees packed for the best bandwidth of any network, and chunks scheduled along them."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.base.lazy import solvers
from dse.base.units import format_duration_ns
from dse.collectives.bounds.fluid_rates import best_rate
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers.base import Effort, Synthesis, Synthesizer, limited, reporter

# A packing asks for a flow for every link of every tree; more take minutes.
MOST_NPUS = 512


class Trees(Synthesizer):
    """All-gather and broadcast of many chunks, on links of any kind and direction, also past switches.

    Maximum flows say what the links can bring to every NPU by a time; spanning trees of all first holders
    are packed into that (Edmonds; edge splitting removes switches; ForestColl is this for machine learning),
    and chunks go along them. A trial is a packing. Beyond the flow's time a schedule takes what the deepest
    trees take to fill and to run dry, so it is near the best rate where there are many chunks
    (docs/synthesis.md).
    """

    name = "trees"

    def obstacle(self, problem: Problem) -> str | None:
        """Why it cannot take a problem, None if it can."""
        if problem.collective.name not in ("all_gather", "broadcast"):
            return f"not every NPU gets all chunks of {problem.collective.name}, as trees to all would bring"
        if problem.graph.npus > MOST_NPUS:
            return f"trees are packed for at most {MOST_NPUS} NPUs, and there are {problem.graph.npus}"
        return None

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        obstacle = self.obstacle(problem)
        if obstacle:
            raise InputError(f"synthesizer is {self.name}, but {obstacle}; allowed here: synthesizer=auto")
        with limited(effort) as cancellation:
            columns, trials, flow_ps, packed_ps, trees = solvers.search_trees(
                problem.native, effort.seed, effort.trials, effort.enough_ps, cancellation, reporter(effort)
            )
        schedule = Schedule.of(problem, *columns)
        return Synthesis(schedule, self.name, trials, why=_story(problem, flow_ps, packed_ps, trees))


def _story(problem: Problem, flow_ps: int, packed_ps: int, trees: int) -> str:
    for_time = "that" if packed_ps == flow_ps else f"{format_duration_ns(packed_ps / 1000)}"
    flow = format_duration_ns(flow_ps / 1000)
    text = f"flows of whole chunks take {flow}; {trees} different trees packed for {for_time}"
    rate = best_rate(problem)
    if rate is None:
        return text
    fluid_ps = float(rate.time_ps(problem))
    return (
        f"{text}; the best rate is {float(rate.bytes_per_ns):.6g} bytes/ns of each holder, "
        f"{format_duration_ns(fluid_ps / 1000)} for all without latencies"
    )
