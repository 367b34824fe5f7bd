"""From keys with lists, such as cluster=[a,b] gbs=[128,256], to the cases of all combinations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from dse.inputs.models import ModelSpec
from dse.planner.problem.arguments import asked_of
from dse.studies.composed import training_strategies
from dse.studies.plans.case import Case
from dse.studies.space.grid import combinations

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
