"""Parts that studies of other records than points share: their keys, their executor and their run."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.lazy import yaml
from dse.base.settings.values import whole

if TYPE_CHECKING:
    from dse.base.command_lines import Arguments
    from dse.studies.evaluator import Case, Evaluator
    from dse.studies.executors import ExecutorSettings
    from dse.studies.store.row import Row

STUDY_KEYS = {
    "study": "the folder results/NAME, where the same command goes on",
    "executor": "local (default) or ray",
    "threads": "processes on this machine (executor=local; default: one per core)",
    "workers": "of Ray (executor=ray; default: one per CPU)",
    "address": "HOST:PORT of a Ray cluster, or auto (executor=ray; default: Ray on this machine)",
}
CHOICES = {"format": ("table", "json"), "executor": ("local", "ray")}
_OWNERS = {"threads": "local", "workers": "ray", "address": "ray"}


def studied(
    evaluator: Evaluator[Case, Row],
    cases: Iterable[Case],
    arguments: Arguments,
    command: Sequence[str],
    unit: str,
) -> tuple[list[Case], list[Row], list[str]]:
    """Evaluate the cases that a study lacks; return all cases, their rows, and notes for people.

    `arguments` name the study, and a bar counts each case as a `unit`.

    Raises:
        InputError: a wrong key of the study, as the cases, or a study that cannot be read or written.
    """
    from dse.studies.config.settings import checked_study
    from dse.studies.sweeps import Progress
    from dse.studies.sweeps.study_run import run_cases

    values = arguments.values
    if "study" not in values:
        raise InputError("study is missing; write study=NAME, the folder results/NAME for the rows")
    folder = Path("results") / checked_study(values["study"])
    executor = _executor(values)
    wanted = list(cases)
    progress = functools.partial(Progress, unit=unit)
    rows, computed = run_cases(
        evaluator, folder, wanted, executor, command, configuration(arguments), progress
    )
    count = len({case.key for case in wanted})
    others = ", the others were there" if computed < count else ""
    notes = [f"{computed} of {count} were computed{others}", f"stored in {folder}"]
    return wanted, rows, notes


def configuration(arguments: Arguments) -> str:
    """Return the keys as YAML, whatever characters their values have."""
    keys = {**arguments.values, **dict(word.split("=", 1) for word in arguments.overrides)}
    text: str = yaml.safe_dump(keys, allow_unicode=True, width=1000)
    return text.rstrip("\n")


def _executor(values: Mapping[str, str]) -> ExecutorSettings:
    from dse.studies.executors.settings import ExecutorSchema, executor_settings

    name = values.get("executor", "local")
    for key, owner in _OWNERS.items():
        if key in values and name != owner:
            raise InputError(f"{key}={values[key]} has no effect on executor={name}; write executor={owner}")
    counts: dict[str, Any] = {
        key: whole(values, key, 1, least=1, most=4096) for key in ("threads", "workers") if key in values
    }
    return executor_settings(ExecutorSchema(name=name, address=values.get("address"), **counts))
