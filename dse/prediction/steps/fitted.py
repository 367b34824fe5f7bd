"""How far a prediction can be believed: its interval, and constants that no step of the accelerator told."""

from __future__ import annotations

from dse.inputs.accelerators.accelerator import CALIBRATED_BY_USER, Accelerator
from dse.prediction.intervals.interval import Interval
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan


def fit_notes(accelerator: Accelerator, plan: Plan, interval: Interval | None) -> list[str]:
    """Return notes on an interval, and on constants of the user's own or of a type that no unseen run had."""
    notes = [interval.note] if interval else []
    is_own = accelerator.calibration.startswith(CALIBRATED_BY_USER)
    if is_own or (accelerator.calibration and not (interval and interval.knows_accelerator)):
        notes.append(accelerator.calibration)
    framework = framework_named(plan.framework)
    if framework.calibration.startswith("starting value"):
        notes.append(f"the launch time of {framework.name} is a {framework.calibration}")
    return notes
