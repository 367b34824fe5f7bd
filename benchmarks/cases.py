"""The fixed list of what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks import cut_graphs, planning_cases, synthesis_cases
from benchmarks.cut_graphs import SeededGraph
from benchmarks.planning_cases import Planned
from benchmarks.synthesis_cases import Synthesised
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.studies.config import compose_config

if TYPE_CHECKING:
    from benchmarks.search import Known, Question

PAIRS = (("system1", "llama70b"), ("system2", "gpt175b"))
BANDWIDTHS_GBPS = tuple(float(10 * step) for step in range(1, 51))


@dataclass(frozen=True)
class Case:
    """A design point with a name; `twin_of` names the large system that a small one stands for."""

    name: str
    model: ModelSpec
    strategy: Strategy
    system: SystemSpec
    twin_of: str = ""


@dataclass(frozen=True)
class AllReduce:
    """One ring all-reduce over a Mesh2D of `width` x `height` NPUs, nothing else."""

    width: int
    height: int
    size_bytes: int

    @property
    def name(self) -> str:
        """Such as "all-reduce of 16777216 bytes on Mesh2D 32x32"."""
        return f"all-reduce of {self.size_bytes} bytes on Mesh2D {self.width}x{self.height}"


@dataclass(frozen=True)
class Cases:
    """Everything that one run measures.

    `commands` of dse are timed as processes. `lab` are the points of `pairs`, `cold` are measured as the
    first point of a process. `recorded` are the points with recorded times of the references, run event by
    event. `large` run by classes only, `fallback` cannot. `twins` run both ways and must agree, on every
    rank. `series` grows in NPUs; those up to `general_up_to` run both ways. `spaces` are run once, to count
    how. `side_by_side` are run by the
    references. `mesh_all_reduce` and `congested` run on links that queue. Schedules are made for
    `synthesised`, plans for `planned`; `partitioned` real graphs are partitioned (None: all), and the graphs
    of seeds `cut`. Executors get `overhead_points` cheap points, then as many real ones as take
    `throughput_s`, the latter `throughput_rounds` times.
    `million_variants` are the numbers of peak rates and of memory bandwidths of a system; each pair of them
    has 336 points, all in one study. Sweeps of predictions have the overrides `predicted`, pages the
    choices `predicted_pages`. Searches get `search_samples` evaluations and `search_seeds` seeds for every
    question. Pipelines have `pipeline` stages and micro-batches; `agreements` random steps are compared with
    the engine. `trace_folders` are numbers of layers and strategies of 16 ranks.
    """

    pairs: Sequence[tuple[str, str]]
    commands: Sequence[tuple[str, ...]]
    lab: Sequence[Case]
    cold: Sequence[Case]
    recorded: Sequence[Case]
    large: Sequence[Case]
    fallback: Sequence[Case]
    twins: Sequence[Case]
    series: Sequence[Case]
    general_up_to: int
    spaces: Mapping[str, Sequence[Case]]
    sharing: Case
    bandwidths_gbps: Sequence[float]
    side_by_side: Sequence[Case]
    mesh_all_reduce: AllReduce
    congested: Sequence[Case]
    synthesised: Sequence[Synthesised]
    planned: Sequence[Planned]
    partitioned: int | None
    cut: Sequence[SeededGraph]
    overhead_points: int
    throughput_s: float
    throughput_rounds: int
    million_variants: tuple[int, int]
    predicted: Mapping[str, Sequence[str]]
    predicted_pages: Mapping[str, Sequence[str]]
    questions: Mapping[Known, Sequence[Question]]
    search_samples: int
    search_seeds: int
    pipeline: tuple[int, int]
    agreements: int
    trace_folders: Sequence[tuple[int, Strategy]]


_PREDICTED = ("system.nodes=2048", "model.batch_size=2048")
_FEW = ("space.context=[ring]", "space.precision=[bf16]")
_ORDERS = (
    *("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-tp-dp-cp-ep", "dp-tp-cp-ep-pp", "tp-ep-cp-dp-pp"),
    *("tp-dp-cp-ep-pp", "tp-pp-cp-ep-dp", "cp-tp-ep-dp-pp", "tp-dp-pp-cp-ep"),
)
_PLANS = ("space.zero=[0,1,2]", "space.precision=[bf16,fp8]", "space.overlap_dp=[false,true]")
_MORE_PLANS = ("space.context=[ring,ulysses,gather]", "space.offload=[none,optimizer,activations]")


def full() -> Cases:
    """Return the list of `make bench`."""
    from benchmarks.search import questions  # here, so that a measured process does not load it

    lab = [case for pair in PAIRS for case in _space(*pair)]
    return Cases(
        pairs=PAIRS,
        commands=[("accuracy",), ("calibrate", "--all"), ("calibrate", "--unseen")],
        lab=lab,
        cold=[_case(*pair, strategy) for pair in PAIRS for strategy in _every_kind()],
        recorded=[
            _case("system1", "llama70b", Strategy(dp=8, sp=8, activation_recompute=True)),
            _case("system1", "llama70b", Strategy(dp=32, sp=2)),
            _case("system2", "gpt175b", Strategy(dp=16, tp=4)),
        ],
        large=_large(),
        fallback=_fallback(),
        twins=_twins(),
        series=[_series_case(npus) for npus in _powers_of_two(64, 131_072)],
        general_up_to=1024,
        spaces=_spaces(),
        sharing=_case("system1", "llama70b", Strategy(dp=32, tp=2, activation_recompute=True)),
        bandwidths_gbps=BANDWIDTHS_GBPS,
        side_by_side=_side_by_side(),
        mesh_all_reduce=AllReduce(32, 32, 16 << 20),
        synthesised=synthesis_cases.full(),
        planned=planning_cases.full(),
        partitioned=None,
        cut=cut_graphs.GRAPHS,
        congested=[
            _congested("system1", "llama70b", Strategy(dp=8, sp=8, activation_recompute=True)),
            _congested("system1", "llama70b", Strategy(dp=4, tp=4, sp=4)),
        ],
        overhead_points=100_000,
        throughput_s=75,
        throughput_rounds=2,
        million_variants=(60, 50),
        predicted={
            "predicted sweep": _PREDICTED,
            "predicted sweep, nine orders": [*_PREDICTED, f"space.order=[{','.join(_ORDERS)}]"],
        },
        predicted_pages={"12,120 plans": _PLANS, "109,080 plans": [*_PLANS, *_MORE_PLANS]},
        questions=questions(),
        search_samples=300,
        search_seeds=10,
        pipeline=(64, 512),
        agreements=1000,
        trace_folders=[
            (16, Strategy(dp=4, tp=4)),
            (1080, Strategy(dp=4, tp=4)),
            (1080, Strategy(dp=2, tp=2, pp=4)),
        ],
    )


def quick() -> Cases:
    """Return a list of the same shape that takes seconds, for the test of this program."""
    from benchmarks.search import small_questions

    tiny = _case("torus_4x4", "tiny", Strategy(dp=4, sp=4))
    pipeline = _case("torus_4x4", "tiny", Strategy(dp=4, tp=2, pp=2))
    return Cases(
        pairs=[("torus_4x4", "tiny")],
        commands=[("accuracy",)],
        lab=[tiny, pipeline],
        cold=[tiny, pipeline],
        recorded=[tiny],
        large=[tiny],
        fallback=[replace(tiny, system=replace(tiny.system, queues_per_dimension=2))],
        twins=[replace(pipeline, twin_of="torus_4x4")],
        series=[tiny],
        general_up_to=16,
        spaces={"tiny on torus_4x4, lab": _space("torus_4x4", "tiny")},
        sharing=tiny,
        bandwidths_gbps=BANDWIDTHS_GBPS[:2],
        side_by_side=_side_by_side(),
        mesh_all_reduce=AllReduce(4, 4, 1 << 20),
        synthesised=synthesis_cases.quick(),
        planned=planning_cases.quick(),
        partitioned=1,
        cut=cut_graphs.GRAPHS[:1],
        congested=[_congested("torus_4x4", "tiny", Strategy(dp=4, sp=4))],
        overhead_points=20,
        throughput_s=0.01,
        throughput_rounds=1,
        million_variants=(2, 1),
        predicted={"predicted sweep": [*_PREDICTED, "space.zero=[1]", "space.offload=[none]", *_FEW]},
        predicted_pages={"1,010 plans": ()},
        questions=small_questions(),
        search_samples=8,
        search_seeds=2,
        pipeline=(8, 16),
        agreements=20,
        trace_folders=[(2, Strategy(dp=4, tp=4))],
    )


def _case(system: str, model: str, strategy: Strategy, *overrides: str) -> Case:
    config = compose_config([f"system={system}", f"model={model}", *overrides])
    return Case(f"{model} on {system}", config.model, strategy, config.system)


def _side_by_side() -> list[Case]:
    """A point without pipelines, one with two stages, one with four and sharded weights."""
    strategies = (Strategy(dp=4, sp=4), Strategy(dp=4, tp=2, pp=2), Strategy(dp=4, pp=4, weight_sharded=True))
    return [_case("torus_4x4", "tiny", strategy) for strategy in strategies]


def _every_kind() -> list[Strategy]:
    """Strategies for 64 NPUs with each axis and switch, alone and together."""
    return [
        Strategy(dp=64),
        Strategy(dp=32, tp=2, activation_recompute=True),
        Strategy(dp=8, sp=8, activation_recompute=True),
        Strategy(dp=16, tp=4, weight_sharded=True),
        Strategy(dp=32, pp=2),
        Strategy(dp=16, pp=4, weight_sharded=True),
        Strategy(dp=4, tp=2, sp=2, pp=4, weight_sharded=True, activation_recompute=True),
        Strategy(dp=2, tp=2, pp=16),
    ]


def _congested(system: str, model: str, strategy: Strategy) -> Case:
    case = _case(system, model, strategy, "system.network_model=congestion_aware")
    return replace(case, name=f"{case.name}, congestion-aware")


def _space(system: str, model: str, *overrides: str) -> list[Case]:
    config = compose_config([f"system={system}", f"model={model}", *overrides])
    strategies = config.space.strategies(config.model, config.system)
    return [Case(f"{model} on {system}", config.model, s, config.system) for s in strategies]


def _large() -> list[Case]:
    """All 80 layers; the batch grows with dp so that it divides."""
    return [
        _llama("torus_1k", Strategy(dp=128, tp=8), batch=1024),
        _llama("torus_1k", Strategy(dp=8, tp=8, sp=16, activation_recompute=True), batch=1024),
        _llama("torus_1k", Strategy(dp=16, tp=8, pp=8), batch=1024),
        _llama("switch_8k", Strategy(dp=1024, tp=8), batch=8192),
        _llama("switch_8k", Strategy(dp=128, tp=8, pp=8), batch=8192),
        _llama("switch_8k", Strategy(dp=8192), batch=8192),
        _llama("switch_128k", Strategy(dp=2048, tp=8, pp=8), batch=8192),
        _llama("switch_128k", Strategy(dp=2048, tp=8, pp=8, activation_recompute=True), batch=8192),
        _llama("switch_128k", Strategy(dp=2048, tp=8, pp=8, weight_sharded=True), batch=8192),
        _llama("switch_128k", Strategy(dp=128, tp=16, pp=64), batch=8192),
        _llama("switch_128k", Strategy(dp=131_072), batch=131_072),
    ]


def _fallback() -> list[Case]:
    """Points that run rank by rank: two queues a dimension; rings of 4 inside rings of 8."""
    lab = _case(
        "system1",
        "llama70b",
        Strategy(dp=8, sp=8, activation_recompute=True),
        *("system.queues_per_dimension=2", "system.name=system1_2_queues"),
    )
    return [
        replace(lab, name=f"llama70b on {lab.system.name}"),
        replace(_llama("torus_1k", Strategy(dp=4, tp=16, sp=16), batch=1024, layers=8), twin_of=""),
    ]


def _spaces() -> dict[str, list[Case]]:
    """Whole spaces, with pipelines and sharded weights where they are called full."""
    ring = "{topology:Ring,npus:8,bandwidth_gbps:100,latency_ns:50}"
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    rings_of_8 = [f"system.network=[{ring},{ring}]", *(f"system.collectives.{k}=[ring,ring]" for k in kinds)]
    layers = "model.num_layers=8"
    return {
        "llama70b on system1, lab": _space("system1", "llama70b"),
        "llama70b on system1, full": _space("system1", "llama70b", "space=full"),
        "gpt175b on system2, lab": _space("system2", "gpt175b"),
        "gpt175b on system2, full": _space("system2", "gpt175b", "space=full"),
        "8 layers on dgx16, full": _space("dgx16", "llama70b", "space=full", layers),
        "8 layers on a torus of 8 x 8, lab": _space("system1", "llama70b", layers, *rings_of_8),
        "8 layers on system1 with two queues, lab": _space(
            "system1", "llama70b", layers, "system.queues_per_dimension=2"
        ),
    }


def _twins() -> list[Case]:
    """Fewer layers, and fewer NPUs where the data-parallel axis lies; all else as in the large system."""
    return [
        _llama("torus_1k", Strategy(dp=128, tp=8), batch=1024, layers=2),
        _llama("torus_1k", Strategy(dp=16, tp=8, pp=8), batch=1024, layers=8),
        _llama("torus_1k", Strategy(dp=8, tp=8, sp=16, activation_recompute=True), batch=1024, layers=2),
        _llama("switch_8k", Strategy(dp=128, tp=8), batch=1024, layers=2, npus=(8, 16, 8)),
        _llama("switch_8k", Strategy(dp=128, tp=8, pp=8), batch=8192, layers=8),
        _llama("switch_8k", Strategy(dp=512), batch=512, layers=2, npus=(8, 8, 8)),
        _llama("switch_128k", Strategy(dp=32, tp=8, pp=8), batch=128, npus=(8, 2, 2, 64)),
        _llama(
            "switch_128k",
            Strategy(dp=32, tp=8, pp=8, activation_recompute=True),
            batch=128,
            layers=8,
            npus=(8, 2, 2, 64),
        ),
        _llama(
            "switch_128k",
            Strategy(dp=32, tp=8, pp=8, weight_sharded=True),
            batch=128,
            layers=8,
            npus=(8, 2, 2, 64),
        ),
        _llama("switch_128k", Strategy(dp=4, tp=16, pp=64), batch=256, layers=80, npus=(2, 2, 16, 64)),
        _llama("switch_128k", Strategy(dp=512), batch=512, layers=2, npus=(8, 4, 4, 4)),
    ]


def _llama(
    system: str, strategy: Strategy, *, batch: int, layers: int = 80, npus: tuple[int, ...] = ()
) -> Case:
    """Return Llama-70B on a system, or on one with the same dimensions of other sizes."""
    overrides = [f"model.batch_size={batch}", f"model.num_layers={layers}"]
    overrides += [f"system.network.{index}.npus={count}" for index, count in enumerate(npus)]
    overrides += [f"system.name={system}_{'x'.join(map(str, npus))}"] if npus else []
    is_twin = bool(npus) or layers < 80
    case = _case(system, "llama70b", strategy, *overrides)
    return replace(case, name=f"llama70b on {case.system.name}", twin_of=system if is_twin else "")


def _series_case(npus: int) -> Case:
    """Nodes of 8 behind one switch, tp 8 across nodes, dp for the rest; the same work for each rank."""
    case = _case("switch_8k", "llama70b", Strategy(dp=npus // 8, tp=8), "model.num_layers=2")
    node, switch = case.system.network[0], case.system.network[1]
    algorithms = ("direct", "halvingDoubling")
    system = replace(
        case.system,
        name=f"switch_{npus}",
        network=(node, Dimension(switch.topology, npus // 8, switch.bandwidth_gbps, switch.latency_ns)),
        collectives=CollectiveAlgorithms(algorithms, algorithms, algorithms, ("direct", "direct")),
    )
    model = replace(case.model, batch_size=npus)
    return Case(f"llama70b on {system.name}", model, case.strategy, system)


def _powers_of_two(first: int, last: int) -> list[int]:
    return [1 << power for power in range(first.bit_length() - 1, last.bit_length())]
