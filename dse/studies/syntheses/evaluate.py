"""From a case to its row; what cannot be synthesised is a row with a reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError
from dse.collectives.problem.problem import Problem
from dse.collectives.search.chunk_counts import best_split
from dse.collectives.search.synthesis import Result, synthesize
from dse.studies.evaluator import Evaluator
from dse.studies.syntheses.case import Case
from dse.studies.syntheses.record import FAILED, OK, SYNTHESES, SynthesisRow


class SynthesisEvaluator(Evaluator[Case, SynthesisRow]):
    """Makes schedules; a problem without one gives a row of status `failed`."""

    record = SYNTHESES

    def evaluate(self, case: Case) -> SynthesisRow:
        """See `Evaluator.evaluate`."""
        times_ps: Mapping[int, int] = {}
        try:
            if case.cutting is None:
                result = synthesize(case.problem, case.synthesizer, case.effort)
            else:
                split = best_split(case.cutting, case.synthesizer, case.effort)
                result, times_ps = split.result, split.times_ps
        except InputError as error:
            return self.failed(case, FAILED, str(error))
        return _row(case, result.schedule.problem, times_ps, status=OK, reason="", **_found(result))

    def failed(self, case: Case, status: str, reason: str) -> SynthesisRow:
        """See `Evaluator.failed`."""
        return _row(case, case.problem, {}, status=status, reason=reason)


def _found(result: Result) -> dict[str, Any]:
    bound = result.bound
    fixed = result.best_fixed
    return {
        "synthesizer": result.synthesizer,
        "time_ps": result.time_ps,
        "bound_ps": result.bound_ps,
        "bound": bound.name if bound else None,
        "optimal": result.is_optimal,
        "gap_pct": 100 * result.gap,
        "barrier_ps": result.barrier_ps,
        "best_fixed": fixed,
        "best_fixed_ps": None if fixed is None else result.fixed[fixed],
        "sends": len(result.schedule),
        "cpu_s": result.cpu_s,
    }


def _row(case: Case, problem: Problem, times_ps: Mapping[int, int], **found: Any) -> SynthesisRow:
    split = None
    if case.cutting is not None:
        split = json.dumps({"operation_bytes": case.cutting.operation_bytes, "times_ps": dict(times_ps)})
    return SYNTHESES.row_of(
        topology=case.topology,
        collective=problem.collective.kind,
        npus=problem.graph.npus,
        links=len(problem.graph),
        chunks_per_npu=problem.collective.chunks_per_npu,
        chunk_bytes=str(problem.chunk_bytes),
        root=problem.collective.root_npu,
        **problem.model._asdict(),
        asked=case.synthesizer,
        seed=case.seed,
        trials=case.trials,
        time_limit_s=case.time_limit_s,
        key=case.key,
        split=split,
        **found,
    )
