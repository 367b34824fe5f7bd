"""Why points of a study are not ok: their reasons, those that differ in numbers only as one."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from dse.base.lazy import pa, pc

_NUMBER = re.compile(r"\d+(\.\d+)?")


class Reason(NamedTuple):
    """A status other than ok, why, and how many points; numbers that differ among them are left out.

    `example` is the reason of most of them, with its numbers.
    """

    status: str
    reason: str
    points: int
    example: str


def kind_of(reason: str) -> str:
    """Return a reason without its numbers."""
    return _NUMBER.sub("…", reason)


def reasons_of(table: pa.Table) -> list[Reason]:
    """Return the reasons of a table with `status` and `reason`, the most frequent first."""
    bad = table.select(["status", "reason"]).filter(pc.not_equal(table["status"], "ok"))
    texts = bad.group_by(["status", "reason"], use_threads=False).aggregate([([], "count_all")])
    kinds: dict[tuple[str, str], Counter[str]] = {}
    for entry in texts.to_pylist():
        reason = entry["reason"] or ""
        kinds.setdefault((entry["status"], kind_of(reason)), Counter())[reason] += entry["count_all"]
    found = [
        Reason(status, kind if len(members) > 1 else example, members.total(), example)
        for (status, kind), members in kinds.items()
        for ((example, _),) in [members.most_common(1)]
    ]
    return sorted(found, key=lambda each: (-each.points, each.status, each.reason))
