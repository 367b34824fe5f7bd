"""A fixed, wide set of small points, and digests of their results; as a program it writes new ones down."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.base.errors import DseError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Derating, Dimension, LinkFault, RemoteMemory, SystemSpec
from dse.native import _engine
from dse.simulation.simulators.native import native_system
from dse.studies.points import DesignPoint, Scenario

RECORD = Path(__file__).with_name("result_digests.json")
_DIGITS = 16
_RANK_FIELDS = sorted(name for name in vars(_engine.RankResult) if not name.startswith("_"))

MODEL = ModelSpec("small", 256, 256, 64, 256, 4, 32, 16, 4)
REALISTIC = replace(MODEL, fidelity="realistic", num_kv_heads=2, gated_mlp=True)
MODELS = {
    "stage": MODEL,
    "odd sizes": ModelSpec("odd", 250, 130, 60, 100, 5, 30, 18, 5),
    "realistic": REALISTIC,
    "micro-batches": replace(REALISTIC, micro_batches=4),
    "full recompute": replace(REALISTIC, repairs=replace(REALISTIC.repairs, recompute="full")),
    "one repair": replace(MODEL, repairs=replace(MODEL.repairs, output_projection=True)),
}
STRATEGIES = (
    *(Strategy(dp=8), Strategy(tp=8), Strategy(sp=8), Strategy(pp=8)),
    *(Strategy(dp=2, tp=2, sp=2), Strategy(dp=2, tp=2, pp=2), Strategy(dp=4, sp=2)),
    *(replace(strategy, weight_sharded=True) for strategy in (Strategy(dp=8), Strategy(dp=2, sp=2, pp=2))),
    *(
        replace(strategy, activation_recompute=True)
        for strategy in (Strategy(tp=4, pp=2), Strategy(dp=4, tp=2))
    ),
    Strategy(dp=4, pp=2, weight_sharded=True, activation_recompute=True),
)
_SHAPES: dict[str, tuple[Dimension, ...]] = {
    "Ring": (Dimension("Ring", 8, 10, 50),),
    "FullyConnected": (Dimension("FullyConnected", 8, 10, 50),),
    "Switch": (Dimension("Switch", 8, 10, 50.5),),
    "Mesh2D": (Dimension("Mesh2D", 8, 10, 50, (4, 2)),),
    "Torus2D": (Dimension("Torus2D", 8, 10, 50, (4, 2)),),
    "Torus3D": (Dimension("Torus3D", 8, 10, 50, (2, 2, 2)),),
    "Hypercube": (Dimension("Hypercube", 8, 10, 50),),
    "FatTree": (Dimension("FatTree", 8, 10, 50, (2, 4, 2), "ecmp"),),
    "Dragonfly": (Dimension("Dragonfly", 8, 10, 50, (2, 2, 2)),),
    "Ring 4 x Switch 2": (Dimension("Ring", 4, 100, 50), Dimension("Switch", 2, 5, 500)),
    "2 x 2 x 2": tuple(Dimension(name, 2, 20, 50) for name in ("Ring", "FullyConnected", "Switch")),
}
_BASE = SystemSpec(
    name="small",
    network=_SHAPES["Ring"],
    collectives=CollectiveAlgorithms(("ring",), ("ring",), ("ring",), ("ring",)),
    peak_tflops=0.5,
    memory_bandwidth_gbps=20,
)
_AWARE = replace(_BASE, network_model="congestion_aware")
_SLOW = (Derating(3, 0.9), Derating(6, 1.0, 0.5))


def _algorithms(name: str, dimensions: int) -> CollectiveAlgorithms:
    names = (name,) * dimensions
    return CollectiveAlgorithms(
        names, names, names, names if name != "halvingDoubling" else ("ring",) * dimensions
    )


def _systems() -> dict[str, SystemSpec]:
    systems = {}
    for shape, network in _SHAPES.items():
        plain = replace(_BASE, network=network, collectives=_algorithms("ring", len(network)))
        systems[shape] = plain
        if shape not in ("Ring 4 x Switch 2", "2 x 2 x 2"):
            systems[f"{shape}, aware"] = replace(plain, network_model="congestion_aware")
    for name in ("direct", "direct2", "halvingDoubling", "oneRing", "oneDirect"):
        systems[name] = replace(_BASE, network=_SHAPES["Switch"], collectives=_algorithms(name, 1))
    tree = replace(_algorithms("ring", 1), all_reduce=("doubleBinaryTree",))
    three = {"network": _SHAPES["2 x 2 x 2"], "collectives": _algorithms("ring", 3)}
    return {
        **systems,
        "tree": replace(_BASE, network=_SHAPES["Switch"], collectives=tree),
        "baseline": replace(_BASE, **three, collective_optimization="baseline"),
        "few chunks": replace(_BASE, **three, preferred_dataset_splits=3, active_chunks_per_dimension=1),
        "queues": replace(_BASE, queues_per_dimension=2),
        "rendezvous": replace(_BASE, rendezvous_protocol=True),
        "endpoint": replace(_BASE, endpoint_delay_ns=100, injection_scale=0.5),
        "pool": replace(_BASE, remote_memory=RemoteMemory("MEMORY_POOL", 10, 10)),
        "replay": replace(_BASE, replay_only=True),
        "no roofline": replace(_BASE, roofline_enabled=False),
        "untracked": replace(_BASE, track_local_memory=False),
        "slow NPUs": replace(_BASE, deratings=_SLOW),
        "slow NPUs, safe": replace(_BASE, deratings=_SLOW, issue_order="safe"),
        "slow NPUs, safe, 3-D": replace(_BASE, **three, deratings=_SLOW, issue_order="safe"),
        "slow NPUs, aware, safe": replace(_AWARE, deratings=_SLOW, issue_order="safe"),
        "removed link": replace(_AWARE, faults=(LinkFault(0, 1, removed=True),)),
        "slow link later": replace(_AWARE, faults=(LinkFault(2, 3, bandwidth_factor=0.5, at_ns=50_000),)),
    }


SYSTEMS = _systems()


def _figures(value: Any) -> Any:
    """A figure as JSON; the last bits of a mean may depend on the compiler."""
    return f"{value:.6g}" if isinstance(value, float) else value


def _result(point: DesignPoint) -> Any:
    """How a point ends and every figure of every rank; what it is called and why it ends so is no result."""
    scenario = point.scenario
    try:
        workload = scenario.generator.generate(scenario.model, point.strategy, "stage")
        system = native_system(scenario.system, workload.issue_order)
        result = _engine.simulate(workload.native, system, _engine.Method.AUTO)
    except DseError as error:  # a point that fails has a result, too
        return type(error).__name__
    classes = [[_figures(getattr(ranks, name)) for name in _RANK_FIELDS] for ranks in result.classes]
    return [result.deadlock, list(result.class_of_rank), classes]


def digests() -> dict[str, str]:
    """A digest for each model and system, over all strategies."""
    found = {}
    for model in MODELS:
        for system in SYSTEMS:
            if model not in ("stage", "realistic") and system not in ("Ring", "2 x 2 x 2", "slow NPUs, safe"):
                continue
            scenario = Scenario("results", MODELS[model], SYSTEMS[system])
            results = [_result(DesignPoint(scenario, strategy)) for strategy in STRATEGIES]
            text = json.dumps(results, separators=(",", ":"))
            found[f"{model} on {system}"] = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    return found


def recorded() -> tuple[int, Mapping[str, str]]:
    """The version of results that was written down last, and the digests."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return record["result_version"], record["digests"]


def changed(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The names of what is not as it was; a point that is new has no result that could have changed."""
    return [name for name in old if new.get(name) != old[name]]


def main() -> int:
    """Write the digests down, unless results have changed and their version has not."""
    new = digests()
    if RECORD.exists():
        version, old = recorded()
        if changed(old, new) and version == _engine.RESULT_VERSION:
            print(
                f"results have changed: {', '.join(changed(old, new))}\n"
                f"raise kResultVersion, which is {version}, in engine/src/base/result_version.hpp, build the "
                "engine (make install), and try again"
            )
            return 1
    record = {"result_version": _engine.RESULT_VERSION, "digests": new}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
