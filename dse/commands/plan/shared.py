"""Parts that all actions of `dse plan` share: their problem, formats, files, and the end by Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.collectives.problem.arguments import Arguments

if TYPE_CHECKING:
    from dse.inputs.models import ModelSpec
    from dse.planner.problem.arguments import Asked
    from dse.planner.problem.plan import PlanResult

OPTIONS = {"-h": False, "--help": False, "-o": True, "--output": True}
_FORMATS = ("table", "json", "yaml", "csv")


def asked_for(arguments: Arguments) -> Asked:
    """Return the problem that the keys describe."""
    from dse.planner.problem.arguments import asked_of

    return asked_of(arguments.values, arguments.overrides, model_of)


def model_of(overrides: Sequence[str]) -> ModelSpec:
    """Return the model of Hydra overrides."""
    from dse.studies.config import compose_config

    return compose_config(overrides).model


def format_of(arguments: Arguments, allowed: Sequence[str] = _FORMATS) -> str:
    """Return what to print: the key `format`, or a table."""
    form = arguments.values.get("format", "table")
    check_choice("format", form, allowed)
    return form


def target_of(arguments: Arguments) -> Path | None:
    """Return the path of -o, if there is one."""
    named = [arguments.options[name] for name in ("-o", "--output") if name in arguments.options]
    if len(named) > 1:
        raise InputError("-o and --output name the same; write one of them")
    if named and not named[0]:
        raise InputError("-o is empty; write -o FILE or -o DIR")
    return Path(named[0]).expanduser() if named else None


def stoppable(work: Callable[[Any], Any], asked: Asked) -> tuple[Any, bool]:
    """Work with what solves a problem; Ctrl-C ends a search in the engine, which keeps its best so far."""
    from dse.base.signals import raise_if_signalled
    from dse.planner.search.automatic import solve

    def solved(problem: Any) -> PlanResult:
        raise_if_signalled()
        return solve(asked.planner, problem, asked.cost_model, asked.limits)

    found = work(solved)
    try:
        raise_if_signalled()
    except KeyboardInterrupt:
        return found, True
    return found, False


def progress_bar() -> Any:
    """Return a bar on standard error, for terminals only."""
    from tqdm import tqdm

    return tqdm(unit="plan", file=sys.stderr, disable=None)


def configuration(arguments: Arguments) -> str:
    """Return the keys as YAML, whatever characters their values have."""
    import yaml

    keys = {**arguments.values, **dict(word.split("=", 1) for word in arguments.overrides)}
    text: str = yaml.safe_dump(keys, allow_unicode=True, width=1000)
    return text.rstrip("\n")
