"""`dse launch results/<study> framework=megatron-lm`: the files that run an answer in a framework."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import entries, flag, whole
from dse.base.texts import printable
from dse.commands.cli import CAP, CAP_OR_NONE, GROUP, JSON, asked_cap, print_json, print_notes, read_arguments

if TYPE_CHECKING:
    from dse.answers.launched import LaunchedJob
    from dse.prediction.frameworks.launches import Launch

COMMAND = CommandLine(
    "launch",
    "Write an answer as the configuration of a training framework, with a script that starts it: the best "
    "point of a study, a plan of dse plan for equal stages, or a point that keys describe.",
    words={"ANSWER": "the folder of a study, or a plan (a file or folder of dse plan -o)"},
    least=0,
    keys={
        "keys": {
            "framework": "megatron-lm, megatron-bridge, torchtitan, deepspeed, maxtext or accelerate",
            "launcher": "torchrun (default), slurm or kubernetes",
            "nearest": "true: write the nearest plan that the framework can run",
            "hosts": "names of the nodes, [a,b]; default: placeholders",
            "name": "what files and the job are called",
            "point": "this point of the study, by the first digits of its key",
            **GROUP,
            **CAP,
        },
        "instead of ANSWER": {
            "system": "a cluster of conf/system; system.nodes=8 and other fields as dse point takes them",
            "model": "a name of conf/model, or model.file=config.json",
            "strategy": "strategy.dp=64 strategy.tp=2 ...: the strategy; without any, the best that fits",
        },
    },
    groups=("system", "model", "strategy"),
    options={
        "--no-memory-cap": Option("the fastest point of the study, whether it fits or not"),
        "--output": Option("write the files into this folder; otherwise they are printed", "DIR", "-o"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("point", "group")),
    ending="What a framework cannot express is refused, with the nearest plan and its predicted cost.",
)


def main(argv: Sequence[str]) -> int:
    """Write or print the files; return the exit code."""
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    values = arguments.values
    if "framework" not in values:
        raise InputError("framework is missing; write framework=megatron-lm, or another that --help lists")
    from dse.prediction.frameworks.launches import launch, summary

    job, cluster, step_s = _asked(arguments)
    found = launch(
        job,
        cluster,
        values["framework"],
        values.get("launcher", "torchrun"),
        nearest=flag(values, "nearest"),
        name=values.get("name", ""),
        hosts=entries("hosts", values["hosts"]) if "hosts" in values else (),
        step_s=step_s,
    )
    _write(found, arguments)
    print_notes(summary(found))
    return 0


def _write(found: Launch, arguments: Arguments) -> None:
    from dse.base.files import write_files

    if "--output" in arguments.options:
        folder = Path(arguments.options["--output"])
        files = [(name, text.encode()) for name, text in found.files.items()]
        for path in write_files(folder, files):
            print(printable(str(path)))
    elif "--json" in arguments.options:
        print_json([{"files": dict(found.files), "settings": dict(found.written.settings)}])
    else:
        for name, text in found.files.items():
            title = f"# {name}\n" if len(found.files) > 1 else ""
            print(title + text, end="" if text.endswith("\n") else "\n")


def _asked(arguments: Arguments) -> LaunchedJob:
    """The job that the arguments mean."""
    if arguments.words and arguments.overrides:
        raise InputError(f"{arguments.overrides[0]} has no effect on {arguments.words[0]}: leave one out")
    if not arguments.words and not arguments.overrides:
        raise InputError("nothing to launch: give the folder of a study, a plan, or system= and model=")
    if not arguments.words:
        return _of_keys(arguments.overrides, arguments.values["framework"])
    path = Path(arguments.words[0])
    from dse.answers.launched import job_of_plan, job_of_study

    if path.suffix or (path / "plan.json").is_file():
        return job_of_plan(path)
    number = whole(arguments.values, "group", None)
    return job_of_study(path, asked_cap(arguments), arguments.values.get("point"), number)


def _of_keys(overrides: Sequence[str], framework: str) -> LaunchedJob:
    """The point that keys describe; without a strategy the best that fits."""
    from dse.answers.launched import best_job, job_of_point
    from dse.prediction.frameworks.dialect import FRAMEWORKS
    from dse.studies.config import compose_config
    from dse.studies.points import point_of

    FRAMEWORKS.check(framework)
    config = compose_config(list(overrides), command="point")
    print_notes(config.notes)
    if not any(word.lstrip("+~").startswith("strategy") for word in overrides):
        return best_job(config.model, config.system, framework)
    return job_of_point(point_of(config, config.strategy))
