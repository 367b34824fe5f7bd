"""`dse plan cluster=NAME model=NAME`: the best training plan for a cluster of several GPU types."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli import called_as, print_notes, run
from dse.collectives.arguments import Arguments, parse_arguments, usage_lines
from dse.errors import InputError
from dse.planner.arguments import CLUSTER_KEYS, COST_KEYS, GROUPS, KEYS, OUTPUT_KEYS, SEARCH_KEYS
from dse.planner.making import HOSTS, PROFILES
from dse.planner.questions.keys import QUESTIONS
from dse.settings import check_choice
from dse.signals import putting_away
from dse.suggestions import did_you_mean

if TYPE_CHECKING:
    from dse.models import ModelSpec
    from dse.planner.arguments import Asked
    from dse.planner.plan import PlanResult

OPTIONS = {"-h": False, "--help": False, "-o": True, "--output": True}
ACTIONS = {
    "check": "FILE: replay a plan and its certificate (a file or folder of -o); exit code 1 if wrong",
    "explain": "FILE: why the plan of a file is the best: what binds, what others lose, what simulation adds",
    "report": "FILE: the page of the plan of a file: -o FILE.html",
    "profiles": "synthetic layer profiles, as Metis reads them: layers, batch, -o DIR",
    "hosts": "a host file and a cluster file, half of one type and half of another: gpus, -o DIR",
    "prices": "the nodes on which a step is cheapest, for every price of a GPU-hour: counts",
    "subsets": "the best plan for every subset of the nodes: counts",
    "front": "subsets worth it: none is as fast, cheap and roomy: counts",
    "grow": "what more nodes would bring: kind, nodes",
    "fail": "a node fails: the best plan of the rest, and the one that keeps most in place: host, slack",
    "sweep": "plans of all combinations of lists, as a study that goes on: study, executor, threads, workers",
}
STUDY_KEYS = {
    "study": "the folder results/NAME, where the same command goes on",
    "executor": "local (default) or ray",
    "workers": "processes on this machine, or of Ray (default: one per core)",
    "address": "HOST:PORT of a Ray cluster, or auto (executor=ray; default: Ray on this machine)",
}
_FORMATS = ("table", "json", "yaml", "csv")
_USAGE = """\
usage: {program} cluster=NAME model=NAME [KEY=VALUE ...] [-o FILE|DIR]
       {program} hostfile=FILE clusterfile=FILE profiles=DIR [KEY=VALUE ...] [-o FILE|DIR]
       {program} ACTION [KEY=VALUE ...]

Search the best training plan on GPUs of several types: stages, their GPUs, data and tensor degrees,
micro-batches and layers; with a bound on every plan.

cluster:
{cluster}

times and model:
{costs}

search:
{search}

output:
{output}

actions:
{actions}

