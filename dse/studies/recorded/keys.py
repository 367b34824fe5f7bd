"""Keys of runs of traces: each is an axis, and a what-if becomes a changed system or a changed step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.settings.values import entries, number, one_of, whole
from dse.inputs.systems import CollectiveAlgorithms, SystemSpec
from dse.inputs.systems.validation import COLLECTIVES
from dse.simulation.recorded.classes import Speeds

if TYPE_CHECKING:
    from dse.simulation.recorded.changes import Changes

KERNELS = tuple([each.name for each in fields(Speeds)])

SYSTEM_KEYS = {
    "network_model": "congestion_unaware or congestion_aware (default: what case.json or the system says)",
    "links.bandwidth_factor": "links that are so many times as fast",
    "links.latency_added_ns": "added to every link; of a recorded step, to every communication",
    **{
        f"algorithms.{name}": "its algorithm in every network dimension: ring, direct, halvingDoubling, "
        "doubleBinaryTree, or synthesized"
        for name in COLLECTIVES
    },
}
STEP_KEYS = {
    "base_system": "the system on which the step was recorded: system then changes measured times in the "
    "ratio of both",
    "links.latency_per": "communication (default) or step of a ring: links.latency_added_ns is added to it",
    "stragglers": "recorded (default), median or fastest: ranks that run alike become equally fast",
    **{f"kernels.{name}": f"{name}: so many times as fast" for name in KERNELS},
    "work.factor": "all work takes so many times as long",
    "work.ranks": "the ranks that work.factor concerns: all (default), half, or numbers such as [0,1]",
    "overlap": "recorded (default), none or perfect: of communication with work",
    "ranks.factor": "so many times as many ranks of the same kind",
    "ranks.groups": "the groups that grow with ranks.factor (default: all)",
}
WHAT_IF_KEYS = {**SYSTEM_KEYS, **STEP_KEYS}
WHOLE = ("work.ranks", "ranks.groups")
"""Keys whose value is one list, and no axis."""


def changed_system(system: SystemSpec, asked: Mapping[str, str]) -> SystemSpec:
    """Return a system with other links or algorithms, as SYSTEM_KEYS say.

    Raises:
        InputError: a wrong value, or links that are in a file.
    """
    factor = number(asked, "links.bandwidth_factor", 1.0, above=0)
    added_ns = number(asked, "links.latency_added_ns", 0.0)
    fields: dict[str, Any] = {}
    if factor != 1.0 or added_ns:
        if any(dimension.file is not None for dimension in system.network):
            raise InputError(
                f"links.* change no links of a graph, and {system.name} has one; change its file"
            )
        fields["network"] = tuple(
            replace(
                dimension,
                bandwidth_gbps=dimension.bandwidth_gbps * factor,
                latency_ns=dimension.latency_ns + added_ns,
            )
            for dimension in system.network
        )
    return replace(with_algorithms(system, asked), **fields) if fields else with_algorithms(system, asked)


def with_algorithms(system: SystemSpec, asked: Mapping[str, str]) -> SystemSpec:
    """Return a system with other algorithms, each in every dimension, and another network model.

    Raises:
        InputError: there is no such algorithm or model.
    """
    chosen = {name: asked[f"algorithms.{name}"] for name in COLLECTIVES if f"algorithms.{name}" in asked}
    fields: dict[str, Any] = {}
    if chosen:
        names = {
            name: (text,) if text.startswith("one") else (text,) * len(system.network)
            for name, text in chosen.items()
        }
        own = {name: getattr(system.collectives, name) for name in COLLECTIVES}
        fields["collectives"] = CollectiveAlgorithms(**{**own, **names})
    if "network_model" in asked:
        fields["network_model"] = asked["network_model"]
    return replace(system, **fields) if fields else system


def changes_of(
    asked: Mapping[str, str], system: SystemSpec | None, base_system: SystemSpec | None
) -> Changes:
    """Return the changes of a recorded step that the keys ask for.

    Raises:
        InputError: a wrong value, or a key of systems without a system.
    """
    from dse.simulation.recorded.changes import Changes

    alone = [key for key in SYSTEM_KEYS if key in asked and not key.startswith("links.")]
    if alone and system is None:
        raise InputError(
            f"{alone[0]}={asked[alone[0]]} has no effect on measured times; write system=NAME too, and "
            "base_system=NAME of where the step was recorded"
        )
    speeds = {name: number(asked, f"kernels.{name}", 1.0, above=0) for name in KERNELS}
    groups = tuple(entries("ranks.groups", asked["ranks.groups"])) if "ranks.groups" in asked else ()
    return Changes(
        rank_factor=whole(asked, "ranks.factor", 1, least=1, most=2**16),
        grown_groups=groups,
        system=None if system is None else with_algorithms(system, asked),
        base_system=base_system,
        bandwidth_factor=number(asked, "links.bandwidth_factor", 1.0, above=0),
        latency_added_ns=whole(asked, "links.latency_added_ns", 0),
        latency_per=one_of(asked, "links.latency_per", ("communication", "step")),  # type: ignore[arg-type]
        stragglers=one_of(asked, "stragglers", ("recorded", "median", "fastest")),  # type: ignore[arg-type]
        speeds=Speeds(**speeds),
        work_factor=number(asked, "work.factor", 1.0, above=0),
        work_ranks=_ranks(asked.get("work.ranks", "all")),
        overlap=one_of(asked, "overlap", ("recorded", "none", "perfect")),  # type: ignore[arg-type]
    )


def _ranks(text: str) -> Any:
    if text in ("all", "half"):
        return text
    numbers = entries("work.ranks", text)
    return tuple([whole({"work.ranks": each}, "work.ranks", 0) for each in numbers])
