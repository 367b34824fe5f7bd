"""One way to spread a training step over NPUs: its axes are declared here, once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

from dse.base.files import conf_names
from dse.inputs.strategies.axes import AxisValue, StrategyAxis, axes_of, choice, count, degree, flag
from dse.inputs.strategies.precisions import PRECISIONS
from dse.inputs.strategies.schedules import SCHEDULES, installed_schedules

_SINCE = 5
_SINCE_STAGES = 6
_SINCE_RECIPES = 7
_RECOMPUTED = "core_attn|mla_up_proj|mlp|moe|moe_act|layernorm|shared_experts"
_CAPTURED = "attn|mlp|moe|moe_router|moe_preprocess|mamba"
_FRAMEWORK = "megatron-core"
_ORDERS = ["-".join(names) for names in itertools.permutations(("tp", "cp", "ep", "dp", "pp"))]


@dataclass(frozen=True)
class StrategyFields:
    """The axes of a strategy, in the order of labels, tables and ties; a row of a study has them too.

    The product of the degrees is the number of NPUs. Everything else is derived from a field's metadata:
    columns, labels, headings, keys of the configuration, spaces, rankings, reports. A plan of the predictor
    (`dse.prediction.steps.plan`) is a strategy, too.
    """

    dp: int = degree("degree of data parallelism")
    tp: int = degree("degree of tensor parallelism")
    sp: int = degree("degree of sequence parallelism")
    pp: int = degree("degree of pipeline parallelism", has_groups=False)
    cp: int = degree("degree of context parallelism", in_traces=False, since=_SINCE)
    weight_sharded: bool = flag("fsdp", "weights are stored sharded over dp and sp (FSDP)")
    activation_recompute: bool = flag(
        "recompute", "activations are recomputed in the backward pass", heading=("act.", "recomp.")
    )
    ep: int = count("ep", "degree of expert parallelism, inside dp, cp and tp", since=_SINCE)
    expert_tp: int = count("etp", "degree of tensor parallelism of experts; 0: tp", 0, least=0, since=_SINCE)
    micro_batch: int = count(
        "mb", "sequences of a micro-batch; 0: what model.micro_batches says, or 1", 0, least=0, since=_SINCE
    )
    schedule: str = choice(
        tuple(SCHEDULES),
        "order of micro-batches in the pipeline",
        default="1f1b",
        installed=installed_schedules,
        since=_SINCE,
        heading=("schedule", ""),
    )
    chunks: int = count("vp", "model chunks of a stage under schedule=interleaved", since=_SINCE)
    stages: str = choice(
        ("even", "spread", "lighter-last", "lighter-ends", "balanced"),
        "layers of pipeline stages: a rule, or how many each has, as 7-9x2-7",
        since=_SINCE_STAGES,
        word="{}-stages",
        heading=("stages", ""),
        pattern=r"\d{1,4}(x\d{1,4})?(-\d{1,4}(x\d{1,4})?)*",
        further="the layers of each part in the order of the model, such as 7-9x2-7",
    )
    zero: int = count(
        "zero",
        "stage of ZeRO without weight_sharded, which is stage 3",
        least=0,
        most=2,
        since=_SINCE,
    )
    shard_ranks: int = count(
        "hsdp",
        "ranks of dp that share a copy of the weights under weight_sharded (HSDP); 0: all",
        0,
        least=0,
        since=_SINCE_STAGES,
        heading=("shard", "ranks"),
    )
    sequence_parallel: bool = flag(
        "seq-par",
        "activations outside tensor-parallel blocks are sharded over tp (Megatron)",
        heading=("seq.", "par."),
        in_traces=False,
        since=_SINCE,
    )
    context: str = choice(
        ("ring", "ulysses", "gather"),
        "how keys and values meet under cp",
        since=_SINCE,
        heading=("context", ""),
    )
    recompute: str = choice(
        ("none", "selective", "full", "light"),
        "what the backward pass computes again; light: norms, activations of experts, latent projections",
        since=_SINCE,
        word="{}-recompute",
        heading=("recompute", ""),
        pattern=rf"({_RECOMPUTED})(\+({_RECOMPUTED}))*",
        further="modules as Megatron-Core names them, such as mla_up_proj+moe_act",
    )
    recompute_layers: int = count(
        "rl",
        "layers of a stage that are recomputed; 0: all",
        0,
        least=0,
        since=_SINCE,
        heading=("recomp.", "layers"),
    )
    precision: str = choice(
        tuple(PRECISIONS),
        "precision of products with weights: a format, or a recipe of scaling to it",
        since=_SINCE,
        heading=("prec.", ""),
    )
    attention: str = choice(
        ("flash", "unfused"), "kernels of attention", since=_SINCE, word="{}", heading=("attention", "")
    )
    overlap_tp: bool = flag(
        "overlap-tp",
        "tensor-parallel collectives may hide behind products",
        heading=("tp", "overlap"),
        in_traces=False,
        since=_SINCE,
    )
    overlap_dp: bool = flag(
        "no-overlap-dp",
        "data-parallel collectives may hide behind the backward pass",
        default=True,
        heading=("dp", "overlap"),
        in_traces=False,
        since=_SINCE,
    )
    offload: str = choice(
        ("none", "optimizer", "activations"),
        "what lives in the memory of the host",
        since=_SINCE,
        word="offload-{}",
        heading=("offload", ""),
        pattern=r"activations-\d{1,4}",
        further="activations-N for N layers of a stage",
    )
    order: str = choice(
        _ORDERS,
        "how ranks are placed, innermost first: tp, cp, ep, dp, pp in any order",
        since=_SINCE,
        heading=("order", ""),
    )
    framework: str = choice(
        [_FRAMEWORK, *[name for name in conf_names("framework") if name != _FRAMEWORK]],
        "what runs the step, a file of conf/framework",
        since=_SINCE_STAGES,
        heading=("framework", ""),
    )
    dispatcher: str = choice(
        ("alltoall", "deduplicated"),
        "a token is sent to each of its experts, or once to each NPU and domain of links",
        since=_SINCE_RECIPES,
        heading=("dispatcher", ""),
    )
    overlap_ep: bool = flag(
        "overlap-ep",
        "the exchange of tokens may hide behind another micro-batch",
        heading=("ep", "overlap"),
        in_traces=False,
        since=_SINCE_RECIPES,
    )
    graphs: str = choice(
        ("none", "full"),
        "what CUDA graphs capture: nothing, or the iteration",
        since=_SINCE_RECIPES,
        word="graphs-{}",
        heading=("graphs", ""),
        pattern=rf"({_CAPTURED})(\+({_CAPTURED}))*",
        further="modules as Megatron-Core names them, such as attn+moe_router",
    )

    def label(self) -> str:
        """Return a short name for tables and file names, such as "dp8 tp1 sp8 pp1 fsdp recompute"."""
        words = [axis.in_label(getattr(self, axis.name)) for axis in AXES]
        return " ".join([word for word in words if word])


AXES = axes_of(StrategyFields)
AXIS = {axis.name: axis for axis in AXES}
"""The axes by name."""

STRATEGY_FIELDS = tuple([axis.name for axis in AXES])
DEGREES = tuple([axis.name for axis in AXES if axis.is_degree])
OPTIONS = tuple([axis.name for axis in AXES if not axis.is_degree])
"""Flags, counts and choices."""

GROUPED = tuple([axis.name for axis in AXES if axis.has_groups and axis.in_traces])
"""The degrees along which ranks form communicator groups in traces."""

TRACED = tuple([axis.name for axis in AXES if axis.in_traces])
"""What workloads of traces know; the others are the predictor's."""

