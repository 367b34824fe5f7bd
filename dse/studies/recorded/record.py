"""The record type of runs: what was run, when it ended, and what its slowest rank did with the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from dse.studies.store.records import (
    RecordType,
    count,
    flag,
    number,
    percent,
    repeated_text,
    size_bytes,
    text,
    time_ns,
)

OK, DEADLOCK, FAILED, TIMEOUT = "ok", "deadlock", "failed", "timeout"
SIMULATED, REPLAYED = "simulated", "replayed"


@dataclass(frozen=True)
class RunRow:
    """One run; figures are None where it did not end, and `reason` says why.

    Figures are those of the rank that ends last. Of a recorded step, its compute, exposed and gap time are
    those of the path to its end and add up to the wall time.
    """

    traces: Annotated[str, text("the traces as they were asked for")]
    paths: Annotated[str, repeated_text("where their files were, as JSON")]
    kind: Annotated[str, repeated_text("traces of Chakra, or a recorded step", allowed=(SIMULATED, REPLAYED))]
    system: Annotated[
        str, text("the system and its overrides; empty: that of the traces, or links as recorded")
    ]
    base_system: Annotated[str, repeated_text("the system on which the step was recorded; empty: unknown")]
    simulator: Annotated[str, repeated_text("settings of the simulator, as JSON")]
    asked: Annotated[str, repeated_text("keys of the what-if, as JSON", json_texts=())]
    ranks: Annotated[int | None, count("ranks of the run", least=1)]
    nodes: Annotated[int | None, count("nodes of all ranks", least=0)]
    status: Annotated[str, repeated_text("how it ended", allowed=(OK, DEADLOCK, FAILED, TIMEOUT))]
    reason: Annotated[str, repeated_text("why it did not end")]
    wall_time_ns: Annotated[int | None, time_ns("when the last rank ends", least=0)]
    slowest_rank: Annotated[int | None, number("the rank that ends last", least=0)]
    compute_time_ns: Annotated[int | None, time_ns("of that rank: computation", least=0)]
    comm_time_ns: Annotated[int | None, time_ns("of that rank: communication is under way", least=0)]
    exposed_comm_ns: Annotated[int | None, time_ns("of that rank: communication that nothing hides")]
    gap_time_ns: Annotated[int | None, time_ns("of that rank: gaps that no node explains", least=0)]
    peak_memory_bytes: Annotated[int | None, size_bytes("the largest peak; null: not tracked", least=0)]
    measured_ns: Annotated[int | None, time_ns("the recorded step as it was measured", least=0)]
    replayed_ns: Annotated[int | None, time_ns("the recorded step played again unchanged", least=0)]
    replay_error_pct: Annotated[float | None, percent("the largest error of that, of all ranks")]
    trusted: Annotated[
        bool | None, flag("every rank within 10 %, none missing in a what-if; null: simulated")
    ]
    work_bound_ns: Annotated[int | None, time_ns("with communication that takes no time", least=0)]
    comm_bound_ns: Annotated[int | None, time_ns("with work that takes no time", least=0)]
    path_bound_ns: Annotated[int | None, time_ns("the longest chain of both, without gaps", least=0)]
    key: Annotated[str, text("a hash of all that the figures depend on")]


RUNS = RecordType(
    name="run of traces",
    row=RunRow,
    order=("traces", "system", "asked", "simulator", "key"),
    status="status",
    transient=(FAILED, TIMEOUT),
)
"""The record type of runs of traces."""