options: -o FILE  write the plan, its certificate and where it comes from: FILE.json, .yaml, .csv, .parquet,
                  .html (a page), or a folder with all of them"""


def usage() -> str:
    """The text of --help."""
    parts = {"cluster": CLUSTER_KEYS, "costs": COST_KEYS, "search": SEARCH_KEYS, "output": OUTPUT_KEYS}
    text = _USAGE.replace("{program}", called_as("plan")).replace("{actions}", usage_lines(ACTIONS))
    for name, keys in parts.items():
        text = text.replace(f"{{{name}}}", usage_lines(keys, 22))
    return text


def main(argv: Sequence[str]) -> int:
    """Plan, or do what the first word says; return the exit code: 1 where there is no plan.

    Raises:
        InputError: a wrong key, value or file.
    """
    if any(word in ("-h", "--help") for word in argv):
        print(usage())
        return 0
    action = argv[0] if argv and "=" not in argv[0] and not argv[0].startswith("-") else ""
    if action and action not in ACTIONS:
        raise InputError(
            f"'{action}' is no action and no key; actions are {', '.join(ACTIONS)}, or write KEY=VALUE"
            f"{did_you_mean(action, ACTIONS)}"
        )
    rest = argv[1:] if action else argv
    with putting_away("interrupted"):
        if action == "check":
            return _check(rest)
        if action == "explain":
            return _explain(rest)
        if action == "report":
            return _report(rest)
        if action in ("profiles", "hosts"):
            return _make(action, rest)
        if action == "sweep":
            return _sweep(rest)
        return _answer(action, rest) if action else _plan(rest)


def _plan(argv: Sequence[str]) -> int:
    from dse.planner.arguments import whole
    from dse.planner.files import check_target, json_text, stages_csv, write_document, yaml_text
    from dse.planner.output import result_text
    from dse.planner.records import document, result_to_plain
    from dse.planner.simulated import simulated, simulated_lines

    arguments = parse_arguments(argv, KEYS, OPTIONS, groups=GROUPS, example="cluster=a100_v100")
    form = _format(arguments)
    target = _target(arguments)
    if target is not None:
        check_target(target)
    timeline = _timeline_target(arguments)
    asked = _asked(arguments)
    most = whole(arguments.values, "simulate", 0, least=0)
    if most > asked.limits.keep:
        raise InputError(
            f"simulate is {most}, but only the {asked.limits.keep} cheapest are kept; write top={most}"
        )
    if most and form == "csv" and (target is None or target.suffix == ".csv"):
        raise InputError(
            f"simulate={most} has no effect with format=csv, which has the stages of the best plan"
        )

    def work(solve: Any) -> tuple[PlanResult, Any]:
        result = solve(asked.problem)
        return result, simulated(asked.problem, result, most) if most and result.best else None

    (result, simulation), was_cancelled = _stoppable(work, asked)
    data = {
        **document(asked.problem, result, _provenance(argv, arguments, asked)),
        **({"simulation": simulation} if simulation else {}),
    }
    if form == "table":
        lines = simulated_lines(simulation) if simulation else []
        print(
            "\n".join(
                [result_text(data, asked.cluster_name, asked.model_name), *([""] * bool(lines)), *lines]
            )
        )
    elif form == "csv":
        print(stages_csv(data), end="")
    else:
        plain = result_to_plain(asked.problem, result)
        plain |= {"simulation": simulation} if simulation else {}
        print(json_text(plain) if form == "json" else yaml_text(plain), end="\n" if form == "json" else "")
    sys.stdout.flush()
    notes = ["interrupted: this is the best so far", *asked.notes] if was_cancelled else list(asked.notes)
    if target is not None:
        notes += [f"wrote {path}" for path in write_document(target, data)]
    if timeline is not None:
        notes.append(_drawn(asked, result, timeline))
    print_notes(notes)
    return 0 if result.best is not None else 1


def _timeline_target(arguments: Arguments) -> Path | None:
    """The file for the timeline, checked before work goes into it."""
    from dse.files import check_output

    if "timeline" not in arguments.values:
        return None
    path = Path(arguments.values["timeline"]).expanduser()
    if not path.name.endswith((".json", ".json.gz")):
        raise InputError(f"timeline is '{path}'; it must end in .json or .json.gz")
    check_output(path, "timeline")
    return path


def _drawn(asked: Asked, result: PlanResult, path: Path) -> str:
    """Draw the best plan; return what was written, or why nothing."""
    from dse.planner.costs import Infeasible
    from dse.timelines.plan import plan_timeline

    if result.best is None:
        return f"no timeline was written into {path}: there is no plan"
    try:
        return f"wrote {path}: {plan_timeline(asked.problem, result.best, path).describe()}"
    except Infeasible as why:
        return f"no timeline was written into {path}: the best plan cannot be simulated: {why.reason}"


def _answer(question: str, argv: Sequence[str]) -> int:
    """Answer a question of `QUESTIONS`."""
    from dataclasses import replace

    from dse.files import check_output, write_output
    from dse.planner.files import entries_csv, json_text, yaml_text
    from dse.planner.questions.ask import KEPT_FOR_FAILURES, Answer, ask

    own = QUESTIONS[question]
    unused = {*OUTPUT_KEYS, *(("prices",) if question in ("grow", "fail") else ())} - {"format"}
    keys = {key: meaning for key, meaning in {**KEYS, **own}.items() if key not in unused}
    arguments = parse_arguments(argv, keys, OPTIONS, groups=GROUPS, example="cluster=a100_v100")
    form = _format(arguments)
    target = _target(arguments)
    if target is not None and target.suffix not in (".json", ".yaml", ".csv"):
        raise InputError(f"-o is '{target}'; the answer to {question} goes to FILE.json, .yaml or .csv")
    if target is not None:
        check_output(target, "-o")
    asked = _asked(arguments)
    if question == "fail":
        asked = replace(asked, limits=replace(asked.limits, keep=KEPT_FOR_FAILURES))
    with _bar() as bar:

        def on_case(total: int) -> None:
            bar.total = total
            bar.update()

        def work(solve: Any) -> Answer:
            return ask(question, asked, arguments.values, solve, on_case)

        answer, _ = _stoppable(work, asked)
    data = {"question": question, "answers": answer.entries}
    texts: Mapping[str, Callable[[], str]] = {
        "table": lambda: f"{answer.text}\n",
        "json": lambda: f"{json_text(data)}\n",
        "yaml": lambda: yaml_text(data),
        "csv": lambda: entries_csv(answer.entries),
    }
    print(texts[form](), end="")
    notes = list(asked.notes)
    if asked.cost_model == "compat":
        notes.append("cost=compat prices what Metis prices: a plan here may not run; dse plan says why")
    if target is not None:
        write_output(target, texts[target.suffix[1:]]().encode(), "-o")
        notes.append(f"wrote {target}")
    print_notes(notes)
    return 0


def _check(argv: Sequence[str]) -> int:
    from dataclasses import asdict

    from dse.planner.check import check_plan
    from dse.planner.files import json_text, read_document
    from dse.planner.output import verdict_text

    arguments = parse_arguments(argv, {"format": "table or json"}, {}, others=1, groups=())
    path = _file_of("check", arguments)
    form = arguments.values.get("format", "table")
    check_choice("format", form, ("table", "json"))
    verdict = check_plan(read_document(path))
    print(json_text(asdict(verdict)) if form == "json" else verdict_text(verdict))
    return 0 if verdict.valid else 1


def _explain(argv: Sequence[str]) -> int:
    from dse.planner.explained import explained
    from dse.planner.explained_text import explained_text
    from dse.planner.files import json_text, read_plan

    arguments = parse_arguments(argv, {"format": "table or json"}, {}, others=1, groups=())
    form = arguments.values.get("format", "table")
    check_choice("format", form, ("table", "json"))
    data = read_plan(_file_of("explain", arguments))
    found = explained(data)
    print(json_text(found) if form == "json" else explained_text(data, found))
    return 0 if found["best"] is not None else 1


def _report(argv: Sequence[str]) -> int:
    from dse.files import check_output
    from dse.planner.files import read_plan, write_document

    arguments = parse_arguments(argv, {}, OPTIONS, others=1, groups=())
    target = _target(arguments)
    if target is None or target.suffix != ".html":
        raise InputError(f"-o is {target or 'missing'}; write dse plan report FILE -o FILE.html")
    check_output(target, "-o")
    print_notes(
        [f"wrote {path}" for path in write_document(target, read_plan(_file_of("report", arguments)))]
    )
    return 0


def _file_of(action: str, arguments: Arguments) -> Path:
    """The plan's file that an action names."""
    if not arguments.others:
        raise InputError(f"FILE is missing; write dse plan {action} FILE, a file or folder of dse plan … -o")
    return Path(arguments.others[0]).expanduser()


