"""The output of `dse plan`: the stages of the best plan, its bound and gap, and why it is that one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.base.texts import counted, cut, printable, table
from dse.base.units import format_count, format_duration_ns
from dse.planner.problem.steps import way_text
from dse.planner.questions.bottleneck import batches_text, groups_text, reasons, types_of_stages
from dse.planner.search.automatic import useful_bound
from dse.planner.search.planner import UNPROVEN
from dse.planner.throughput import duration

if TYPE_CHECKING:
    from dse.planner.proofs.check import Verdict

_MOST_STAGES = 40
_HEADER = ("stage", "GPUs", "nodes", "dp x tp", "layers", "time", "link", "reduce", "update", "memory")
_MOST_REASONS = 8
_LOOKED_AT = {"blocks": "labels", "dual": "beams and boxes", "steps": "plans, whole or begun,"}
_TIMES = {
    "model": "predicted (fidelity=realistic)",
    "calibrated": "predicted, scaled to measured layers (fidelity=realistic)",
}
_NO_PROFILE = re.compile(r"(no profile of .+ tp \d+) batch (\d+)")


def result_text(data: Mapping[str, Any], cluster_name: str, model_name: str) -> str:
    """Return the answer as text."""
    problem = data["problem"]
    layers = len(problem["profiles"]["parameters_bytes"])
    counts = _counts(problem["cluster"]["hosts"])
    lines = [
        f"{printable(model_name)}: {layers} layers, {problem['gbs']} sequences per step, on "
        f"{printable(cluster_name)}: {counts}, {fidelity_text(data)}",
        f"planner {data['planner']}, cost model {data['cost_model']}: {_searched(data)}",
        "",
    ]
    best = data["best"]
    if best is None:
        return "\n".join([*lines, nothing_text(data), *_infeasible(data)])
    lines += [
        f"{duration(best['cost_ms'])} per step; {proof_text(data)}",
        *throughput_lines(best),
        f"types in the order {', '.join(types_of_stages(best))}, {batches_text(best['batches'])}",
        *defect_lines(best),
        *excluded_lines(data),
        *homogeneous_lines(data),
        "",
        *stage_lines(best),
        "",
        *(f"- {sentence}" for sentence in reasons(data)),
    ]
    if len(data["ranking"]) > 1:
        lines += ["", *ranking_lines(data["ranking"])]
    if data["infeasible"]:
        lines += ["", *_infeasible(data)]
    return "\n".join(lines)


def fidelity_text(data: Mapping[str, Any]) -> str:
    """Return where the times of layers are from, which is how far an answer can be believed."""
    return _TIMES.get(str(data["problem"]["profiles"]["source"]), "with measured layers")


def nothing_text(data: Mapping[str, Any]) -> str:
    """Return what a document without a plan says of the space."""
    return "no plan was found" if UNPROVEN in data["infeasible"] else "no plan fits"


def defect_lines(best: Mapping[str, Any]) -> list[str]:
    """Return a line for each reason why the plan cannot be run as it stands; none for a plan that can."""
    return [f"cannot run as it is: {printable(defect)}" for defect in best.get("defects", ())]


def stage_lines(best: Mapping[str, Any]) -> list[str]:
    """Return a table with a row per stage; of very many, only the first and the last."""
    stages = best["stages"]
    header = (*_HEADER, "way") if stages[0].get("way") else _HEADER
    if len(stages) <= _MOST_STAGES:
        return table(header, [_cells(stage) for stage in stages])
    half = _MOST_STAGES // 2
    shown = [_cells(stage) for stage in (*stages[:half], *stages[-half:])]
    found = table(header, shown)
    return [*found[: half + 1], f"… {len(stages) - 2 * half} more stages", *found[half + 1 :]]


def layers_text(layers: Sequence[int]) -> str:
    """Return the layers [first, end) of a stage in short: 3-9, 3, or none."""
    first, end = layers
    return "none" if end <= first else f"{first}" if end == first + 1 else f"{first}-{end - 1}"


def types_text(types: Mapping[str, int]) -> str:
    """Return GPUs by type: 8 V100 + 16 A100."""
    return " + ".join(f"{gpus} {printable(type_)}" for type_, gpus in types.items())


def _cells(stage: Mapping[str, Any]) -> tuple[str, ...]:
    terms = [stage[f"{name}_ms"] for name in ("execution", "link", "reduction", "update")]
    memory = ", ".join(
        f"{own['bytes'] / 2**30:.1f} of {own['capacity_bytes'] / 2**30:.1f} GiB"
        for own in stage["memory"].values()
    )
    return (
        str(stage["stage"]),
        types_text(stage["types"]),
        str(len({host["host"] for host in stage["hosts"]})) if stage["hosts"] else "-",
        f"{stage['dp']} x {stage['tp']}",
        layers_text(stage["layers"]),
        *("-" if term is None else duration(term) for term in terms),
        memory or "-",
        *((way_text(stage["way"]),) if stage.get("way") else ()),
    )


def ranking_lines(ranking: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of the cheapest plans."""
    best_ms = ranking[0]["cost_ms"]
    rows = [
        (
            str(place),
            duration(plan["cost_ms"]),
            f"{100 * (plan['cost_ms'] / best_ms - 1):.2f}",
            str(plan["batches"]),
            ",".join(types_of_stages(plan)),
            cut(groups_text(plan)),
            cut(",".join(map(str, plan["partition"]))),
        )
        for place, plan in enumerate(ranking, 1)
    ]
    return table(("plan", "step", "% longer", "batches", "types", "stages", "layers from"), rows)


