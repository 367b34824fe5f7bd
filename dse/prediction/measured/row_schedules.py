"""The pipeline schedule of a measured row: which plan runs so, or why none does."""

from __future__ import annotations

import re

from dse.base.errors import InputError, excerpt
from dse.base.texts import counted
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.measured.rows import MeasuredRow

# What frameworks and papers call a schedule besides its own name, in small letters and digits.
_ALIASES = {
    "none": "1f1b",
    "interleaved1f1b": "interleaved",
    "1f1binterleaved": "interleaved",
    "afab": "gpipe",
    "zb1p": "zb-h1",
    "zb": "zb-h1",
    "zbb": "zb-h1",
    "zerobubble": "zb-h1",
    "zbvzerobubble": "zb-v",
}
_VAGUE = ("zb", "zbb", "zerobubble")
"""Names of the whole family; ZB-H1 is the one of it with one chunk a stage and the memory of 1F1B."""


_MOST_LAYOUT = 10_000


class Inexpressible(InputError):  # noqa: N818 (a status of rows, not only an error)
    """A row that no plan of dse describes; says why."""


def schedule_of(row: MeasuredRow, assumed: list[str]) -> tuple[str, int]:
    """Return the schedule of the plan, and the model chunks of a stage.

    Raises:
        Inexpressible: plans know no such schedule, or it has another number of chunks.
    """
    chunks = row.vp or 1
    if (row.pp or 1) == 1:
        return "1f1b", 1
    found = _named(row)
    if _word(row.schedule) in _VAGUE:
        assumed.append(f"schedule zb-h1 for '{row.schedule}'")
    if found in ("1f1b", "interleaved"):
        if found == "interleaved" and chunks == 1:
            assumed.append("schedule 1f1b: interleaved has 2 chunks a stage or more, and vp says no number")
        return ("interleaved", chunks) if chunks > 1 else ("1f1b", 1)
    has = SCHEDULES[found].chunks or chunks
    if (row.vp or has) != has:
        raise Inexpressible(f"schedule is {found} with vp {row.vp}; it has {counted(has, 'chunk')} a stage")
    return found, has


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower()) or "none"


def _named(row: MeasuredRow) -> str:
    found = {**{_word(name): name for name in SCHEDULES}, **_ALIASES}.get(_word(row.schedule))
    if found is None:
        *names, last = SCHEDULES
        raise Inexpressible(
            f"schedule is '{excerpt(row.schedule)}', which no plan runs; known are {', '.join(names)} "
            f"and {last}"
        )
    return found


def layout_of(row: MeasuredRow, assumed: list[str]) -> tuple[int, ...]:
    """Return the layers of each part of the pipeline that `pipeline_layout` lists; () if it lists none.

    It has E for the embedding, t for a layer, m for a prediction layer, L for the loss, and | before the next
    part; `(t*4|)*14` repeats. One of other parts than the row's is left out, and said.

    Raises:
        Inexpressible: it has another letter, or is too long.
    """
    text = row.pipeline_layout.replace(" ", "")
    if "|" not in text:
        return ()
    for pattern in (r"\(([^()]*)\)\*(\d{1,4})", r"([A-Za-z])\*(\d{1,4})"):
        text = re.sub(pattern, lambda found: found[1] * int(found[2]), text)
        if len(text) > _MOST_LAYOUT:
            break
    if not re.fullmatch(r"[EtmL|]*", text) or len(text) > _MOST_LAYOUT:
        raise Inexpressible(
            f"pipeline_layout is '{excerpt(row.pipeline_layout)}'; it must list E, t, m and L, with | "
            "between parts, as Et*3|(t*4|)*14tmL"
        )
    counts = tuple(part.count("t") for part in text.split("|"))
    parts = (row.pp or 1) * (row.vp or 1)
    if len(counts) == parts and sum(counts) == row.layers:
        return counts
    assumed.append(
        f"not the pipeline_layout of {counted(len(counts), 'part')} with {sum(counts)} layers: the row has "
        f"{parts} and {row.layers}"
    )
    return ()