def _sweep(argv: Sequence[str]) -> int:
    """Plan what a study lacks, and print all rows that were asked for."""
    from dataclasses import asdict

    from dse.cli import print_json
    from dse.config.settings import checked_study
    from dse.plans import PLANS, evaluate
    from dse.plans.grid import cases
    from dse.plans.table import table_text
    from dse.studies import StudyStore
    from dse.sweeps.cases import missing_cases, run_cases
    from dse.sweeps.provenance import provenance, sweep_name

    keys = {
        key: meaning for key, meaning in KEYS.items() if key not in OUTPUT_KEYS or key == "format"
    } | STUDY_KEYS
    arguments = parse_arguments(argv, keys, {}, groups=GROUPS, example="study=NAME")
    form = arguments.values.get("format", "table")
    check_choice("format", form, ("table", "json"))
    if "study" not in arguments.values:
        raise InputError("study is missing; write study=NAME, the folder results/NAME for the rows")
    folder = Path("results") / checked_study(arguments.values["study"])
    executor = _executor(arguments.values)
    asked = {key: value for key, value in arguments.values.items() if key not in STUDY_KEYS}
    wanted = list(cases(asked, arguments.overrides, _model))
    store = StudyStore(folder, PLANS)
    missing = missing_cases(wanted, store)
    if missing:
        store = StudyStore.create(folder, PLANS)
        about = provenance(
            ["dse", "plan", "sweep", *argv], _configuration(arguments), {"planned": len(missing)}
        )
        store.record_sweep(sweep_name(), about)
        with (
            putting_away(f"interrupted; the same command goes on from what is stored in {folder}"),
            _bar() as bar,
        ):
            bar.total = len(missing)
            run_cases(missing, evaluate, store, executor, lambda _: bar.update())
    wanted_keys = {case.key for case in wanted}
    rows = [row for row in store.rows() if row.key in wanted_keys]
    if form == "json":
        print_json([[asdict(row) for row in rows]])
    else:
        print(table_text(rows))
    print_notes(
        [f"{len(missing)} of {len(wanted_keys)} were computed, the others were there", f"stored in {folder}"]
    )
    return 0


