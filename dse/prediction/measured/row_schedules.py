"""The pipeline schedule of a measured row: which plan runs so, or why none does."""

from __future__ import annotations

import re

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.prediction.measured.rows import MeasuredRow

# What frameworks and papers call a schedule, in small letters and digits: what plans call it.
_NAMES = {
    "none": "1f1b",
    "1f1b": "1f1b",
    "interleaved": "interleaved",
    "interleaved1f1b": "interleaved",
    "1f1binterleaved": "interleaved",
    "gpipe": "gpipe",
    "afab": "gpipe",
    "zbh1": "zb-h1",
    "zb1p": "zb-h1",
    "zb": "zb-h1",
    "zbb": "zb-h1",
    "zerobubble": "zb-h1",
    "zbv": "zb-v",
    "zbvzerobubble": "zb-v",
}
_VAGUE = ("zb", "zbb", "zerobubble")
"""Names of the whole family; ZB-H1 is the one of it with one chunk a stage and the memory of 1F1B."""


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
    word = re.sub(r"[^a-z0-9]", "", row.schedule.lower()) or "none"
    if word not in _NAMES:
        raise Inexpressible(
            f"schedule is '{excerpt(row.schedule)}', which no plan runs; known are 1f1b, interleaved, gpipe, "
            "zb-h1 and zb-v"
        )
    found = _NAMES[word]
    if word in _VAGUE:
        assumed.append(f"schedule zb-h1 for '{row.schedule}'")
    if found == "zb-v":
        if row.vp not in (None, 2):
            raise Inexpressible(f"schedule is zb-v with vp {row.vp}; it has 2 chunks a stage")
        return found, 2
    if found in ("1f1b", "interleaved"):
        if found == "interleaved" and chunks == 1:
            assumed.append("schedule 1f1b: interleaved has 2 chunks a stage or more, and vp says no number")
        return ("interleaved", chunks) if chunks > 1 else ("1f1b", 1)
    if chunks > 1:
        raise Inexpressible(f"schedule is {found} with vp {chunks}; it has 1 chunk a stage")
    return found, 1
