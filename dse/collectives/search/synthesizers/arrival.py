"""Greedy search by arrival: whichever link brings a chunk first delivers it (BEAN TACOS's idea, causal)."""

from __future__ import annotations

from dse.collectives.search.synthesizers.searches import GreedySearch


class Arrival(GreedySearch):
    """Runs in the order of arrivals (docs/synthesis.md)."""

    name = "arrival"
    variants = (("arrival", "oldest"), ("arrival", "needed"), ("arrival", "rarest"))
