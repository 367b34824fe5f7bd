"""From the name of a question and its keys to its answer, as plain data and as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError, NothingFits
from dse.base.settings import check_choice
from dse.base.settings.values import listed, number, one_of, whole
from dse.planner.problem.arguments import Asked
from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.problem import PlanResult
from dse.planner.questions.failures import replan
from dse.planner.questions.growth import growth
from dse.planner.questions.prices import price_ranges
from dse.planner.questions.runs import (
    SubsetRun,
    asked_of_values,
    effect_of_failures,
    run_entry,
    run_of_subset,
)
from dse.planner.questions.subsets import Solve, Subset, front, kept_for, kind_of, node_kinds, solve_subsets
from dse.planner.questions.text import (
    growth_entries,
    growth_text,
    price_entries,
    prices_text,
    replan_entry,
    replans_text,
    subset_entry,
    subsets_text,
)

KEPT_FOR_FAILURES = 200
"""Plans of a planner among which the one that keeps most of the placement is looked for."""


@dataclass(frozen=True)
class Answer:
    """Entries for programs, and the text for people."""

    entries: list[dict[str, Any]]
    text: str
    has_plan: bool = True


def ask(
    question: str, asked: Asked, values: Mapping[str, str], solve: Solve, on_case: Callable[[int], None]
) -> Answer:
    """Answer a question of `QUESTIONS`; `on_case` gets the number of planned problems, before each.

    Raises:
        InputError: a wrong key, or unknown prices.
        NothingFits: there is no plan to begin with.
    """
    if question == "grow":
        return _grow(asked, values, solve)
    if question == "fail":
        return _fail(asked, values, solve)
    if question == "prices" and not asked.problem.cluster.price_per_hour:
        raise InputError("prices are unknown; write prices=[TYPE:NUMBER,...], a price for each type")
    counts = one_of(values, "counts", ("doubling", "all"))
    asked_run, objective = asked_of_values(values, asked.problem)
    found = solve_subsets(asked.problem, solve, every=counts == "all", on_subset=on_case)
    has_plan = any(one.step_ms is not None for one in found)
    if question == "prices":
        entries = [
            entry
            for type_ in asked.problem.cluster.types
            for entry in price_entries(price_ranges(found, type_))
        ]
        return Answer(entries, prices_text(entries))
    if question == "front":
        chosen = front(found)
        entries = [{**subset_entry(one), "kept_for": kept_for(one, chosen)} for one in chosen]
        return Answer(entries, subsets_text(entries), has_plan)
    if asked_run is None:
        entries = [subset_entry(one) for one in _by_time(found)]
        return Answer(entries, subsets_text(entries), has_plan)
    runs = [run_of_subset(asked_run, one) for one in found]
    order = sorted(range(len(found)), key=lambda place: _rank(found[place], runs[place], objective))
    entries = [{**subset_entry(found[place]), **run_entry(runs[place])} for place in order]
    text = "\n".join([subsets_text(entries), *effect_of_failures(found, runs, objective)])
    return Answer(entries, text, has_plan)


def _rank(subset: Subset, run: SubsetRun | None, objective: str) -> tuple[bool, float]:
    """The best first by the objective; those without a plan or a run last."""
    if objective == "step":
        return subset.step_ms is None, subset.step_ms or 0.0
    return run is None, 0.0 if run is None else run.figure(objective)


def _by_time(found: list[Subset]) -> list[Subset]:
    """The fastest first; those without a plan last."""
    return sorted(found, key=lambda subset: (subset.step_ms is None, subset.step_ms or 0.0))


def _base(asked: Asked, solve: Solve) -> tuple[PlanResult, float]:
    base = solve(asked.problem)
    if base.cost is None:
        raise NothingFits("no plan was found for this cluster; dse plan with the same keys says why")
    return base, base.cost.cost_ms


def _grow(asked: Asked, values: Mapping[str, str], solve: Solve) -> Answer:
    known = tuple(node_kinds(asked.problem.cluster))
    kinds = listed("kind", values["kind"]) if "kind" in values else list(known)
    for kind in kinds:
        check_choice("kind", kind, known)
    counts = [
        whole({"nodes": text}, "nodes", 1, least=1, most=99999)
        for text in listed("nodes", values.get("nodes", "1"))
    ]
    base, base_ms = _base(asked, solve)
    entries = growth_entries(growth(asked.problem, base, solve, kinds, counts))
    return Answer(entries, growth_text(entries, base_ms))


def _fail(asked: Asked, values: Mapping[str, str], solve: Solve) -> Answer:
    hosts = _failing(asked.problem.cluster, values.get("host"))
    slack = number(values, "slack", 0.05, most=10)
    base, base_ms = _base(asked, solve)
    found = [replan(asked.problem, base, solve, host, slack) for host in hosts]
    entries = [replan_entry(asked.problem, one) for one in found]
    return Answer(entries, replans_text(entries, base_ms))


def _failing(cluster: MixedCluster, text: str | None) -> list[int]:
    """Numbers of the hosts that fail, each on its own: that one, or the first of each kind."""
    kinds = [kind_of(host) for host in cluster.hosts]
    if text is None:
        return [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    if re.fullmatch(r"[0-9]{1,7}", text) and int(text) < len(cluster.hosts):
        return [int(text)]
    found = [number for number, host in enumerate(cluster.hosts) if host.address == text]
    if not found:
        raise InputError(
            f"host is '{text}'; it must be a number from 0 to {len(cluster.hosts) - 1}, or an address of one"
        )
    return found[:1]
