"""The steps that the constants behind a prediction were fitted to, and what none of those steps had."""

from __future__ import annotations

from dse.inputs.accelerators.accelerator import Accelerator
from dse.inputs.models import ModelSpec
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan


def fit_notes(accelerator: Accelerator, model: ModelSpec, plan: Plan) -> list[str]:
    """Return notes on the constants: on what they were fitted, and what of this step is beyond that."""
    notes = []
    if accelerator.calibration:
        is_own = accelerator.calibration.startswith("fitted")
        steps = "but none of these steps" if is_own else "and none of its steps"
        beyond = _beyond(accelerator, model, plan)
        notes.append(accelerator.calibration + (f", {steps} {beyond}" if beyond else ""))
    framework = framework_named(plan.framework)
    if framework.calibration.startswith("starting value"):
        notes.append(f"the launch time of {framework.name} is a {framework.calibration}")
    return notes


def _beyond(accelerator: Accelerator, model: ModelSpec, plan: Plan) -> str:
    """The part of a step that no fitted step of the accelerator had, as the end of a sentence."""
    if not accelerator.fitted_kinds:  # a file that does not say it
        return ""
    known = set(accelerator.fitted_kinds)
    features = {"experts": model.experts is not None, "cp": plan.cp > 1}
    names = {"experts": "experts", "cp": "cp > 1"}
    had = [names[kind] for kind, is_there in features.items() if is_there and kind not in known]
    parts = [f"has {' or '.join(had)}"] if had else []
    if plan.framework not in known:
        parts.append(f"ran {plan.framework}")
    return " or ".join(parts)
