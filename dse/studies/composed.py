"""Models, systems and clusters of the configuration, for questions whose wings do not know conf/."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dse.base.errors import InputError

if TYPE_CHECKING:
    from dse.inputs.models import ModelSpec
    from dse.inputs.strategies import Strategy
    from dse.inputs.systems import SystemSpec
    from dse.partition.graphs.layers import Layers
    from dse.partition.graphs.sources.source import Rates
    from dse.partition.problem.devices import Composed
    from dse.partition.problem.problem import Devices
    from dse.studies.space.constraints import Constraints


def model_of(overrides: Sequence[str]) -> ModelSpec:
    """Return the model that overrides such as `model=tiny model.seq_len=64` yield.

    Raises:
        InputError: as `compose_config`.
    """
    from dse.studies.config import compose_config

    return compose_config(overrides).model


def system_of(overrides: Sequence[str]) -> SystemSpec:
    """Return the system that overrides such as `system=torus_4x4 system.network.0.npus=8` yield.

    Raises:
        InputError: as `compose_config`.
    """
    from dse.studies.config import compose_config

    return compose_config(overrides).system


def training_strategies(
    model: ModelSpec, system: SystemSpec, launchable: str | None = None
) -> Sequence[Strategy]:
    """Return the strategies that `dse sweep` tries where it predicts a model on a cluster; none may fit.

    `launchable` names a framework that must be able to run them.

    Raises:
        InputError: there is no such framework.
    """
    from dse.studies.space.settings import framework_that_runs

    assert system.accelerator is not None
    name = "training" if model.experts is None else "training_moe"
    framework = framework_that_runs(launchable) or system.accelerator.framework
    selection = _selection(name, "bf16" in system.accelerator.peak_tflops, framework, launchable)
    try:
        return selection.strategies(model, system)
    except InputError:  # no combination satisfies the constraints
        return ()


@functools.cache
def _selection(name: str, has_bf16: bool, framework: str, launchable: str | None) -> Constraints:
    """The selection of all calls: systems of one size share their lists of strategies."""
    from dse.studies.config import compose_config

    fp16 = [] if has_bf16 else ["space.precision=[fp16]"]
    only = [] if launchable is None else [f"space.launchable={launchable}"]
    of_framework = [f"space={name}", f"space.framework=[{framework}]"]
    return compose_config([*of_framework, *fp16, *only]).space.selection()


def devices_of_cluster(name: str) -> tuple[Devices, Rates] | None:
    """Return the devices of a file of conf/cluster, and how fast they are; None if there is no such file."""
    from dse.partition.graphs.sources.clusters import ClusterHost, cluster_devices
    from dse.planner.problem.named_clusters import cluster_names, named_cluster

    if name not in cluster_names():
        return None
    _, found, accelerators, _ = named_cluster(name)
    hosts = [
        ClusterHost(
            host.address, accelerators[host.type], host.gpus, host.intra_gbps, host.inter_gbps, host.island
        )
        for host in found.hosts
    ]
    return cluster_devices(name, hosts, found.between_islands_gbps)


def layers_of(overrides: Sequence[str]) -> Layers | None:
    """Return the layers of a model on a system, to be put on stages; None if its steps are simulated.

    The stages are the NPUs of the system over those of the strategy's other degrees.

    Raises:
        InputError: a wrong key, one that has no effect, or degrees that do not divide the NPUs.
    """
    from dse.partition.graphs.layers import Layers
    from dse.studies.config import compose_config
    from dse.studies.points import PREDICTION, point_of
    from dse.studies.points.methods.prediction import prediction_inputs

    config = compose_config(overrides)
    own, npus = config.strategy, config.system.npus
    if point_of(config, own).scenario.method is not PREDICTION:
        return None
    stages, rest = divmod(npus, own.dp * own.tp * own.cp)
    if own.pp != 1 or own.stages != "even":
        raise InputError("strategy.pp and strategy.stages are what a partition says; leave them out")
    if rest:
        raise InputError(
            f"strategy.dp*tp*cp is {own.dp * own.tp * own.cp}; it must divide the {npus} NPUs of "
            f"{config.system.name} into stages"
        )
    rule = "balanced" if stages > 1 else own.stages
    point = point_of(config, replace(own, pp=stages, stages=rule))
    return Layers(*prediction_inputs(point), float(config.system.memory_bytes))


def composed() -> Composed:
    """Return what the questions of partitions take from the configuration."""
    from dse.partition.problem.devices import Composed

    return Composed(model_of, system_of, devices_of_cluster, layers_of)
