"""A measured row as a model, a plan and a cluster; what it does not say is assumed, and told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dse.base.errors import DseError, excerpt
from dse.inputs.accelerators import Accelerator, Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import AXIS
from dse.prediction.measured.hardware import cluster_of, framework_of, overlaps_tp
from dse.prediction.measured.row_models import model_of
from dse.prediction.measured.row_schedules import Inexpressible, layout_of, schedule_of
from dse.prediction.measured.rows import MeasuredRow, unmodelled
from dse.prediction.steps.batch import Case as Step
from dse.prediction.steps.plan import Plan, recomputed, text_of_layers
from dse.prediction.steps.predict import Figures, figures

_PRECISIONS = {  # by a part of the column, the first that is there
    "fp4": "fp4", "mxfp8": "mxfp8", "fp8-block": "fp8_block", "fp8_block": "fp8_block",
    "fp8-delayed": "fp8_delayed", "fp8_delayed": "fp8_delayed", "fp8": "fp8", "bf16": "bf16", "fp16": "fp16",
}  # fmt: skip
_OF_MEGATRON_CORE = ("megatron-core", "megatron-bridge", "nemo", "nanotron")
_SHORT_STATES = {"moments bfloat16": 8, "sgd": 8}  # bytes of a weight, with the master weight
_DEDUPLICATING = ("hybridep", "deepep", "deduplicated")

MEMORY_SHARE = 0.94
"""Share of an NPU's memory that a run can use before its allocator fails."""


@dataclass(frozen=True)
class Case:
    """The inputs of a prediction. `assumed` says what the row left open and what stands for it."""

    model: ModelSpec
    plan: Plan
    cluster: Cluster
    assumed: tuple[str, ...]

    @property
    def step(self) -> Step:
        """The step as the predictor takes it."""
        return Step(self.model, self.plan, self.cluster)


def predicted_cases(
    rows: Iterable[MeasuredRow],
) -> Iterator[tuple[MeasuredRow, Case, Figures] | tuple[MeasuredRow, None, str]]:
    """Yield each row with its case and the figures of its step, or with None and why it has no prediction.

    The engine predicts all of them in one batch.
    """
    tried = [(row, _case_or_reason(row)) for row in rows]
    found = figures([case.step for _, case in tried if isinstance(case, Case)])
    for row, case in tried:
        figure = next(found) if isinstance(case, Case) else case
        if isinstance(case, Case) and isinstance(figure, Figures):
            yield row, case, figure
        else:
            yield row, None, str(figure)


def _case_or_reason(row: MeasuredRow) -> Case | str:
    try:
        return case_of(row)
    except DseError as error:
        return str(error)


def case_of(row: MeasuredRow) -> Case:
    """Return the case of a row.

    Raises:
        Inexpressible: a degree is unknown, or no plan runs so.
        InputError: the accelerator is unknown.
    """
    if row.missing:
        what = f"{', '.join(row.missing)}: empty"
        raise Inexpressible(f"{what}; a row is compared with a prediction only if it says them")
    if row.task not in ("", "pretrain", "sft", "lora"):
        raise Inexpressible(f"task is '{excerpt(row.task)}'; allowed are pretrain, sft and lora")
    assumed: list[str] = []
    plan = _plan(row, assumed)
    cluster = cluster_of(row, assumed)
    plan = replace(plan, precision=_precision(row, cluster.accelerator, assumed))
    model = model_of(row, plan, assumed)
    case = _choices(Case(model, plan, cluster, ()), row, assumed)
    assumed += [f"{name} {excerpt(value)} is not modelled" for name, value in unmodelled(row).items()]
    return replace(case, assumed=tuple(assumed))


