"""One plan of a study: the problem, who is to solve it, and how hard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dse.inputs.models import ModelSpec
from dse.planner.files.documents import problem_to_dict
from dse.planner.problem.arguments import Asked, asked_of
from dse.studies.composed import training_strategies
from dse.studies.space.grid import combinations

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


AXES = ("cluster", "model", "gbs", "planner", "cost", "memory_reserve", "allow_mixed_stages", "max_tp")
"""Keys that may have lists; profiles, prices and type_order are lists of their own."""


def cases(
    values: Mapping[str, str], overrides: Sequence[str], model_of: Callable[[Sequence[str]], ModelSpec]
) -> Iterator[Case]:
    """Yield the cases of all combinations, the last of `AXES` varying fastest.

    Raises:
        InputError: a wrong list, too many combinations, or as `asked_of`.
    """
    groups = dict(word.split("=", 1) for word in overrides if word.startswith(("cluster=", "model=")))
    others = [word for word in overrides if word.partition("=")[0] not in ("cluster", "model")]
    given = {**values, **groups}
    lists = combinations({key: given[key] for key in AXES if key in given})
    fixed = {key: value for key, value in values.items() if key not in AXES}
    known: dict[tuple[str, ...], ModelSpec] = {}

    def model(words: Sequence[str]) -> ModelSpec:
        if tuple(words) not in known:
            known[tuple(words)] = model_of(words)
        return known[tuple(words)]

    for chosen in lists:
        own = [f"{name}={chosen.pop(name)}" for name in ("cluster", "model") if name in chosen]
        yield Case(asked_of({**fixed, **chosen}, [*own, *others], model, training_strategies))
