"""`dse launch results/<study> framework=megatron-lm`: the files that run an answer in a framework."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import entries, flag
from dse.base.texts import printable
from dse.commands.asked_jobs import ANSWER, GROUPS, INSTEAD, OF_STUDY, asked_job
from dse.commands.cli import CAP_OR_NONE, JSON, print_json, print_notes, reading

if TYPE_CHECKING:
    from dse.prediction.frameworks.launches import Launch

COMMAND = CommandLine(
    "launch",
    "Write an answer as the configuration of a training framework, with a script that starts it: the best "
    "point of a study, a plan of dse plan for equal stages, or a point that keys describe.",
    words=ANSWER,
    least=0,
    keys={
        "keys": {
            "framework": "megatron-lm, megatron-bridge, torchtitan, deepspeed, maxtext or accelerate",
            "launcher": "torchrun (default), slurm or kubernetes",
            "nearest": "true: write the nearest plan that the framework can run",
            "hosts": "names of the nodes, [a,b]; default: placeholders",
            "name": "what files and the job are called",
            **OF_STUDY,
        },
        "instead of ANSWER": INSTEAD,
    },
    groups=GROUPS,
    options={
        "--no-memory-cap": Option("the fastest point of the study, whether it fits or not"),
        "--output": Option("write the files into this folder; otherwise they are printed", "DIR", "-o"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("point", "group")),
    ending="What a framework cannot express is refused, with the nearest plan and its predicted cost.",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Write or print the files; return the exit code."""
    values = arguments.values
    if "framework" not in values:
        raise InputError("framework is missing; write framework=megatron-lm, or another that --help lists")
    from dse.prediction.frameworks.launches import launch, summary

    job, cluster, step_s = asked_job(arguments, "launch", values["framework"])
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

    paths: list[Path] = []
    if "--output" in arguments.options:
        folder = Path(arguments.options["--output"])
        paths = write_files(folder, [(name, text.encode()) for name, text in found.files.items()])
    if "--json" in arguments.options:
        print_json([{"files": dict(found.files), "settings": dict(found.written.settings)}])
    elif paths:
        for path in paths:
            print(printable(str(path)))
    else:
        for name, text in found.files.items():
            title = f"# {name}\n" if len(found.files) > 1 else ""
            print(title + text, end="" if text.endswith("\n") else "\n")