def _counts(hosts: Sequence[Sequence[Any]]) -> str:
    found: dict[str, int] = {}
    for _, type_, gpus, *_ in hosts:
        found[type_] = found.get(type_, 0) + gpus
    return types_text(found)


def _searched(data: Mapping[str, Any]) -> str:
    count = "" if data["count"] is None else f"count {data['count']}, "
    what = "plans priced"
    if data["count"] is not None:
        what = "plans priced (those that its cost model cannot price are not counted)"
    elif data["planner"] in ("exact", "anytime"):
        what = _LOOKED_AT.get(_kind_of_search(data), "labels")
    return f"{count}{data['plans']} {what} in {format_duration_ns(data['seconds'] * 1e9)}"


def _kind_of_search(data: Mapping[str, Any]) -> str:
    """The search that the certificate is of. Without one `anytime` has searched by beams under strict."""
    if data["certificate"]:
        return str(data["certificate"].get("kind"))
    return "dual" if (data["planner"], data["cost_model"]) == ("anytime", "strict") else "blocks"


def proof_text(data: Mapping[str, Any]) -> str:
    """Return how far the best plan can be from the optimum of the space that was searched."""
    if data["optimal"]:
        return "proven optimal within this space"
    if useful_bound(data["bound_ms"]) is None:
        return "no bound is known"
    gap = "" if data["gap"] is None else f", so it is at most {100 * data['gap']:.2f} % above the optimum"
    return f"no plan of this space is below {duration(data['bound_ms'])}{gap}"


def excluded_lines(data: Mapping[str, Any]) -> list[str]:
    """Return a line on what the space leaves out, which a faster plan may have."""
    names = ", ".join(printable(name) for name in data.get("excludes", ()))
    return [f"this space leaves out {names}"] if names else []


def homogeneous_lines(data: Mapping[str, Any]) -> list[str]:
    """Return a line for the fastest plan of equal stages on each type alone; none where it is the answer."""
    best = data["best"]
    found = []
    for one in data.get("homogeneous", ()):
        if len(best["types"]) == 1 and one["cost_ms"] <= best["cost_ms"]:
            continue
        longer = 100 * (one["cost_ms"] / best["cost_ms"] - 1)
        alone = types_text({name: gpus * one["pp"] for name, gpus in one["types"].items()})
        found.append(
            f"the best of a sweep over {alone} alone: {duration(one['cost_ms'])} ({longer:+.1f} %), "
            f"dp {one['dp']} x tp {one['tp']} x pp {one['pp']}, {way_text(one['way'])}"
        )
    return found


def throughput_lines(best: Mapping[str, Any]) -> list[str]:
    """Return a line with sequences, tokens and MFU, or why some are missing; none for a plan in doubt."""
    if best.get("sequences_per_s") is None:
        return []
    sequences = f"{format_count(best['sequences_per_s'])} sequences/s"
    if best["tokens_per_s"] is None:
        return [f"{sequences}; no tokens/s and MFU: {best['mfu_note']}"]
    tokens = f"{sequences}, {format_count(best['tokens_per_s'])} tokens/s"
    if best["mfu_pct"] is None:
        return [f"{tokens}; no MFU: {best['mfu_note']}"]
    return [f"{tokens}, MFU {best['mfu_pct']:.1f} % ({best['mfu_note']})"]


def _infeasible(data: Mapping[str, Any]) -> list[str]:
    """The reasons why parts of the space fell out, most often first; batches of missing profiles together."""
    batches: dict[str, list[int]] = {}
    counts: dict[str, int] = {}
    for reason, count in data["infeasible"].items():
        match = _NO_PROFILE.fullmatch(reason)
        name = match[1] if match else reason
        counts[name] = counts.get(name, 0) + count
        if match:
            batches.setdefault(name, []).append(int(match[2]))
    shown = {
        f"{name} batch {', '.join(map(str, sorted(batches[name])))}" if name in batches else name: count
        for name, count in counts.items()
    }
    unproven = [UNPROVEN] if shown.pop(UNPROVEN, 0) else []
    entries = sorted(shown.items(), key=lambda item: (-item[1], item[0]))
    what = counted_things(data)
    lines = unproven + [
        f"cannot be: {printable(reason)} ({counted(count, *what)})"
        for reason, count in entries[:_MOST_REASONS]
    ]
    if len(entries) > _MOST_REASONS:
        lines.append(f"and for {len(entries) - _MOST_REASONS} more reasons; format=json has all")
    return lines


def counted_things(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return one and several of what the planner counts that cannot be."""
    if data["planner"] in ("exact", "anytime"):
        return "kind of stage", "kinds of stage"
    return "plan", "plans"


def verdict_text(verdict: Verdict) -> str:
    """Return what a check of a plan found."""
    if not verdict.valid:
        return "\n".join(["not valid", *(printable(line) for line in verdict.lines)])
    bound = (
        "" if verdict.bound_ms is None else f"; no plan of its space is below {duration(verdict.bound_ms)}"
    )
    plans = "all" if verdict.plans is None else verdict.plans
    proofs = f"{counted(verdict.blocks, 'proof')} over {plans} plans"
    from dse.planner.proofs.check import CHECKED, UNCHECKED

    lines = [f"valid: the plan costs what the file says{bound}, by {proofs}"]
    return "\n".join([*lines, f"checked: {CHECKED}", f"not checked: {UNCHECKED}"])
