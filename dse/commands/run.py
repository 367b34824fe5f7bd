"""`dse run system=grand_teton model=llama3_405b tokens=15.6T`: days and goodput of a training run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.texts import printable
from dse.commands.asked_jobs import ANSWER, GROUPS, INSTEAD, OF_STUDY, asked_job, is_plan
from dse.commands.cli import CAP_OR_NONE, JSON, print_json, reading
from dse.prediction.runs.asked import ONE_LENGTH, RUN_KEYS, asked_run

COMMAND = CommandLine(
    "run",
    "Predict a whole training run: the days that its steps, checkpoints, failures, repairs and planned stops "
    "take, the best time between checkpoints, and where the hours of the NPUs go.",
    words=ANSWER,
    least=0,
    keys={
        "keys": {
            **RUN_KEYS,
            **OF_STUDY,
        },
        "instead of ANSWER": INSTEAD,
    },
    groups=GROUPS,
    options={
        "--no-memory-cap": Option("the fastest point of the study, whether it fits or not"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("point", "group"), ONE_LENGTH),
    ending="Failures come at a constant rate while the job is up; times of repair are exponential.",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the run; return 0."""
    asked = asked_run(arguments.values)
    launched = asked_job(arguments, "run")
    job, cluster, _ = launched
    from dse.answers.training_runs import run_data, run_text
    from dse.prediction.runs.run import run_of

    question = asked.question(job.model, job.plan, cluster)
    if asked.elastic != "wait" and arguments.words and is_plan(Path(arguments.words[0])):
        from dse.answers.shrunk_runs import replanned_speeds
        from dse.commands.plan.lines import COMMAND as PLAN
        from dse.commands.plan.shared import asked_for

        speeds = replanned_speeds(Path(arguments.words[0]), lambda words: asked_for(PLAN.parse(words)))
        question = replace(question, speeds=speeds)
    run = run_of(question, launched.prediction())
    energy, price = asked.energy(run), asked.price(cluster.name)
    if "--json" in arguments.options:
        print_json([run_data(run, price, energy)])
    else:
        print("\n".join(map(printable, run_text(run, price, energy).splitlines())))
    return 0