def _plan(row: MeasuredRow, assumed: list[str]) -> Plan:
    missing = [name for name in ("tp", "pp", "dp") if getattr(row, name) is None]
    if missing:
        raise Inexpressible(f"{', '.join(missing)}: unknown, and a plan needs all degrees")
    tp, pp, dp, cp = row.tp or 1, row.pp or 1, row.dp or 1, row.cp or 1
    if tp * pp * dp * cp != row.gpus:
        raise Inexpressible(f"tp x cp x dp x pp is {tp * cp * dp * pp}, but the row has {row.gpus} GPUs")
    framework, overlap_dp = framework_of(row)
    assumed.append(f"framework {framework}")
    schedule, chunks = schedule_of(row, assumed)
    sequence_parallel = tp > 1 and bool(row.sp)
    if tp > 1 and row.sp is None:
        sequence_parallel = framework in _OF_MEGATRON_CORE and row.seq // cp % tp == 0
        assumed.append(f"{'' if sequence_parallel else 'no '}sequence parallelism")
    exchanges = bool(row.experts) and (row.ep or 1) > 1
    zero = row.zero or 0
    if row.zero is None:
        assumed.append("zero 0")
    return Plan(
        dp=dp, tp=tp, pp=pp, cp=cp, ep=_ep(row, tp * cp * dp, assumed),
        micro_batch=row.mbs or 1,
        schedule=schedule,
        chunks=chunks,
        expert_tp=_expert_tp(row, tp * cp * dp, assumed),
        offload=_offload(row),
        shard_ranks=row.shard_ranks or 0,
        context=row.context.lower() or "ring",
        weight_sharded=zero == 3,
        zero=1 if zero == 3 else zero,
        sequence_parallel=sequence_parallel,
        attention="unfused" if row.attention.startswith("unfused") else "flash",
        overlap_tp=(overlaps_tp(row) if row.tp_comm_overlap is None else row.tp_comm_overlap) and tp > 1,
        overlap_dp=overlap_dp or zero == 3,  # which gathers ahead whatever a framework reduces early
        framework=framework,
        dispatcher="deduplicated" if row.dispatcher.lower() in _DEDUPLICATING and exchanges else "alltoall",
        overlap_ep=bool(row.a2a_overlap) and exchanges,
        graphs=_graphs(row),
        optimizer_bytes=next((n for name, n in _SHORT_STATES.items() if name in row.optimizer_detail), None),
        optimizer="sgd" if row.optimizer_detail.startswith("sgd") else "adam",
    )  # fmt: skip


def _ep(row: MeasuredRow, ranks: int, assumed: list[str]) -> int:
    """The degree of expert parallelism, at most the ranks of a stage: published tables have such slips."""
    ep = row.ep or 1
    if ep > ranks:
        assumed.append(f"ep {ranks} for {ep}, which is more than the ranks of a stage")
    return min(ep, ranks)


def _expert_tp(row: MeasuredRow, ranks: int, assumed: list[str]) -> int:
    """The tensor degree of experts; 0 is tp, which a row that does not say it has where it fits."""
    if not row.experts:
        return 0
    if row.expert_tp:
        return row.expert_tp
    if ranks % (min(row.ep or 1, ranks) * (row.tp or 1)):
        assumed.append("experts without tensor parallelism: ep and tp together do not fit")
        return 1
    return 0


def _graphs(row: MeasuredRow) -> str:
    """Parts that CUDA graphs capture, of a column such as full_iteration, or local:attn+moe_router."""
    captured = row.cuda_graph.lower().rpartition(":")[2]
    if re.search(r"\bfull", row.cuda_graph.lower()):
        return "full"
    if AXIS["graphs"].accepts(captured or "none"):
        return captured or "none"
    raise Inexpressible(f"cuda_graph is '{excerpt(row.cuda_graph)}'; it must be {AXIS['graphs'].allowed()}")


def _offload(row: MeasuredRow) -> str:
    noted = "activations" if "host offload of activations" in row.notes.lower() else "none"
    kind = row.offload.lower() or noted
    if found := re.fullmatch(r"activations of (\d{1,4}) layers to cpu", kind):
        kind = f"activations-{found[1]}"
    if not AXIS["offload"].accepts(kind):
        raise Inexpressible(
            f"offload is '{excerpt(row.offload)}', which is not modelled; known are none, optimizer, "
            "activations (those of all layers) and activations-N (of N layers)"
        )
    return kind


def _precision(row: MeasuredRow, accelerator: Accelerator, assumed: list[str]) -> str:
    text = row.precision.lower()
    for name in _PRECISIONS:
        if name in text:
            return _PRECISIONS[name]
    found = accelerator.format_16bit
    assumed.append(f"precision {found}" + (f" for {excerpt(row.precision)!r}" if text else ""))
    return found


