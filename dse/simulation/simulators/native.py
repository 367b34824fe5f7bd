"""The engine as a simulator: congestion-unaware and -aware, to the cycle of either ASTRA-sim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.cancellation import current_cancellation
from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.base.records import alike
from dse.inputs.strategies import TRACED, Strategy
from dse.inputs.systems import Dimension, SystemSpec, read_graph, read_routes
from dse.inputs.systems.validation import COLLECTIVES
from dse.native import _engine
from dse.simulation.simulators.base import BlockedNode, Outcome, RankMetrics, Simulator
from dse.simulation.simulators.recording import Recording, recording_of
from dse.simulation.simulators.settings import EngineMethod, SimulatorSettings
from dse.simulation.simulators.synthesized import add_schedules, names_for_engine, uses_synthesis
from dse.simulation.workloads import DEFAULT_REFERENCE, GeneratedWorkload, IssueOrder, Reference, Workload


def make(settings: SimulatorSettings) -> Simulator:
    """Return the simulator that `simulator=native` names."""
    assert settings.engine is not None
    return NativeSimulator(settings.engine, settings.reference)


@dataclass(frozen=True)
class NativeSimulator(Simulator):
    """Runs in this process, releases the GIL, touches no file.

    `engine` auto simulates one rank of each class where its ranks are proven to do the same, and every rank
    otherwise; general always simulates every rank and every packet. Results are equal (docs/performance.md).
    `reference` is the version of ASTRA-sim that they equal.
    """

    engine: EngineMethod = "auto"
    reference: Reference = DEFAULT_REFERENCE

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        """See `Simulator.simulate`."""
        result = _engine.simulate(
            workload.native,
            prepared_system(system, workload, self.reference),
            _METHODS[self.engine],
            current_cancellation(),
        )
        return outcome_of(result, has_memory=system.track_local_memory)

    def simulate_all(
        self, workloads: Sequence[Workload], system: SystemSpec, most_s: float
    ) -> tuple[NDArray[np.bool_], Mapping[str, NDArray[Any]]]:
        """Run workloads that issue alike; return which ended, and the columns of a study of each.

        After `most_s` seconds those that are left are not run. Systems whose collectives depend on workloads
        have no such runs.

        Raises:
            SimulationTimeout: as `simulate`.
        """
        config = native_system(system, workloads[0].issue_order)
        config.set_reference(self.reference)
        ended, columns = _engine.simulate_steps(
            [each.native for each in workloads],
            config,
            _METHODS[self.engine],
            most_s,
            current_cancellation(),
        )
        return ended.astype(bool), columns

    def record(
        self,
        workload: Workload,
        system: SystemSpec,
        *,
        strategy: Strategy | None = None,
        ranks: Sequence[int] = (),
        decisive_only: bool = False,
    ) -> Recording:
        """Run `workload` on `system` as `simulate` does, and keep what happened when on some ranks.

        Recorded are `ranks`; or, if there are none, the lowest rank of each class of the outcome, or with
        `decisive_only` of two of them: the one that finishes last and the one with the largest peak.
        `strategy` names the axes of communicator groups; a workload that was generated here knows its own.
        A deadlock is recorded too: what never ends has no end.

        Raises:
            InputError, SimulationError: as `simulate`; or a rank does not exist.
        """
        if strategy is None and isinstance(workload, GeneratedWorkload):
            native = workload.transformer.strategy
            strategy = Strategy(**{key: getattr(native, key) for key in TRACED})
        recording = _engine.record(
            workload.native,
            prepared_system(system, workload, self.reference),
            _METHODS[self.engine],
            list(ranks),
            decisive_only,
            current_cancellation(),
        )
        outcome = outcome_of(recording.result, has_memory=system.track_local_memory)
        return recording_of(recording, outcome, strategy)

    def identity(self) -> Mapping[str, str]:
        """See `Simulator.identity`; the method is not part of it, since results are equal."""
        chosen = {"reference": self.reference} if self.reference != DEFAULT_REFERENCE else {}
        return {"name": "native", **chosen}


_METHODS = {"auto": _engine.Method.AUTO, "general": _engine.Method.GENERAL}


def prepared_system(
    system: SystemSpec, workload: Workload, reference: Reference = DEFAULT_REFERENCE
) -> _engine.SystemConfig:
    """Return the engine's form of a system, with the schedules and traces that a workload needs on it.

    Raises:
        InputError: a file of a custom collective is missing or wrong.
    """
    config = native_system(system, workload.issue_order)
    config.set_reference(reference)
    if system.custom_collectives is not None:
        custom = system.custom_collectives
        config.read_custom(
            workload.native, dict(custom.prefixes), custom.of_nodes, custom.folder, current_cancellation()
        )
    if uses_synthesis(system):
        add_schedules(config, system, workload.native)
    return config


def native_system(system: SystemSpec, issue_order: IssueOrder = "reference") -> _engine.SystemConfig:
    """Return the engine's form of a system; `issue_order` holds where the system leaves it open.

    Raises:
        InputError: the system is one NPU.
    """
    if system.npus < 2:
        raise InputError(
            f"system {system.name} has 1 NPU, and a simulated network at least 2; model.fidelity=realistic "
            "predicts a step of one"
        )
    config = _engine.SystemConfig()
    for dimension in system.network:
        if dimension.file is not None:
            _add_graph(config, dimension)
            continue
        config.add_dimension(
            dimension.topology,
            dimension.npus,
            dimension.bandwidth_gbps,
            dimension.latency_ns,
            list(dimension.shape),
            dimension.routing,
        )
    for fault in system.faults:
        config.add_fault(
            fault.source,
            fault.destination,
            fault.removed,
            fault.bandwidth_factor,
            fault.latency_factor,
            fault.at_ns,
        )
    for each in system.npu_types:
        config.add_npu_type(each.npus, each.peak_tflops, each.memory_bandwidth_gbps)
    for derating in system.deratings:
        config.add_derating(derating.npu, derating.compute_factor, derating.memory_factor)
    config.congestion_aware = system.network_model == "congestion_aware"
    algorithms = system.collectives
    config.set_algorithms(
        *(names_for_engine(getattr(algorithms, name), len(system.network)) for name in COLLECTIVES)
    )
    config.set_issue_order(system.issue_order or issue_order)
    config.set_optimization(system.collective_optimization)
    memory = system.remote_memory
    config.set_remote_memory(memory.memory_type, memory.latency_ns, memory.bandwidth_bytes_per_ns)
    config.peak_tflops = system.peak_tflops
    config.memory_bandwidth_gbps = system.memory_bandwidth_gbps
    config.endpoint_delay_ns = system.scaled_endpoint_delay_ns
    config.active_chunks_per_dimension = system.active_chunks_per_dimension
    config.preferred_dataset_splits = system.preferred_dataset_splits
    config.roofline = system.roofline_enabled
    config.replay_only = system.replay_only
    config.track_memory = system.track_local_memory
    config.rendezvous = system.rendezvous_protocol
    config.queues_per_dimension = system.queues_per_dimension
    return config


def _add_graph(config: _engine.SystemConfig, dimension: Dimension) -> None:
    assert dimension.file is not None
    npus, path = dimension.npus, Path(dimension.file)
    graph = read_graph(path)
    routes = read_routes(Path(dimension.routes)) if dimension.routes is not None else ()
    if graph.devices < npus:
        raise InputError(f"{path}: has {graph.devices} nodes, but the dimension has {npus} NPUs")
    edges = [
        (link.source, link.destination, link.latency_ns, link.bandwidth_bytes_per_ns) for link in graph.links
    ]
    try:
        hops = [(route.source, route.destination, [*route.via, route.destination]) for route in routes]
        config.add_graph(npus, graph.devices, edges, hops, current_cancellation())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def outcome_of(result: _engine.SimulationResult, *, has_memory: bool) -> Outcome:
    """Return what the engine found; peaks of memory only if it tracked them."""
    return Outcome(
        status="deadlock" if result.deadlock else "ok",
        classes=tuple(_metrics(ranks, has_memory) for ranks in result.classes),
        class_of_rank=result.class_of_rank,
        blocked=tuple(alike(BlockedNode, node, peers=tuple(node.peers)) for node in result.blocked),
        events=result.events,
        obstacle=None if result.by_classes else result.obstacle,
    )


def _metrics(rank: _engine.RankResult, tracked: bool) -> RankMetrics | None:
    if not rank.finished:
        return None
    return alike(RankMetrics, rank, peak_memory_bytes=rank.peak_memory_bytes if tracked else None)
