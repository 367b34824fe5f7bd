"""Random draws of a model, such as dropout: seeded by operator and pass, alike in every partition."""

# mypy: disable-error-code="misc,no-any-return"

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

_PASSES = 1 << 32


def has_draws(traced: Any) -> bool:
    """Whether operators of a traced module draw random numbers."""
    return any(_draws(node) for node in traced.graph.nodes)


def seed_draws(traced: Any, seed: int, passes: Callable[[int], int] = int) -> None:
    """Let every operator that draws begin with a seed of its own in each pass, whatever ran before it.

    Passes are counted from the first call on, so that micro-batches must go through in the same order.
    `passes` tells the number in the whole training of each counted one, where some go through elsewhere.
    """
    drawing = [node for node in traced.graph.nodes if _draws(node)]
    for number, node in enumerate(drawing):
        node.target = _seeded(node.target, (seed * len(drawing) + number) * _PASSES, passes)
    traced.recompile()


def _draws(node: Any) -> bool:
    tags = getattr(node.target, "tags", ()) if node.op == "call_function" else ()
    return torch.Tag.nondeterministic_seeded in tags


def _seeded(operator: Any, first: int, passes: Callable[[int], int]) -> Callable[..., Any]:
    counted = itertools.count()

    def draw(*arguments: Any, **options: Any) -> Any:
        torch.manual_seed(first + passes(next(counted)))
        return operator(*arguments, **options)

    vars(draw)["_schema"] = operator._schema  # says what it changes
    return draw
