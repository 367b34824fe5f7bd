"""Notes on a sweep: degrees that its space lacks, and shards that were cut."""

from __future__ import annotations

from collections.abc import Sequence

from dse.studies.config import Config

_SHOWN_DEGREES = 6


def missing_degrees(config: Config, arguments: Sequence[str]) -> list[str]:
    """Return which degrees the space of conf/ lacks; lists of the command line are meant as they are."""
    notes = []
    given = " ".join(arguments)
    for system in config.systems:
        missing = config.space.missing_degrees(system)
        axes = [
            f"space.{axis}"
            for axis in missing
            if f"space.{axis}=" not in given and f"strategy.{axis}:" not in given
        ]
        if not axes:
            continue
        left_out = sorted({degree for axis in axes for degree in missing[axis.partition(".")[2]]})
        shown = [*map(str, left_out[:_SHOWN_DEGREES]), *(["..."] if left_out[_SHOWN_DEGREES:] else [])]
        notes.append(
            f"{', '.join(axes)} of space={config.space.name} leave out {', '.join(shown)}, but "
            f"{system.name} has {system.npus} NPUs: space=full has all degrees"
        )
    return notes


def cuts(points: int, *, impossible: int, fractional: int) -> list[str]:
    """Return what is wrong with points whose sizes do not divide: lines that begin with warning or note."""
    lines = []
    if impossible:
        lines.append(
            f"warning: {impossible} of {points} points split sequences, tokens or heads, which no program "
            "can (column impossible_split; workload.divisibility=whole makes them infeasible)"
        )
    if fractional > impossible:
        lines.append(
            f"note: {fractional - impossible} of {points} points have widths of matrices that do not divide; "
            "they are cut by less than one row of a shard, where programs pad (column fractional; "
            "workload.divisibility=strict excludes them)"
        )
    return lines
