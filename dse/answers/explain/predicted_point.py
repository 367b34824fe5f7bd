"""The text of `dse point` for a predicted point: its headline, its plan, its parts, its memory."""

from __future__ import annotations

import dataclasses
from typing import Any

from dse.answers.conventions import shown_mfu
from dse.answers.explain.breakdown import explain_prediction
from dse.answers.explain.render import render
from dse.answers.fidelities import PREDICTED
from dse.answers.verdicts import verdict_words
from dse.base.units import duration_range, format_bytes, format_count, format_duration_ns
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.details import listed_stages
from dse.prediction.steps.plan import STAGES
from dse.prediction.steps.predict import Verdict, margin_of, verdict
from dse.studies.points import DesignPoint, evaluate
from dse.studies.points.methods.prediction import prediction_inputs
from dse.studies.store import StudyRow

# What a document says of a plan, and what of it None leaves to the predictor.
_PLAN = (
    *("dp", "tp", "pp", "cp", "ep", "expert_tp", "micro_batch", "schedule", "chunks", "stages"),
    *("layers_per_stage", "zero", "shard_ranks", "sequence_parallel", "context", "recompute"),
    *("recompute_layers", "precision", "attention", "overlap_tp", "overlap_dp", "offload", "framework"),
    *("order", "launch_us"),
)
_LEFT_TO_RULES = ("expert_tp", "shard_ranks", "recompute_layers")
_NO_RANKS: dict[str, Any] = {"slowest_rank": None, "fullest_rank": None, "rank_classes": [], "blocked": []}


def predicted_data(point: DesignPoint) -> dict[str, Any]:
    """Return plain data, with the keys of `dse.commands.point.to_json`, `plan`, and those of an explanation.

    Raises:
        InfeasibleStrategy: the strategy cannot run.
        InputError: a setting of the scenario has no effect on predictions.
    """
    row = evaluate(point)
    if row.status != "ok":
        raise InfeasibleStrategy(row.reason)
    on = point.scenario
    explained = explain_prediction(point).to_json()
    del explained["rank"], explained["overlapped"], explained["label"]
    del explained["memory"]["rank"], explained["memory"]["at_ns"], explained["memory"]["node"]
    del explained["memory"]["operator"], explained["memory"]["items"]
    return {
        "model": on.model.name,
        "system": on.system.name,
        "strategy": dataclasses.asdict(point.strategy),
        "plan": _plan(point),
        "fidelity": PREDICTED,
        "status": row.status,
        "fractional": row.fractional,
        "peak_memory_bytes": row.peak_memory_bytes,
        "memory_verdict": _verdict(point, row),
        "tokens_per_s": row.tokens_per_s,
        "tokens_per_s_per_npu": row.tokens_per_s_per_npu,
        "mfu_pct": row.mfu_pct,
        "mfu_note": f"of {on.system.peak_tflops:g} TFLOPS an NPU in 16 bit",
        **_own_precision(row, on.system.peak_tflops),
        **_NO_RANKS,
        **explained,
    }


def _verdict(point: DesignPoint, row: StudyRow) -> Verdict:
    """Whether the peak fits into the memory of an NPU."""
    capacity = point.scenario.system.memory_bytes
    return verdict(row.peak_memory_bytes or 0, capacity, margin_of(point.strategy.framework))


def _memory_words(point: DesignPoint, data: dict[str, Any]) -> str:
    return verdict_words(
        data["peak_memory_bytes"], point.scenario.system.memory_bytes, point.strategy.framework
    )


def _own_precision(row: StudyRow, peak_tflops: float) -> dict[str, Any]:
    """MFU against the peak of the precision of products, where that is not the 16-bit one."""
    shown = shown_mfu(row)
    if not shown or row.mfu_pct is None or shown == row.mfu_pct:
        return {}
    own_tflops = peak_tflops * row.mfu_pct / shown
    note = f"of {own_tflops:g} TFLOPS an NPU in {row.precision}, in which most products are"
    return {"mfu_of_precision_pct": shown, "mfu_of_precision_note": note}


def _plan(point: DesignPoint) -> dict[str, Any]:
    """Return the plan that runs, with the layers of each part where no even rule shares them out.

    None stands for what the predictor finds by a rule.
    """
    model, plan, cluster = prediction_inputs(point)
    values = {name: getattr(plan, name) for name in _PLAN}
    return {
        **values,
        **{name: values[name] or None for name in _LEFT_TO_RULES},
        "zero": plan.zero_stage,
        "stages": plan.stages if plan.stages in STAGES else "even",
        "layers_per_stage": listed_stages(model, plan, cluster),
    }


def _range(data: dict[str, Any]) -> str:
    """From when to when 80 % of such steps end, behind a time."""
    if "wall_time_low_ns" not in data:
        return ""
    return f" (80 %: {duration_range(data['wall_time_low_ns'], data['wall_time_high_ns'])})"


def predicted_text(point: DesignPoint, data: dict[str, Any]) -> str:
    """Return the same as text."""
    plan = {name: value for name, value in data["plan"].items() if value not in (None, ())}
    tokens, per_npu = (format_count(data[name]) for name in ("tokens_per_s", "tokens_per_s_per_npu"))
    shares = [
        f"{data['mfu_pct']:.1f} %, model FLOPs of the step / (step time x NPUs x peak)",
        data["mfu_note"],
    ]
    if "mfu_of_precision_pct" in data:
        first = f"{data['mfu_of_precision_pct']:.1f} %, model FLOPs of the step / (step time x NPUs x peak)"
        shares = [first, data["mfu_of_precision_note"], f"{data['mfu_pct']:.1f} % {data['mfu_note']}"]
    lines = [
        f"{data['model']} on {data['system']}: {point.strategy.label()}, {data['fidelity']}",
        "status ok, computed from the structure of the step",
        "",
        f"step time    {format_duration_ns(data['wall_time_ns'])}{_range(data)}",
        f"peak memory  {format_bytes(data['peak_memory_bytes'])}, of the fullest stage",
        f"             {_memory_words(point, data)}",
        f"tokens/s     {tokens}, {per_npu} per NPU",
        f"MFU          {shares[0]}",
        *[f"             {share}" for share in shares[1:]],
        f"plan         {' '.join([f'{name}={value}' for name, value in plan.items()])}",
        "",
        render(dataclasses.replace(explain_prediction(point), label="")),
    ]
    return "\n".join(lines)
