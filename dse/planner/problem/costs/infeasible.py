"""Why a plan cannot run."""

from __future__ import annotations


class Infeasible(Exception):  # noqa: N818 (a status of plans, not an error)
    """A plan that cannot run. `reason` has the numbers of this plan, `kind` is what many plans share."""

    def __init__(self, reason: str, kind: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind or reason
