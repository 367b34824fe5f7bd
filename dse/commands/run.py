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
    from dse.prediction.runs.power import Energy, Facility
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
            "power": "phases (default): by computing, communicating and idling; or limit: that of boards",
            "host_w": "watts of a host for each of its NPUs, besides boards (default 0)",
            "pue": "power of the facility over that of its machines (default 1)",
            "grid": "kg of CO2 for a kWh: emissions are printed as well",
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
    facility = _facility(arguments)
    run = _run(arguments)
    from dse.answers.training_runs import run_data, run_text

    energy = _energy(arguments, run, facility)
    if "--json" in arguments.options:
        print_json([run_data(run, price, energy)])
    else:
        print("\n".join(map(printable, run_text(run, price, energy).splitlines())))
    return 0


def _facility(arguments: Arguments) -> Facility:
    from dse.prediction.runs.power import Facility

    values = arguments.values
    return Facility(
        number(values, "host_w", 0.0),
        number(values, "pue", 1.0, least=1.0),
        number(values, "grid", None),
        one_of(values, "power", ("phases", "limit")) == "limit",
    )


def _energy(arguments: Arguments, run: Run, facility: Facility) -> Energy | None:
    """The energy of the run; None where no power is known and no key asks for it."""
    from dse.prediction.runs.power import energy_of

    asked = {"power", "host_w", "pue", "grid"} & arguments.values.keys()
    if run.question.cluster.accelerator.board_power_w is None and not asked:
        return None
    return energy_of(run, facility)


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