def _executor(values: Mapping[str, str]) -> Any:
    from dse.executors.settings import ExecutorSchema, executor_settings
    from dse.planner.arguments import whole

    name = values.get("executor", "local")
    check_choice("executor", name, ("local", "ray"))
    if "address" in values and name != "ray":
        raise InputError(f"address={values['address']} has no effect on executor=local; write executor=ray")
    workers = whole(values, "workers", 1) if "workers" in values else None
    counts: dict[str, Any] = {"threads": workers} if name == "local" else {"workers": workers}
    return executor_settings(ExecutorSchema(name=name, address=values.get("address"), **counts))


def _configuration(arguments: Arguments) -> str:
    """The keys as YAML."""
    keys = {**arguments.values, **dict(word.split("=", 1) for word in arguments.overrides)}
    return "\n".join(f"{key}: {value!r}" for key, value in sorted(keys.items())) or "{}"


def _make(action: str, argv: Sequence[str]) -> int:
    """Write inputs as Metis reads them."""
    from dse.planner.making import make_hosts, make_profiles

    keys, make = (PROFILES, make_profiles) if action == "profiles" else (HOSTS, make_hosts)
    arguments = parse_arguments(argv, keys, OPTIONS, groups=(), example=f"{next(iter(keys))}=10")
    target = _target(arguments)
    if target is None:
        raise InputError(f"-o is missing; write dse plan {action} … -o DIR, the folder for the files")
    print(make(arguments.values, target))
    return 0


def _asked(arguments: Arguments) -> Asked:
    from dse.planner.arguments import asked_of

    return asked_of(arguments.values, arguments.overrides, _model)


def _model(overrides: Sequence[str]) -> ModelSpec:
    from dse.config import compose_config

    return compose_config(overrides).model


def _format(arguments: Arguments) -> str:
    form = arguments.values.get("format", "table")
    check_choice("format", form, _FORMATS)
    return form


def _target(arguments: Arguments) -> Path | None:
    named = [arguments.options[name] for name in ("-o", "--output") if name in arguments.options]
    if len(named) > 1:
        raise InputError("-o and --output name the same; write one of them")
    if named and not named[0]:
        raise InputError("-o is empty; write -o FILE or -o DIR")
    return Path(named[0]).expanduser() if named else None


def _stoppable(work: Callable[[Any], Any], asked: Asked) -> tuple[Any, bool]:
    """Work with what solves a problem; Ctrl-C ends a search in the engine, which keeps its best so far."""
    from dse.planner.choice import planner_for
    from dse.signals import raise_if_signalled

    def solve(problem: Any) -> PlanResult:
        raise_if_signalled()
        planner = planner_for(asked.planner, problem, asked.cost_model)
        return planner.plan(problem, asked.cost_model, asked.limits)

    found = work(solve)
    try:
        raise_if_signalled()
    except KeyboardInterrupt:
        return found, True
    return found, False


def _bar() -> Any:
    from tqdm import tqdm

    return tqdm(unit="plan", file=sys.stderr, disable=None)


def _provenance(argv: Sequence[str], arguments: Arguments, asked: Asked) -> dict[str, Any]:
    import yaml

    from dse.sweeps.provenance import provenance

    about: dict[str, Any] = yaml.safe_load(provenance(["dse", "plan", *argv], _configuration(arguments), {}))
    del about["points"]
    return {"cluster": asked.cluster_name, "model": asked.model_name, **about}


if __name__ == "__main__":
    run(main)
