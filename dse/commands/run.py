"""`dse run system=grand_teton model=llama3_405b tokens=15.6T`: days and goodput of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.settings.values import number, whole
from dse.base.texts import printable
from dse.commands.asked_jobs import ANSWER, GROUPS, INSTEAD, OF_STUDY, asked_job
from dse.commands.cli import CAP_OR_NONE, JSON, print_json, read_arguments
from dse.prediction.runs.asked import (
    ONE_LENGTH,
    POWER,
    RUN_KEYS,
    asked_facility,
    asked_interval_s,
    asked_reliability,
    asked_steps,
    asked_stops,
    asked_store,
    require_length,
)

if TYPE_CHECKING:
    from dse.prediction.runs.power import Energy, Facility
    from dse.prediction.runs.run import Run

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


def main(argv: Sequence[str]) -> int:
    """Print the run; return 0."""
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    price = number(arguments.values, "price", None)
    facility = asked_facility(arguments.values)
    run = _run(arguments)
    from dse.answers.training_runs import run_data, run_text

    energy = _energy(arguments, run, facility)
    if "--json" in arguments.options:
        print_json([run_data(run, price, energy)])
    else:
        print("\n".join(map(printable, run_text(run, price, energy).splitlines())))
    return 0


def _energy(arguments: Arguments, run: Run, facility: Facility) -> Energy | None:
    """The energy of the run; None where no power is known and no key asks for it."""
    from dse.prediction.runs.power import energy_of

    asked = POWER.keys() & arguments.values.keys()
    if run.question.cluster.accelerator.board_power_w is None and not asked:
        return None
    return energy_of(run, facility)


def _run(arguments: Arguments) -> Run:
    values = arguments.values
    from dse.prediction.runs.run import Question, run_of
    from dse.prediction.steps.predict import predict

    require_length(arguments.values)
    reliability, store, stops = (
        asked_reliability(arguments.values),
        asked_store(arguments.values),
        asked_stops(arguments.values),
    )
    interval_s = asked_interval_s(values)
    spares = whole(values, "spares", None)
    job, cluster, _ = asked_job(arguments, "run")
    question = Question(
        *(job.model, job.plan, cluster, asked_steps(arguments.values, job.model), reliability, store),
        interval_s=interval_s,
        spares=spares,
        stops=stops,
    )
    return run_of(question, predict(job.model, job.plan, cluster))
