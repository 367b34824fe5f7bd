"""The constraint that binds: the memory cap, or else the part of the system that wall time follows most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers import best
from dse.answers.whatif.candidates import Candidates, first_of, fits
from dse.answers.whatif.sensitivity import Sensitivity, sensitivity
from dse.base.errors import InputError
from dse.base.units import format_bytes, format_duration_ns
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, strategy_of_row
from dse.studies.store import Rows


@dataclass(frozen=True)
class Binding:
    """The constraint that holds the wall time of the winner up.

    `cap_binds` says that the best of all points does not fit under the cap: then `unbound` is its strategy,
    `cost_ns` the wall time that the cap costs, and `needed_bytes` the cap under which it would fit.
    `sensitivities` are those of the winner under the cap, the largest |elasticity| first.
    """

    winner: Strategy
    wall_time_ns: int
    memory_cap_bytes: int | None
    cap_binds: bool
    unbound: Strategy
    cost_ns: int
    needed_bytes: int | None
    sensitivities: tuple[Sensitivity, ...]

    @property
    def resource(self) -> str | None:
        """The part of the system with the largest |elasticity|, such as "compute"; None if none matters."""
        first = self.sensitivities[0] if self.sensitivities else None
        return first.parameter.resource if first is not None and first.elasticity else None

    def sentence(self) -> str:
        """The answer for people."""
        parts = []
        if self.cap_binds:
            needed = "unknown" if self.needed_bytes is None else format_bytes(self.needed_bytes)
            share = 100 * self.cost_ns / (self.wall_time_ns - self.cost_ns)
            parts.append(
                f"the memory cap binds: {self.unbound.label()} is {format_duration_ns(self.cost_ns)} faster "
                f"(the cap costs {share:.1f} %) and needs {needed}"
            )
        elif self.memory_cap_bytes is not None:
            parts.append("the memory cap does not bind")
        if self.resource is None:
            parts.append("no number of the system matters")
        else:
            first = self.sensitivities[0]
            parts.append(f"the wall time follows {self.resource} most (elasticity {first.elasticity:.3f})")
        return "; ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """Plain data; strategies as dicts of their fields."""
        return {
            **vars(self),
            "winner": vars(self.winner),
            "unbound": vars(self.unbound),
            "resource": self.resource,
            "sensitivities": [entry.to_json() for entry in self.sensitivities],
        }


def binding_constraint(rows: Rows, memory_cap_bytes: int | None = None) -> Binding:
    """Say what binds the best point among rows of one model and system (`dse.answers.groups`).

    The optima come from the rows; elasticities need three evaluations for each parameter.

    Raises:
        InputError: no point is ok or fits under the cap; or as `point_of_row`.
    """
    winner = best(rows)
    if winner is None:
        raise InputError("no point is ok, so nothing binds: sweep a larger space")
    winner = best(rows, memory_cap_bytes=memory_cap_bytes) or winner
    return binding_among(Candidates(rows, winner, memory_cap_bytes))


def binding_among(candidates: Candidates, answers: Sequence[Sensitivity] | None = None) -> Binding:
    """The same for candidates; `answers` are the sensitivities of their winner, if they are known.

    Raises:
        InputError: the system refuses a value.
    """
    winner, cap = candidates.winner, candidates.memory_cap_bytes
    optimum = first_of([row for row in candidates.rows.values() if fits(row, None)]) or winner
    if answers is None:
        answers = sensitivity(DesignPoint(candidates.scenario, strategy_of_row(winner)), factors=())
    wall_time_ns = winner.wall_time_ns or 0
    return Binding(
        winner=strategy_of_row(winner),
        wall_time_ns=wall_time_ns,
        memory_cap_bytes=cap,
        cap_binds=optimum is not winner,
        unbound=strategy_of_row(optimum),
        cost_ns=wall_time_ns - (optimum.wall_time_ns or 0),
        needed_bytes=optimum.peak_memory_bytes,
        sensitivities=tuple(sorted(answers, key=lambda entry: -abs(entry.elasticity or 0))),
    )
