"""Notes under rows whose times are not those of a real machine, and known not to be."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dse.studies.store.schema import StudyRow

_CHARGED = re.compile(r"(?P<axis>\w+ \d+) is charged for dimension (?P<charged>.+), not for (?P<crossed>.+)")


def cautions(rows: Iterable[StudyRow | None]) -> list[str]:
    """Return a line for each thing that the rows say of themselves, each once, in the order of the rows."""
    lines = []
    for row in rows:
        if row is not None:
            lines += caution_lines(row.impossible_split, row.understated_comm)
            lines += note_lines(row.prediction_notes)
    return [line for line in dict.fromkeys(lines) if not any(_says_more(other, line) for other in lines)]


def _says_more(other: str, line: str) -> bool:
    return other != line and other.startswith(f"{line},")


def note_lines(prediction_notes: str | None) -> list[str]:
    """Return the lines for the value of this column."""
    return [f"note: {text}" for text in prediction_notes.split("; ")] if prediction_notes else []


def caution_lines(impossible_split: str | None, understated_comm: str | None) -> list[str]:
    """Return the lines for the values of these columns."""
    splits = impossible_split.split("; ") if impossible_split else []
    texts = understated_comm.split("; ") if understated_comm else []
    return [
        *(f"warning: no program can split this: {split}" for split in splits),
        *(f"warning: {understated_words(text)}" for text in texts),
    ]


def understated_words(text: str) -> str:
    """Return the meaning of an entry of `understated_comm`: "dp 32 is charged for dimension 0, not for 1"."""
    match = _CHARGED.fullmatch(text)
    if match is None:
        return f"{text}, as in the reference: slower links are not in this time"
    crossing = f"{match['axis']} crosses slower links (dimension {match['crossed']})"
    return f"{crossing} but is timed on dimension {match['charged']}, as in ASTRA-sim"
