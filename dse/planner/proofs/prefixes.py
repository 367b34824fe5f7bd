"""A search of prefixes of plans, from the first stage on: is there a plan below a threshold?"""

from __future__ import annotations

from typing import NamedTuple

from dse.planner.proofs.stages import StageTables
from dse.planner.proofs.suffixes import SuffixBounds
from dse.planner.search.space import group_sizes


class Prefix(NamedTuple):
    """Sum and maxima of the stages so far."""

    sum_ms: float
    longest_ms: float
    update_ms: float
    reduction_ms: float


Cell = tuple[int, int, int]
"""First rank and first layer after the prefix, and the GPUs that the next stage is to have."""


def cheaper_plan(
    tables: StageTables, bounds: SuffixBounds, unit: int, stages: tuple[int, ...], threshold_ms: float
) -> float | None:
    """Return the cost of a plan of the block below the threshold, or None if there is none."""
    for count in stages:
        if 0 in bounds.sum_ms[count]:
            found = _cheaper(tables, bounds, unit, count, threshold_ms)
            if found is not None:
                return found
    return None


def _cheaper(
    tables: StageTables, bounds: SuffixBounds, unit: int, count: int, threshold_ms: float
) -> float | None:
    problem, batches = tables.problem, tables.batches
    gpus, layers = problem.cluster.gpus, problem.layers
    generators = tables.rule.batch_generator_ms(tables.types[0]) * batches
    sizes = {start: group_sizes(problem, tables.cost_model, start, unit) for start in range(0, gpus, unit)}
    cells: dict[Cell, list[Prefix]] = {
        (0, 0, size): [Prefix(0.0, 0.0, -float("inf"), -float("inf"))] for size in sizes[0]
    }
    for left in range(count, 0, -1):
        after: dict[Cell, list[Prefix]] = {}
        in_flight = min(batches, left)
        for (start, first, size), prefixes in cells.items():
            following = start + size
            sums = bounds.sum_ms[left - 1].get(following)
            if sums is None:
                continue
            longest = bounds.longest_ms[left - 1][following]
            for way in tables.at(start, size):
                for end in range(first + 1, layers + 1):
                    if sums[end] == float("inf") or way.in_flight[first, end] < in_flight:
                        continue
                    execution = float(way.execution_ms[first, end])
                    for prefix in prefixes:
                        for next_size in sizes.get(following, [0]) if left > 1 else [0]:
                            link = way.link_ms[next_size][end == layers - 1] if left > 1 else 0.0
                            inside = link if tables.cost_model == "strict" else 0.0
                            label = Prefix(
                                prefix.sum_ms + execution + (link if left > 1 else way.gap_ms),
                                max(prefix.longest_ms, execution + inside),
                                max(prefix.update_ms, float(way.update_ms[first, end])),
                                max(prefix.reduction_ms, float(way.reduction_ms[first, end])),
                            )
                            bound = (batches - 1) * max(label.longest_ms, float(longest[end]))
                            bound += label.sum_ms + float(sums[end]) + generators
                            bound += label.update_ms + label.reduction_ms
                            if not bound < threshold_ms:
                                continue
                            if left == 1:
                                return bound
                            _insert(after.setdefault((following, end, next_size), []), label)
        cells = after
    return None


def _insert(labels: list[Prefix], label: Prefix) -> None:
    """Keep the labels that no other is at most as large as in every term."""
    for other in labels:
        if all(mine >= its for mine, its in zip(label, other, strict=True)):
            return
    labels[:] = [
        other for other in labels if not all(its >= mine for mine, its in zip(label, other, strict=True))
    ]
    labels.append(label)
