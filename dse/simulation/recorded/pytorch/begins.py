"""The begin of a step on all ranks: those that begin early often only wait for the last one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse.simulation.recorded.pytorch.assembly import assembled
from dse.simulation.recorded.pytorch.matching import Match
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import RecordedStep

_LEAST_DELAY_NS = 20_000
_LEAST_SHARE = 0.05
_MOST_ERROR = 0.01


def begun(
    ranks: Sequence[RecordedRank],
    matches: Sequence[Match],
    world_size: int,
    clocks_agree: bool,
    notes: list[str],
) -> RecordedStep:
    """Return the step of ranks that did not begin at the same time.

    Times count from the begin of the first rank. But steps follow each other, and the last stage of a
    pipeline ends early and begins early, to wait for the first stage: with that the step would seem too long.
    So times count from the begin of the last rank, if that was much later, and all ranks end when they did
    although they begin together.
    """
    step = assembled(ranks, matches, world_size, clocks_agree)
    begins = [rank.step.begin_ns for rank in ranks]
    delay_ns = max(begins) - min(begins)
    if not clocks_agree or delay_ns < _LEAST_DELAY_NS:
        return step
    late = ranks[begins.index(max(begins))].rank
    said = f"rank {late} began its step {delay_ns / 1e6:.3f} ms after the first rank"
    if delay_ns > _LEAST_SHARE * step.measured_ns.max():
        together = assembled(ranks, matches, world_size, clocks_agree, together=True)
        if together.measured_ns.min() > 0 and np.abs(replayed(together).errors).max() <= _MOST_ERROR:
            notes.append(f"{said}: all begin together with it, as the others only waited longer")
            return together
    notes.append(f"{said}: times are from the begin of the first one")
    return step
