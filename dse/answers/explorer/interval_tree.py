"""The intervals of predictions as a tree, from the feature that counts most to that which counts least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.prediction.intervals.interval import interval_of
from dse.prediction.intervals.kinds import WIDER, Kind
from dse.prediction.intervals.unseen import Unseen, unseen_runs

_ORDER = tuple(reversed(WIDER))
_NONE = {"accelerator": "?", "bits": 0, "blocks": "?", "context": None, "framework": "?", "scale": "?"}

OTHERS = "*"
"""The key of values that no run has."""


def interval_tree() -> dict[str, Any]:
    """Return nested values of `Kind`, framework first; a leaf has `[low, high]` of two sorts of kinds.

    The kinds are those whose accelerator some run had, whatever else it was, and all others.
    """
    return _node(unseen_runs(), {})


def _node(runs: Sequence[Unseen], known: Mapping[str, Any]) -> dict[str, Any]:
    if len(known) == len(_ORDER):
        return _leaf(known)
    name = _ORDER[len(known)]
    found: dict[str, Any] = {OTHERS: _leaf(known)}
    for value in sorted({getattr(run.kind, name) for run in runs}):
        below = [run for run in runs if getattr(run.kind, name) == value]
        found[str(value).lower() if isinstance(value, bool) else str(value)] = _node(
            below, {**known, name: value}
        )
    return found


def _leaf(known: Mapping[str, Any]) -> dict[str, Any]:
    """A kind without the next feature of any run; below that, only what its accelerator is still counts."""
    if "accelerator" in known or not unseen_runs():
        return {"known": _bounds(Kind(**{**_NONE, **known})), "unknown": None}
    elsewhere = unseen_runs()[0].kind.accelerator
    if len(known) == _ORDER.index("accelerator"):  # an accelerator of runs, but of none with these features
        these = {
            run.kind.accelerator
            for run in unseen_runs()
            if all(getattr(run.kind, name) == value for name, value in known.items())
        }
        others = sorted({run.kind.accelerator for run in unseen_runs()} - these)
        elsewhere = others[0] if others else ""
    return {
        "known": _bounds(Kind(**{**_NONE, **known, "accelerator": elsewhere})) if elsewhere else None,
        "unknown": _bounds(Kind(**{**_NONE, **known})),
    }


def _bounds(kind: Kind) -> list[float] | None:
    found = interval_of(kind)
    return None if found is None else [found.low, found.high]
