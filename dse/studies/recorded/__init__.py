"""Runs of traces as one study: traces × systems × what-ifs, simulated or replayed, resumed, on Ray too."""

from dse.studies.recorded.case import Case
from dse.studies.recorded.evaluate import RunEvaluator
from dse.studies.recorded.record import RUNS, RunRow
from dse.studies.recorded.traces import Traces, found_traces

__all__ = ["RUNS", "Case", "RunEvaluator", "RunRow", "Traces", "found_traces"]
