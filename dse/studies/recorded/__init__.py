"""Runs of traces as one study: traces × systems × what-ifs, simulated or replayed, resumed, on Ray too."""

from typing import TYPE_CHECKING

from dse.base.lazy import lazily

if TYPE_CHECKING:
    from dse.studies.recorded.case import RUNS as RUNS
    from dse.studies.recorded.case import Case as Case
    from dse.studies.recorded.case import RunRow as RunRow
    from dse.studies.recorded.evaluate import RunEvaluator as RunEvaluator
    from dse.studies.recorded.traces import Traces as Traces
    from dse.studies.recorded.traces import found_traces as found_traces

__getattr__ = lazily(
    __name__,
    {"case": "Case RUNS RunRow", "evaluate": "RunEvaluator", "traces": "Traces found_traces"},
)
