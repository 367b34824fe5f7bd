"""What to say under rows whose times are not those of a real machine, and known not to be."""

from __future__ import annotations

from collections.abc import Iterable

from dse.studies.schema import StudyRow


def cautions(rows: Iterable[StudyRow | None]) -> list[str]:
    """Return a line for each thing that the rows say of themselves, each once, in the order of the rows."""
    lines = []
    for row in rows:
        if row is not None:
            lines += caution_lines(row.impossible_split, row.understated_comm)
    return list(dict.fromkeys(lines))


def caution_lines(impossible_split: str | None, understated_comm: str | None) -> list[str]:
    """Return the lines for the values of these columns."""
    splits = impossible_split.split("; ") if impossible_split else []
    texts = understated_comm.split("; ") if understated_comm else []
    return [
        *(f"warning: no program can split this: {split}" for split in splits),
        *(f"warning: {text}, as in the reference: slower links are not in this time" for text in texts),
    ]
