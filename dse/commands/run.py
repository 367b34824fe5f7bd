"""`dse run system=grand_teton model=llama3_405b tokens=15.6T`: days and goodput of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import number, one_of, whole
from dse.base.texts import printable
from dse.commands.asked_jobs import ANSWER, GROUPS, INSTEAD, OF_STUDY, asked_job
from dse.commands.cli import CAP_OR_NONE, JSON, print_json, read_arguments

if TYPE_CHECKING:
    from dse.prediction.runs.run import PlannedStops, Run

COMMAND = CommandLine(
    "run",
    "Predict a whole training run: the days that its steps, checkpoints, failures, repairs and planned stops "
    "take, the best time between checkpoints, and where the hours of the NPUs go.",
    words=ANSWER,
    least=0,
    keys={
        "keys": {
            "tokens": "tokens to train on, such as 15.6T",
            "steps": "instead of tokens: the number of steps",
            "reliability": "failure rates: a name of conf/reliability, or a YAML file (default llama3)",
            "spares": "nodes that stand by; default: a failed node is replaced at once",
            "checkpoint": "async (default): the host copies, and writes while steps run; or sync",
            "storage_gbps": "10^9 bytes per second that storage takes from the whole job (default 100)",
            "node_gbps": "10^9 bytes per second from one node to storage (default 10)",
            "interval": "time between checkpoints, such as 30 min; default: the best",
            "stop_every": "planned stops: the time between them, such as 90 d",
            "stop_for": "how long each planned stop takes, such as 8 h",
            "price": "price of an hour of one NPU",
            **OF_STUDY,
        },
        "instead of ANSWER": INSTEAD,
    },
    groups=GROUPS,
    options={
        "--no-memory-cap": Option("the fastest point of the study, whether it fits or not"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("point", "group"), ("tokens", "steps")),
    ending="Failures come at a constant rate while the job is up; times of repair are exponential.",
)
_PAIR = ("stop_every", "stop_for")


def main(argv: Sequence[str]) -> int:
    """Print the run; return 0."""
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    price = number(arguments.values, "price", None)
    run = _run(arguments)
    from dse.answers.training_runs import run_data, run_text

    if "--json" in arguments.options:
        print_json([run_data(run, price)])
    else:
        print("\n".join(map(printable, run_text(run, price).splitlines())))
    return 0


def _run(arguments: Arguments) -> Run:
    values = arguments.values
    from dse.prediction.runs.checkpoints import KINDS, Kind, Store
    from dse.prediction.runs.quantities import parse_duration_s
    from dse.prediction.runs.reliability import reliability_named
    from dse.prediction.runs.run import Question, run_of
    from dse.prediction.steps.predict import predict

    reliability = reliability_named(values.get("reliability", "llama3"))
    store = Store(
        number(values, "storage_gbps", 100.0, above=0.0),
        number(values, "node_gbps", 10.0, above=0.0),
        cast("Kind", one_of(values, "checkpoint", KINDS)),
    )
    interval_s = None
    if "interval" in values:
        interval_s = parse_duration_s(values["interval"], "interval", least_s=1e-3)
    spares, stops = whole(values, "spares", None), _stops(arguments)
    if "tokens" not in values and "steps" not in values:
        raise InputError("tokens is missing; write tokens=15.6T, or steps=N")
    job, cluster, _ = asked_job(arguments, "run")
    steps = _steps(arguments, job.model.batch_size * job.model.seq_len)
    question = Question(
        *(job.model, job.plan, cluster, steps, reliability, store),
        interval_s=interval_s,
        spares=spares,
        stops=stops,
    )
    return run_of(question, predict(job.model, job.plan, cluster))


def _steps(arguments: Arguments, tokens_of_step: int) -> int:
    from dse.prediction.runs.quantities import parse_count

    values = arguments.values
    if "steps" in values:
        return parse_count(values["steps"], "steps")
    return -(-parse_count(values["tokens"], "tokens") // tokens_of_step)


def _stops(arguments: Arguments) -> PlannedStops | None:
    from dse.prediction.runs.quantities import parse_duration_s
    from dse.prediction.runs.run import PlannedStops

    found = [key for key in _PAIR if key in arguments.values]
    if not found:
        return None
    if len(found) == 1:
        (missing,) = set(_PAIR) - set(found)
        raise InputError(f"{found[0]} has no effect without {missing}: give both")
    every_s, for_s = (parse_duration_s(arguments.values[key], key, least_s=1.0) for key in _PAIR)
    return PlannedStops(every_s, for_s)
