"""Optuna itself: a study with its sampler, and what a view is to it."""

from __future__ import annotations

import contextlib
import types
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from dse.base.lazy import extra
from dse.inputs.strategies.strategy import AXIS, STRATEGY_FIELDS
from dse.studies.search.view import SearchParameter, View

if TYPE_CHECKING:
    import optuna

Sampler = Literal["tpe", "nsga2"]

STRATEGY = "strategy."
"""Prefix of a strategy's parameters, so that no axis can collide with them."""

_POPULATION = 10  # of NSGA-II
_FEW = 12  # up to so many values TPE learns faster from categories than from an ordered index


def distributions(view: View) -> dict[str, Any]:
    """One index for each parameter that has a choice: integers where many values are ordered."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    parameters = [*view.parameters]
    for name in STRATEGY_FIELDS:
        values = view.strategy_axes[name]
        parameters.append(SearchParameter(STRATEGY + name, len(values), AXIS[name].unit == "1"))
    return {
        parameter.name: IntDistribution(0, parameter.size - 1)
        if parameter.is_ordered and parameter.size > _FEW
        else CategoricalDistribution(range(parameter.size))
        for parameter in parameters
        if parameter.size > 1
    }


def new_study(sampler: Sampler, seed: int, objectives: int, startup: int) -> optuna.Study:
    """Return a study of Optuna whose sampler begins with `startup` random points."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made: optuna.samplers.BaseSampler = (
        optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup, multivariate=True)
        if sampler == "tpe"
        else optuna.samplers.NSGAIISampler(seed=seed, population_size=_POPULATION)
    )
    return optuna.create_study(directions=["minimize"] * objectives, sampler=made)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings about features of Optuna that may change."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"optuna(\..*)?")
        warnings.filterwarnings("ignore", category=load_optuna().exceptions.ExperimentalWarning)
        yield


def load_optuna() -> types.ModuleType:
    """Import Optuna.

    Raises:
        InputError: it is missing.
    """
    return extra("optuna", "search=optuna needs the package optuna: pip install 'dse[search]'")
