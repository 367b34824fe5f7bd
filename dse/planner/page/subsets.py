"""The page of subsets of the nodes, of all or of those worth it: a table with filters, and its plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.base.pages import TABLE_PLOTS, joined, page_style, template_environment
from dse.planner.page.page import TEMPLATES
from dse.planner.questions.text import subsets_table

# Columns whose cells are texts with units, and the figures by which they are sorted.
_FIGURES = {"step": "step_ms", "tokens/s": "tokens_per_s", "run": "run_time_s"}
_TEXTS = ("kept for", "plan")
_HIGHEST = ("tokens/s", "effective %")


def render_subsets(
    title: str, about: str, entries: Sequence[Mapping[str, Any]], asked: Mapping[str, str], command: str
) -> str:
    """Return the page of the entries of `subset_entry`; it loads nothing.

    `asked` are the keys as they were given.
    """
    header, rows = subsets_table(entries)
    types = list(dict.fromkeys(type_ for entry in entries for type_ in entry["nodes"]))
    shown = [
        (
            [entry["nodes"].get(type_, 0) for type_ in types],
            [
                (name, text, entry.get(_FIGURES.get(name, "")))
                for name, text in zip(header[1:], cells[1:], strict=True)
            ],
        )
        for entry, cells in zip(entries, rows, strict=True)
    ]
    return (
        template_environment(TEMPLATES)
        .get_template("subsets.html")
        .render(
            title=title,
            about=about,
            facts=sorted(asked.items()),
            command=command,
            types=types,
            header=header[1:],
            figures=[name for name in header if name not in _TEXTS],
            highest=_HIGHEST,
            rows=shown,
            style=page_style(TEMPLATES / "plan.css"),
            program=joined(TABLE_PLOTS),
        )
    )
