"""`dse report results/<study>`: a study as one page that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.files import check_output, write_output
from dse.base.settings.values import whole
from dse.base.units import format_bytes
from dse.commands.cli import (
    CAP,
    CAP_OR_NONE,
    STUDY,
    asked_cap,
    beside,
    print_notes,
    reading,
    without_cap,
)
from dse.commands.stored_runs import answered
from dse.studies.store import StudyStore

if TYPE_CHECKING:
    from dse.answers import Cap

DEFAULT_MAX_POINTS = 2000


COMMAND = CommandLine(
    "report",
    "Write a study as one HTML page: the best strategies, plots, failures and provenance.",
    words=STUDY,
    keys={
        "keys": {
            **CAP,
            "title": "the title of the page (default: the question of the study)",
            "max_points": "points of each question that the page has; of a larger study the best ones and a "
            f"sample (default {DEFAULT_MAX_POINTS})",
        }
    },
    options={
        "--output": Option(
            "the page (default: beside the study, results/<study>.html; with --live "
            "results/<study>-live.html)",
            "FILE",
            "-o",
        ),
        "--live": Option(
            "a page in which the engine itself runs, with a slider for every number, as of dse explore"
        ),
        **without_cap("no cap"),
    },
    exclusive=(CAP_OR_NONE,),
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Write the page; return the exit code."""
    if answered("report", arguments):
        return 0
    (study,), live = arguments.words, "--live" in arguments.options
    asked = asked_cap(arguments)
    title = arguments.values.get("title")
    limit = whole(arguments.values, "max_points", DEFAULT_MAX_POINTS, least=1, most=10**9)
    ending = "-live.html" if live else ".html"
    output = Path(arguments.options["--output"]) if "--output" in arguments.options else beside(study, ending)
    check_output(output, "--output")
    if live:
        page = _live_page(study, asked, title, limit)
        write_output(output, page, "--output")
        print(f"{output}: {format_bytes(len(page))}, open it in a browser")
        return 0
    from dse.answers import study_cap
    from dse.answers.reports import render_page, report_data

    store = StudyStore(study)
    cap = study_cap(asked, store)
    data = report_data(
        store,
        memory_cap_bytes=cap.size_bytes,
        is_cap_asked=cap.is_asked,
        is_cap_by_system=cap.by_system,
        title=title,
        max_points=limit,
    )
    print_notes([*([cap.note] if cap.note else []), *data["notes"]])
    page = render_page(data).encode()
    write_output(output, page, "--output")
    print(f"{output}: {format_bytes(len(page))}, open it in a browser")
    return 0


def _live_page(study: str, asked: Cap | None, title: str | None, max_points: int) -> bytes:
    """The page of the first question of a study; static, with a note why, where it cannot be live."""
    from dse.answers.explorer import page_data, render_page, subject_of_study, without_engine

    subject, notes = subject_of_study(
        StudyStore(study), cap=asked, title=title, max_points=max_points, reason=without_engine()
    )
    data = page_data(subject)
    print_notes([*notes, *([f"the page is static: {data['why_static']}"] if not data["live"] else [])])
    return render_page(data).encode()