_PREDICTED = tuple([axis.name for axis in AXES if not axis.in_traces])
_PREDICTED_DEFAULTS = tuple([axis.default for axis in AXES if not axis.in_traces])

strategy_values = attrgetter(*STRATEGY_FIELDS)
"""The values of all axes of a strategy or a row, as a tuple."""

_degrees = attrgetter(*DEGREES)
_predicted_values = attrgetter(*_PREDICTED)


@dataclass(frozen=True)
class Strategy(StrategyFields):
    """Nothing is checked here: a bad strategy is a row with a status, see `dse.inputs.strategies.check`."""

    @property
    def npus(self) -> int:
        """Number of NPUs that the strategy occupies."""
        return math.prod(_degrees(self))

    def beyond_traces(self) -> list[str]:
        """Return the axes that only the predictor knows and that are not what they are by default."""
        values = _predicted_values(self)
        if values == _PREDICTED_DEFAULTS:
            return []
        pairs = zip(_PREDICTED, values, _PREDICTED_DEFAULTS, strict=True)
        return [name for name, value, default in pairs if value != default]


def shown_axes(strategies: Iterable[tuple[AxisValue, ...]]) -> tuple[StrategyAxis, ...]:
    """Return the axes that a table of strategies (their `strategy_values`) needs: the first and what differs.

    Axes of later releases are left out where all of the strategies have the default.
    """
    seen = [set(values) for values in zip(*strategies, strict=True)] or [set[AxisValue]()] * len(AXES)
    return tuple(
        [axis for axis, values in zip(AXES, seen, strict=True) if axis.since == 1 or values - {axis.default}]
    )
