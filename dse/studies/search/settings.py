"""Settings of which points to evaluate: keys, checks, choices. Loads no search until one is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.base.errors import InputError
from dse.base.records import alike
from dse.base.settings import Choices, check_choice, key, options, refuse_foreign

SEARCHES = Choices(
    "search",
    "dse.search",
    {
        "exhaustive": "dse.studies.search.enumeration:make_exhaustive",
        "random": "dse.studies.search.enumeration:make_random",
        "optuna": "dse.studies.search.optuna_search:make",
    },
)
_SAMPLERS = ("nsga2", "tpe")


@dataclass
class SearchSchema:
    """conf/search/*.yaml: which points of the space to evaluate."""

    name: str = key(
        "chosen with `search=exhaustive`, `search=random` or `search=optuna`, see [search.md](search.md)"
    )
    samples: int | None = key("`random`, `optuna`: distinct points to evaluate", None)
    seed: int = key("`random`, `optuna`: the same seed draws, or proposes, the same points", 0)
    prune: bool = key(
        "`exhaustive`: leave out points that provably cannot be the best, see [search.md](search.md#pruning)",
        False,
    )
    sampler: str | None = key(
        "`optuna`: `nsga2`, or `tpe`, which was worse in all [comparisons](search.md#regret)",
        None,
    )
    batch: int | None = key(
        "`optuna`: points proposed before results are learnt from, at least the number of cores",
        None,
    )
    objectives: list[str] = key(
        "`optuna`: expressions, all minimised; several give a Pareto search", factory=list
    )
    budgets: list[str] = key("`optuna`: expressions that must hold", factory=list)
    options: dict[str, Any] = options("search")


@dataclass(frozen=True)
class SearchSettings:
    """The search that chooses points; None where the choice has no such setting.

    exhaustive takes all of them, with `prune` only those that may win; random takes `samples` of them, drawn
    with `seed`; optuna lets `sampler` (nsga2, tpe) propose `samples` of them, a `batch` at a time, to
    minimise the `objectives` where the `budgets` hold (docs/search.md). Those of other packages have all but
    `prune` and `sampler`, as they are given, and `options`.
    """

    name: str
    samples: int | None = None
    seed: int = 0
    prune: bool = False
    sampler: str | None = None
    batch: int | None = None
    objectives: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def search_settings(values: SearchSchema) -> SearchSettings:
    """Return checked settings.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    SEARCHES.check(values.name)
    SEARCHES.refuse_options(values)
    if values.name != "exhaustive":
        is_enough = SEARCHES.is_foreign(values.name) if values.samples is None else values.samples >= 1
        if not is_enough:
            raise InputError(f"search.samples is {values.samples}; it must be an integer of at least 1")
    if values.name == "exhaustive" and values.samples is not None:
        raise InputError(
            f"search.samples is {values.samples}, but search is exhaustive; write search=random too"
        )
    if values.name == "exhaustive" and values.seed != 0:
        raise InputError(f"search.seed is {values.seed}, but search is exhaustive; write search=random too")
    if values.name != "exhaustive" and values.prune:
        raise InputError(f"search.prune is true, but search is {values.name}; write search=exhaustive too")
    if values.name == "optuna":
        _check_optuna(values)
    elif SEARCHES.is_foreign(values.name):
        refuse_foreign("search", values, "optuna", ("sampler",))
    else:
        refuse_foreign("search", values, "optuna", ("sampler", "batch", "objectives", "budgets"))
    return alike(SearchSettings, values, objectives=tuple(values.objectives), budgets=tuple(values.budgets))


def _check_optuna(values: SearchSchema) -> None:
    if not 0 <= values.seed < 2**32:
        raise InputError(f"search.seed is {values.seed}; it must be an integer from 0 to {2**32 - 1}")
    check_choice("search.sampler", str(values.sampler), _SAMPLERS)
    if values.batch is None or values.batch < 1:
        raise InputError(f"search.batch is {values.batch}; it must be an integer of at least 1")
    if not values.objectives:
        raise InputError("search.objectives is empty; it must list at least one, such as [wall_time_ns]")
