"""The constraint that binds: the memory cap, or else the part of the system that wall time follows most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers.whatif.candidates import Candidates, first_of, fits
from dse.answers.whatif.sensitivity import Sensitivity, sensitivity
from dse.base.units import format_bytes, format_duration_ns
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, strategy_of_row


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


def binding_constraint(candidates: Candidates, answers: Sequence[Sensitivity] | None = None) -> Binding:
    """Say what binds the best of the candidates; `answers` are its sensitivities, if they are known.

    The optima come from the rows; elasticities need three evaluations for each parameter.

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
