"""One plan of a study: the problem, who is to solve it, and how hard."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from dse.planner.files.documents import problem_to_dict
from dse.planner.problem.arguments import Asked

VERSION = 2
"""Raised when the same case may give another plan."""


@dataclass(frozen=True, eq=False)
class Case:
    """The question of one combination of keys. With a time limit, results depend on load."""

    asked: Asked

    @cached_property
    def key(self) -> str:
        """A hash of all that the plan depends on; not of names, prices and what throughput is counted by."""
        asked = self.asked
        problem = problem_to_dict(asked.problem)
        del problem["cluster"]["price_per_hour"], problem["profiles"]["source"]
        del (
            problem["cluster"]["peak_tflops"],
            problem["profiles"]["leaves_out"],
            problem["flops_per_sequence"],
        )
        if asked.problem.shard_optimizer:
            problem["shard_optimizer"] = "updates too"  # not only states, as in rows of older releases
        inputs = {
            "version": VERSION,
            "problem": problem,
            "search": [asked.planner, asked.cost_model, asked.limits.time_limit_s, asked.limits.gap],
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
