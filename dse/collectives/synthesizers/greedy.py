"""Greedy search forward in time: a free link takes a chunk that nobody has claimed (TACOS's idea)."""

from __future__ import annotations

from dse.collectives.synthesizers.searches import GreedySearch


class Greedy(GreedySearch):
    """Runs forward in time (specification of synthesis, section 7.1)."""

    name = "greedy"
    variants = (("forward", "oldest"), ("forward", "random"), ("forward", "needed"))
