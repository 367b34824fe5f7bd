"""`dse plan prices`, `subsets`, `front`, `grow`, `fail`: answers besides the best plan."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.progress_bars import progress_bar
from dse.commands.cli import found_code, print_notes
from dse.commands.plan.shared import OUTPUT, PLAN_FORMATS, asked_for, stoppable, target_of
from dse.planner.problem.keys import GROUPS, KEYS, OUTPUT_KEYS
from dse.planner.questions.runs import QUESTIONS

ABOUT = {
    "prices": "The nodes on which a step is cheapest, for every price of a GPU-hour.",
    "subsets": "The best plan for every subset of the nodes.",
    "front": "Subsets worth it: none is as fast, cheap and roomy.",
    "grow": "What more nodes would bring.",
    "fail": "A node fails: the best plan of the rest, and the one that keeps most in place.",
}


_PAGES = {"subsets": "Subsets of the nodes", "front": "Subsets of the nodes that are worth it"}
"""The questions that have pages, with their titles."""


def _line(question: str) -> CommandLine:
    unused = {*OUTPUT_KEYS, *(("prices",) if question in ("grow", "fail") else ())} - {"format"}
    return CommandLine(
        f"plan {question}",
        ABOUT[question],
        keys={
            "question": QUESTIONS[question],
            "plan": {key: meaning for key, meaning in KEYS.items() if key not in unused},
        },
        options=OUTPUT,
        groups=GROUPS,
        choices={"format": PLAN_FORMATS},
        example="cluster=a100_v100",
    )


QUESTION_LINES = {question: _line(question) for question in QUESTIONS}


def _page(question: str, entries: Sequence[Mapping[str, Any]], arguments: Arguments) -> str:
    from dse.planner.page import render_subsets

    given = {**arguments.values, **dict(word.split("=", 1) for word in arguments.overrides)}
    command = shlex.join(["dse", "plan", question, *(f"{key}={value}" for key, value in given.items())])
    return render_subsets(_PAGES[question], ABOUT[question], entries, given, command)


def answer(question: str, arguments: Arguments) -> int:
    """Answer a question of `QUESTIONS`; return the exit code."""
    from dse.planner.files.files import entries_csv, json_text, yaml_text
    from dse.planner.questions.ask import KEPT_FOR_FAILURES, Answer, ask

    target = target_of(arguments)
    suffixes = (".json", ".yaml", ".csv", *([".html"] if question in _PAGES else []))
    if target is not None and target.suffix not in suffixes:
        *most, last = suffixes
        raise InputError(
            f"-o is '{target}'; the answer to {question} goes to FILE{', '.join(most)} or {last}"
        )
    if target is not None:
        check_output(target, "-o")
    asked = asked_for(arguments)
    if question == "fail":
        asked = replace(asked, limits=replace(asked.limits, keep=KEPT_FOR_FAILURES))
    with progress_bar("plan") as bar:

        def on_case(total: int) -> None:
            bar.total = total
            bar.update()

        def work(solve: Any) -> Answer:
            return ask(question, asked, arguments.values, solve, on_case)

        answer, _ = stoppable(work, asked)
    data = {"question": question, "answers": answer.entries}
    texts: Mapping[str, Callable[[], str]] = {
        "table": lambda: f"{answer.text}\n",
        "json": lambda: f"{json_text(data)}\n",
        "yaml": lambda: yaml_text(data),
        "csv": lambda: entries_csv(answer.entries),
        "html": lambda: _page(question, answer.entries, arguments),
    }
    print(texts[arguments.values.get("format", "table")](), end="")
    notes = list(asked.notes)
    if asked.cost_model == "compat":
        notes.append("cost=compat prices what Metis prices: a plan here may not run; dse plan says why")
    if target is not None:
        write_output(target, texts[target.suffix[1:]]().encode(), "-o")
        notes.append(f"wrote {target}")
    print_notes(notes)
    return found_code(answer.has_plan)
