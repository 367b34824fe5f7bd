"""Settings of the training run that a sweep asks for: keys, checks, and the objective of its answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, make_dataclass
from typing import Any

from dse.base.errors import InputError
from dse.base.settings import check_choice, key
from dse.prediction.runs.asked import RUN_KEYS, AskedRun, asked_run

OBJECTIVES = ("step", "expected_time", "cost", "energy")
"""The figures that may name the best point: the time of a step, or those of the whole run."""

_GROUP = "run"

_ASSIGNED = re.compile(rf"(?<![\w.])({'|'.join(RUN_KEYS)})=")
"""Where a message says what to write: a sweep has the keys of `dse run` in a group."""

_make: Callable[..., type] = make_dataclass
RunSchema: Any = _make(
    "RunSchema", [(name, str | None, key(meaning, None)) for name, meaning in RUN_KEYS.items()]
)
"""The keys `run.KEY` of a sweep, as those of `dse run`."""


def run_settings(values: Any) -> AskedRun | None:
    """Return the run that `RunSchema` describes; None without any key.

    Raises:
        InputError: a key is wrong; names it as the configuration does.
    """
    given = {name: str(text) for name, text in asdict(values).items() if text is not None}
    if not given:
        return None
    try:
        return asked_run(given)
    except InputError as error:
        text = _ASSIGNED.sub(rf"{_GROUP}.\1=", str(error))
        raise InputError(text if text.startswith(f"{_GROUP}.") else f"{_GROUP}.{text}") from None


def check_objective(objective: str, run: AskedRun | None) -> None:
    """Refuse an objective that no row of the sweep would have.

    Raises:
        InputError: there is no such objective, or its run, price or so is missing.
    """
    check_choice("objective", objective, OBJECTIVES)
    if objective != OBJECTIVES[0] and run is None:
        raise InputError(f"objective is {objective}, but no run is asked for: write run.tokens=15T as well")
    if objective == "cost" and run is not None and not run.prices:
        raise InputError("objective is cost, but no price is known: write run.price=2.5 as well")
