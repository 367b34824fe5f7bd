"""The job that arguments mean: of a study, of a plan, or of keys. `dse launch` and `dse run` share it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments
from dse.base.errors import InputError
from dse.base.settings.values import whole
from dse.commands.cli import CAP, GROUP, asked_cap, print_notes

if TYPE_CHECKING:
    from dse.answers.launched import LaunchedJob

ANSWER = {"ANSWER": "the folder of a study, or a plan (a file or folder of dse plan -o)"}
OF_STUDY = {"point": "this point of the study, by the first digits of its key", **GROUP, **CAP}
INSTEAD = {
    "system": "a cluster of conf/system; system.nodes=8 and other fields as dse point takes them",
    "model": "a name of conf/model, or model.file=config.json",
    "strategy": "strategy.dp=64 strategy.tp=2 ...: the strategy; without any, the best that fits",
}
GROUPS = ("system", "model", "strategy")


def asked_job(arguments: Arguments, verb: str, framework: str | None = None) -> LaunchedJob:
    """Return the job that the arguments mean; `framework` must be able to run the best that fits.

    Raises:
        InputError: there is none, or two are named.
    """
    if arguments.words and arguments.overrides:
        raise InputError(f"{arguments.overrides[0]} has no effect on {arguments.words[0]}: leave one out")
    if not arguments.words and not arguments.overrides:
        raise InputError(f"nothing to {verb}: give the folder of a study, a plan, or system= and model=")
    if not arguments.words:
        return _of_keys(arguments.overrides, framework)
    path = Path(arguments.words[0])
    from dse.answers.launched import job_of_plan, job_of_study

    if is_plan(path):
        return job_of_plan(path)
    number = whole(arguments.values, "group", None)
    return job_of_study(path, asked_cap(arguments), arguments.values.get("point"), number)


def is_plan(path: Path) -> bool:
    """Whether an answer is a plan, not the folder of a study."""
    return bool(path.suffix) or (path / "plan.json").is_file()


def _of_keys(overrides: Sequence[str], framework: str | None) -> LaunchedJob:
    """The point that keys describe; without a strategy the best that fits."""
    from dse.answers.launched import best_job, job_of_point
    from dse.prediction.frameworks.dialect import FRAMEWORKS
    from dse.studies.config import compose_config
    from dse.studies.points import point_of

    if framework is not None:
        FRAMEWORKS.check(framework)
    config = compose_config(list(overrides), command="point")
    print_notes(config.notes)
    if not any(word.lstrip("+~").startswith("strategy") for word in overrides):
        return best_job(config.model, config.system, framework)
    return job_of_point(point_of(config, config.strategy))
