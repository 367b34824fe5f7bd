"""From a case to its row; a run that does not end is a row with a reason."""

from __future__ import annotations

import json
from typing import Any

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.simulation.simulators import Outcome, RankMetrics
from dse.simulation.workloads import Workload
from dse.studies.evaluator import Evaluator
from dse.studies.recorded.case import (
    DEADLOCK,
    FAILED,
    OK,
    REPLAYED,
    RUNS,
    SIMULATED,
    TIMEOUT,
    Case,
    RunRow,
)
from dse.studies.recorded.run import replay_of, simulated


class RunEvaluator(Evaluator[Case, RunRow]):
    """Simulates traces of Chakra, and plays recorded steps again."""

    record = RUNS
    takes_long = False

    def evaluate(self, case: Case) -> RunRow:
        """See `Evaluator.evaluate`."""
        try:
            if case.traces.is_recorded:
                return _replayed(case)
            return simulated_row(case, *simulated(case))
        except (InputError, SimulationError) as error:  # such as a system with too few NPUs, in a list
            return self.failed(case, FAILED, str(error))
        except SimulationTimeout as error:
            return self.failed(case, TIMEOUT, str(error))

    def failed(self, case: Case, status: Any, reason: str) -> RunRow:
        """See `Evaluator.failed`."""
        return _row(case, status=status, reason=reason)


def simulated_row(case: Case, workload: Workload, outcome: Outcome) -> RunRow:
    """Return the row of an outcome of the simulator."""
    nodes = sum(workload.counts(rank).nodes for rank in range(outcome.rank_count))
    figures: dict[str, Any] = {"ranks": outcome.rank_count, "nodes": nodes}
    if outcome.status != OK:
        return _row(case, status=DEADLOCK, reason=outcome.reason, **figures)
    slowest, last = slowest_rank(outcome)
    peaks = [each.peak_memory_bytes for each in outcome.classes if each is not None]
    known = [peak for peak in peaks if peak is not None]
    return _row(
        case,
        status=OK,
        reason="",
        **figures,
        wall_time_ns=last.wall_time_ns,
        slowest_rank=slowest,
        compute_time_ns=last.gpu_time_ns + last.cpu_time_ns,
        comm_time_ns=last.comm_time_ns,
        exposed_comm_ns=last.exposed_comm_ns,
        peak_memory_bytes=max(known) if known else None,
    )


def slowest_rank(outcome: Outcome) -> tuple[int, RankMetrics]:
    """Return the rank that ends last, the lowest on ties, and its figures; all ranks must have ended."""
    index = max(
        range(len(outcome.classes)),
        key=lambda number: (_wall_ns(outcome.classes[number]), -number),
    )
    metrics = outcome.classes[index]
    assert metrics is not None
    return list(outcome.class_of_rank).index(index), metrics


def _wall_ns(metrics: RankMetrics | None) -> int:
    return -1 if metrics is None else metrics.wall_time_ns


def _replayed(case: Case) -> RunRow:
    from dse.simulation.recorded.critical import bounds_of, critical_path
    from dse.simulation.recorded.times import is_communication, rank_index_of
    from dse.simulation.recorded.trust import doubt_of_missing_ranks

    baseline, replay = case.traces.baseline(), replay_of(case)
    step, recorded = replay.step, case.traces.step()
    known, is_doubted = bool(recorded.measured_ns.all()), bool(doubt_of_missing_ranks(recorded))
    figures: dict[str, Any] = {
        "ranks": step.world_size,
        "nodes": step.node_count,
        "measured_ns": int(recorded.measured_ns.max()) if known else None,
        "replayed_ns": None if baseline.blocked else baseline.step_ns,
        "replay_error_pct": 100 * float(max(baseline.errors, key=abs)) if known else None,
        "trusted": known and baseline.is_trusted and (replay is baseline or not is_doubted),
    }
    if replay.blocked:
        return _row(case, status=DEADLOCK, reason=replay.reason, **figures)
    bounds = bounds_of(step)
    index = int(replay.rank_end_ns.argmax())
    slowest = step.ranks[index]
    path = critical_path(replay, slowest)
    own = is_communication(step) & (rank_index_of(step) == index)
    return _row(
        case,
        status=OK,
        reason="",
        **figures,
        wall_time_ns=replay.step_ns,
        slowest_rank=slowest,
        compute_time_ns=sum(path.work_ns.values()),
        comm_time_ns=_union_ns(replay.start_ns[own].tolist(), replay.end_ns[own].tolist()),
        exposed_comm_ns=path.communication_ns + path.waiting_ns,
        gap_time_ns=path.gap_ns,
        work_bound_ns=bounds.work_ns,
        comm_bound_ns=bounds.communication_ns,
        path_bound_ns=bounds.critical_path_ns,
    )


def _union_ns(starts_ns: list[int], ends_ns: list[int]) -> int:
    total = reached = 0
    for start, end in sorted(zip(starts_ns, ends_ns, strict=True)):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _row(case: Case, **found: Any) -> RunRow:
    traces = case.traces
    return RUNS.row_of(
        traces=traces.name,
        paths=json.dumps([str(path.resolve()) for path in traces.named]),
        kind=REPLAYED if traces.is_recorded else SIMULATED,
        system=case.system_name,
        base_system=case.base_name,
        simulator=json.dumps({} if traces.is_recorded else case.simulator_facts, sort_keys=True),
        asked=json.dumps(dict(case.asked), sort_keys=True),
        key=case.key,
        **found,
    )