def _choices(case: Case, row: MeasuredRow, assumed: list[str]) -> Case:
    """Recompute and size of micro-batches where the row leaves them open.

    Who publishes tuned runs says so when they recompute everything: what is not said is taken as none. Of
    micro-batches those are taken that the prediction finds fastest: a published run is a tuned one.
    """
    plan = case.plan
    words = row.recompute.lower().split()
    if words:
        kind = "none" if words[0] in ("none", "no") else words[0]
        if (
            "layer" in words or "op" in words
        ):  # torchtitan: every second layer, or every second product of each
            plan = replace(plan, recompute="full", recompute_layers=max(1, row.layers // plan.pp // 2))
            assumed.append("half of the layers recomputed")
        elif kind in AXIS["recompute"].choices:
            plan = replace(plan, recompute=_recomputed(row, kind, assumed))
        else:
            raise Inexpressible(f"recompute is {row.recompute!r}; known are none, selective, full")
    if not words:
        assumed.append("recompute none")
    plan = replace(plan, stages=_stages(row, plan, assumed))
    if row.mbs:
        return replace(case, plan=plan)
    return replace(case, plan=_fastest_that_fits(case, plan, _sizes(case, row), assumed))


def _stages(row: MeasuredRow, plan: Plan, assumed: list[str]) -> str:
    """How layers are shared out: as the row lists them, or says that ends count as layers, or evenly."""
    parts = plan.pp * plan.chunks
    if plan.pp == 1:
        return "even"
    if counts := layout_of(row, assumed):
        return text_of_layers(counts)
    if "loss count" in row.pipeline_layout:
        return "lighter-ends"
    if all((row.layers + extra) % parts for extra in (0, 1, 2)) and row.layers >= parts:
        assumed.append(f"{row.layers} layers in {parts} stages: one more in the middle ones")
        return "spread"
    return "even"


def _recomputed(row: MeasuredRow, kind: str, assumed: list[str]) -> str:
    """The modules that are computed again, where the row lists modules."""
    modules = [
        name for name in re.split(r"[+,; ]+", row.recompute_modules.lower()) if name not in ("", "none")
    ]
    if kind != "selective" or not modules:
        return kind
    has_mlp = not row.experts or bool(row.first_dense_layers)
    return recomputed(modules, has_mlp=has_mlp, assumed=assumed)


def _sizes(case: Case, row: MeasuredRow) -> list[int]:
    """Sizes of micro-batches to try, largest first."""
    batch = case.model.batch_size
    if batch % case.plan.dp:
        raise Inexpressible(f"the batch of {batch} does not go up in dp {case.plan.dp}")
    each = batch // case.plan.dp
    if row.microbatches:
        return [max(1, each // row.microbatches)]
    return [size for size in (16, 8, 4, 2, 1) if each % size == 0]


def _fastest_that_fits(case: Case, plan: Plan, sizes: list[int], assumed: list[str]) -> Plan:
    """The plan whose micro-batches are predicted fastest of those that fit; the smallest if none fits."""
    if len(sizes) == 1:
        assumed.append(f"micro-batches of {sizes[0]}: the batch over the ranks and their micro-batches")
        return replace(plan, micro_batch=sizes[0])
    room = MEMORY_SHARE * case.cluster.accelerator.usable_memory_bytes
    fits: list[tuple[float, Plan]] = []
    candidates = [replace(plan, micro_batch=size) for size in sizes]
    steps = [Step(case.model, candidate, case.cluster) for candidate in candidates]
    for candidate, found in zip(candidates, figures(steps), strict=True):
        if isinstance(found, Figures) and found.peak_memory_bytes <= room:
            fits.append((found.step_s, candidate))
    if not fits:
        assumed.append(f"micro-batches of {sizes[-1]}: the smallest, as none is predicted to fit")
        return replace(plan, micro_batch=sizes[-1])
    chosen = min(fits, key=lambda one: one[0])[1]
    assumed.append(f"micro-batches of {chosen.micro_batch}: the fastest that fit")
    return chosen
