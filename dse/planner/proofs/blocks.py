"""Proofs of a certificate of blocks: they cover the space, and none has a plan below its bound.

A search of prefixes of plans, from the first stage on: is there a plan below a threshold?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.ranks import Ranks
from dse.planner.proofs.stages import StageTables
from dse.planner.proofs.steps import above, below
from dse.planner.proofs.suffixes import SuffixBounds
from dse.planner.search.space import (
    group_sizes,
    least_group,
    micro_batches,
    most_stages,
    plans_by_stages,
    sequences,
)

OUTCOMES = ("empty", "pruned", "searched", "open")
COUNTS = ("plans", "labels", "dominated", "pruned")

Key = tuple[tuple[str, ...], int, tuple[int, ...]]


def check_blocks(problem: PlanProblem, cost_model: str, certificate: Mapping[str, Any]) -> list[str]:
    """Return what is wrong, line by line; nothing if the certificate is proven."""
    blocks = certificate["blocks"]
    lines, seen = [], set()
    for i, block in enumerate(blocks):
        key: Key = (tuple(block["types"]), block["batches"], tuple(block["stages"]))
        if key in seen:
            lines.append(f"certificate.blocks[{i}]: the same as an earlier one")
        seen.add(key)
    expected = expected_blocks(problem, cost_model)
    for key in expected:
        if key not in seen:
            types, batches, stages = key
            lines.append(
                f"certificate.blocks: none for types {','.join(types)}, {batches} micro-batches, "
                f"stages {','.join(map(str, stages))}; part of the space is not covered"
            )
    for i, block in enumerate(blocks):
        if (tuple(block["types"]), block["batches"], tuple(block["stages"])) not in expected:
            lines.append(f"certificate.blocks[{i}]: is no block of this space")
    for name in COUNTS:
        total = sum(block[name] for block in blocks)
        if certificate[name] != total:
            lines.append(f"certificate.{name}: {certificate[name]}, the blocks have {total}")
    lines += _check_bounds(certificate)
    return lines or _prove(problem, cost_model, certificate)


def expected_blocks(problem: PlanProblem, cost_model: str) -> dict[Key, int]:
    """Return the blocks that cover the space, and the least power of two of their groups."""
    classes: dict[int, list[int]] = {}
    for stages in range(1, most_stages(problem) + 1):
        least = least_group(problem, cost_model, stages)
        unit = 1 << (least - 1).bit_length()
        if unit * stages <= problem.cluster.gpus:
            classes.setdefault(unit, []).append(stages)
    return {
        (types, batches, tuple(stages)): unit
        for types in sequences(problem)
        for batches in micro_batches(problem)
        for unit, stages in classes.items()
    }


def _check_bounds(certificate: Mapping[str, Any]) -> list[str]:
    lines, best, least = [], certificate["best_ms"], certificate["best_ms"]
    for i, block in enumerate(certificate["blocks"]):
        place, bound, outcome = f"certificate.blocks[{i}]", block["bound_ms"], block["outcome"]
        if outcome not in OUTCOMES:
            lines.append(f"{place}.outcome: {outcome}, must be one of {', '.join(OUTCOMES)}")
        if any(block[name] < 0 for name in COUNTS) or block["dominated"] + block["pruned"] > block["labels"]:
            lines.append(f"{place}: more labels dropped than there were")
        if (bound is None) != (outcome == "empty"):
            lines.append(f"{place}.bound_ms: {bound}, but the block is {outcome}")
        if bound is not None and outcome in ("pruned", "searched") and bound < below(best):
            lines.append(f"{place}.bound_ms: {bound}, below the best plan, so the block was to be searched")
        if bound is not None:
            least = min(least, bound)
    if not below(least) <= certificate["bound_ms"] <= above(least):
        lines.append(f"certificate.bound_ms: {certificate['bound_ms']}, the blocks prove {least}")
    return lines


def _prove(problem: PlanProblem, cost_model: str, certificate: Mapping[str, Any]) -> list[str]:
    lines = []
    units = expected_blocks(problem, cost_model)
    tables: dict[tuple[tuple[str, ...], int], StageTables] = {}
    for i, block in enumerate(certificate["blocks"]):
        types, batches, stages = tuple(block["types"]), block["batches"], tuple(block["stages"])
        place, unit = f"certificate.blocks[{i}]", units[types, batches, stages]
        if block["least_group"] != unit:
            lines.append(f"{place}.least_group: {block['least_group']}, must be {unit}")
        counts = plans_by_stages(problem, cost_model, Ranks(problem.cluster, types), batches, list(stages))
        if block["plans"] != sum(counts.values()):
            lines.append(f"{place}.plans: {block['plans']}, the block has {sum(counts.values())}")
        if (types, batches) not in tables:
            tables = {(types, batches): StageTables(problem, cost_model, types, batches)}
        bounds = SuffixBounds(tables[types, batches], unit, stages)
        claimed = float("inf") if block["bound_ms"] is None else below(block["bound_ms"])
        if bounds.root_ms() >= claimed:
            continue
        if block["outcome"] != "searched":
            lines.append(f"{place}.bound_ms: {block['bound_ms']}, only {bounds.root_ms()} can be proven")
            continue
        cheaper = cheaper_plan(tables[types, batches], bounds, unit, stages, claimed)
        if cheaper is not None:
            lines.append(f"{place}.bound_ms: {block['bound_ms']}, but a plan of the block costs {cheaper}")
    return lines


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
