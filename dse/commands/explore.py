"""`dse explore system=… model=…`: the simulator as one page, in which sliders sweep the space again."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.base.command_lines import CommandLine, Option
from dse.base.errors import InputError
from dse.base.files import check_output, make_folder, write_output
from dse.base.settings.values import file
from dse.base.units import format_bytes
from dse.commands.cli import CONFIGURATION, configs_from_arguments

if TYPE_CHECKING:
    from dse.answers.explorer import Subject
    from dse.studies.config import Config

COMMAND = CommandLine(
    "explore",
    "Write one HTML file in which our engine itself runs, and open it: every number of the system and the "
    "model has a field and a slider, and the whole space is simulated again, to the cycle, while you move "
    "it. The file needs no network and no installation; its address says the state, so that a link is a "
    "finding.",
    keys={
        "keys, for example": {
            "system=system1": "a file of conf/system or a path of your own: system=mine.yaml; so for every "
            "group",
            "model=llama70b": "a file of conf/model",
            "space=full, space.tp=[1,2,4]": "the strategies that compete, as in a sweep",
            "memory_cap=80GiB": "per NPU; 80GB is 80e9 bytes, 80GiB is 80 x 2^30",
            "workload.divisibility=whole": "strategies that split a sequence, a token or a head are "
            "infeasible instead of cut",
            "system.network.0.bandwidth_gbps=200, model.num_layers=16, ...": "where the sliders begin: any "
            "key of system and model",
        }
    },
    any_key=True,
    options={
        "--output": Option("the page (default: results/<model>-<system>-explorer.html)", "FILE", "-o"),
        "--no-open": Option("write the page only; it is not opened either where there is no display"),
        **CONFIGURATION,
    },
    ending="On a cluster of accelerators (model.fidelity=realistic) the page predicts the plans of "
    "space=training; docs/explorer.md says what cannot be live.",
)
_OF_SPACE = ("space", "memory_cap")
_NOT_SAID = ("results_dir",)


def subject_of(config: Config, words: Sequence[str]) -> Subject:
    """Return what a page shows of a configuration; `words` are the overrides that led to it.

    Raises:
        InputError: the scenario cannot be live, or the space has axes that only predictions or sweeps know.
    """
    from dse.answers.explorer import Subject, Words, predicted_choices, space_choices, why_not_live
    from dse.studies.points import scenario_of

    scenario = scenario_of(config)
    is_predicted = scenario.method.name == "prediction"
    if not is_predicted and (problem := why_not_live(scenario)):
        raise InputError(problem)
    if not is_predicted and config.run is not None:
        raise InputError(
            f"run.{next(iter(config.run.values))} has no effect on a page that simulates: choose a cluster, "
            "such as system=dgx_h100 model=llama3_70b, or leave it out"
        )
    _refuse_listed(config)
    choices = predicted_choices(config.space) if is_predicted else space_choices(config.space)
    config.space.strategies(config.model, config.system)  # says why, if there are none
    said = [word for word in words if _group(word) not in _NOT_SAID]
    of_space = tuple([word for word in said if _group(word) in _OF_SPACE])
    rest = [word for word in said if _group(word) not in _OF_SPACE]
    keys = {word.partition("=")[0] for word in rest}
    if not keys & {"experiment", "model", "model.file"}:
        rest.insert(0, "model=llama70b")
    if not keys & {"experiment", "system"}:
        rest.insert(0, "system=system1")
    return Subject(
        scenario=scenario,
        choices=choices,
        constraints=config.space.constraints,
        words=Words(tuple(rest), of_space),
        memory_cap_bytes=config.memory_cap_bytes,
    )


def _refuse_listed(config: Config) -> None:
    """Refuse models and systems as axes: the page would be of the first, and its commands of another."""
    axes = config.resolved["space"]["axes"]
    for group in ("model", "system"):
        if group in axes:
            raise InputError(
                f"space.axes.{group} has no effect on dse explore, where one {group} is shown and others are "
                f"presets; leave it out and write {group}=NAME, or write python -m dse.sweep"
            )


def _group(word: str) -> str:
    return word.partition("=")[0].partition(".")[0]


def _has_display() -> bool:
    return sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def main(argv: Sequence[str]) -> int:
    """Write the page and open it; return the exit code."""
    arguments, configs = configs_from_arguments(argv, COMMAND)
    if not configs:
        return 0
    (config,) = configs
    from dse.answers.explorer import page_data, render_page, render_predicted, without_engine

    output = file(arguments.options, "--output")
    subject = subject_of(config, [word.removeprefix("++") for word in arguments.overrides])  # all keys exist
    if problem := without_engine():
        raise InputError(problem)
    if output is None:
        make_folder(config.results_dir)
        output = config.results_dir / f"{config.study}-explorer.html"
    check_output(output, "--output")
    is_predicted = subject.scenario.method.name == "prediction"
    page = (render_predicted(subject) if is_predicted else render_page(page_data(subject))).encode()
    write_output(output, page, "--output")
    is_opened = (
        "--no-open" not in arguments.options and _has_display() and webbrowser.open(output.resolve().as_uri())
    )
    print(f"{output}: {format_bytes(len(page))}, {'opened' if is_opened else 'open it'} in a browser")
    return 0
