"""The simulator's word on the cheapest plans, as plain data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.base.texts import counted, cut, table
from dse.planner.files.documents import plan_to_dict
from dse.planner.questions.bottleneck import groups_text
from dse.planner.throughput import difference, duration

if TYPE_CHECKING:
    from dse.planner.questions.simulation import Reranking

_MOST_EFFECTS = 3
_LEAST_SHARE = 1e-4  # of a step; what is below is not told


def simulated(problem: Any, result: Any, most: int) -> dict[str, Any]:
    """Simulate the `most` cheapest plans; return them, the shortest step first, and what the order tells.

    `by_price` of an entry is its place among the prices, from 1; `effects` lead from its price to its step.
    """
    from dse.planner.questions.simulation import rerank

    return _entry(rerank(problem, result, most))


def _entry(found: Reranking) -> dict[str, Any]:
    places = {index: place for place, index in enumerate(found.by_price, 1)}
    return {
        "plans": [
            {
                "step_ms": one.step_ms,
                "price_ms": one.price_ms,
                "by_price": places[index],
                "effects": {effect.name: effect.ms for effect in one.effects if effect.ms},
                "remainder_ms": one.remainder_ms,
                "refused": one.refused,
                "short_of_memory": one.short_of_memory,
                "plan": plan_to_dict(one.plan),
            }
            for index, one in enumerate(found.simulations)
        ],
        "gained_ms": found.gained_ms,
        "because": {effect.name: effect.ms for effect in found.reason()},
        "left_out": dict(found.left_out),
    }


def simulated_lines(entry: Mapping[str, Any]) -> list[str]:
    """Return the table of simulated plans, and why another one than the cheapest is first."""
    rows = []
    for one in entry["plans"]:
        price_ms = one["price_ms"]
        told = [item for item in one["effects"].items() if abs(item[1]) > _LEAST_SHARE * one["step_ms"]]
        effects = sorted(told, key=lambda item: -abs(item[1]))[:_MOST_EFFECTS]
        rows.append(
            (
                duration(one["step_ms"]),
                "-" if price_ms is None else duration(price_ms),
                "-" if price_ms is None else f"{100 * (one['step_ms'] / price_ms - 1):.2f}",
                str(one["by_price"]),
                cut(groups_text(one["plan"]), 48),
                one["short_of_memory"] or ", ".join(f"{name} {difference(ms)}" for name, ms in effects),
            )
        )
    lines = ["simulated, the shortest step first:"]
    lines += table(("step", "price", "% longer", "by price", "stages", "largest effects"), rows)
    if entry["because"]:
        effects = list(entry["because"].items())[:_MOST_EFFECTS]
        why = ", ".join(f"{name} {difference(ms)}" for name, ms in effects)
        lines.append(f"it overtakes the cheapest by {duration(entry['gained_ms'])}: {why}")
    lines += [
        f"not simulated: {reason} ({counted(count, 'plan')})" for reason, count in entry["left_out"].items()
    ]
    return lines
