"""Failure rates of a machine by component, from conf/reliability or a file of the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.base.record_files import yaml_record
from dse.base.suggestions import unknown
from dse.base.texts import excerpt
from dse.base.units import parse_duration_s
from dse.inputs.accelerators import Cluster
from dse.prediction.runs.rates import DOMAINS, Rate, parse_rate
from dse.prediction.runs.repairs import FailureClass

GROUP = "reliability"


class NearCopy(NamedTuple):
    """A copy near the nodes: read in `load_s`, and left by failures of at most `survives_nodes` nodes."""

    load_s: float
    survives_nodes: int


@dataclass(frozen=True)
class Component:
    """One kind of failure: its rate, whether nodes must be replaced, and its own times, if any.

    With `takes_node` a failure takes a node, or all nodes of the domain that its rate is of.
    """

    rate: object  # a text; `parse_rate` says which units any other value lacks
    takes_node: bool
    detection: str | None = None
    restart: str | None = None


@dataclass(frozen=True)
class Reliability:
    """A file of conf/reliability.

    `detection` is the time from a failure to its being noticed, `restart` that until processes compute again
    but for reading the checkpoint, `repair` the mean time until a node is back. `domains` are the NPUs of a
    rack, a rail (NPUs of as many nodes, one of each) or an NVLink domain (default: those of a node).
    """

    name: str
    components: Mapping[str, Component]
    detection: str
    restart: str
    repair: str
    sources: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every rate and time; messages name the key."""
        for key in ("detection", "restart", "repair"):
            parse_duration_s(getattr(self, key), f"{GROUP}.{key}")
        if not self.components:
            raise InputError(f"{GROUP}.components is empty; give at least one, such as node: {{rate: …}}")
        for name, npus in self.domains.items():
            if name not in DOMAINS or npus < 1:
                raise InputError(
                    f"{GROUP}.domains has {excerpt(name)}: {npus}; allowed are {', '.join(DOMAINS)}, each "
                    "with the number of its NPUs"
                )
        for name, one in self.components.items():
            parse_rate(one.rate, f"{GROUP}.components.{name}.rate")
            for key in ("detection", "restart"):
                if (text := getattr(one, key)) is not None:
                    parse_duration_s(text, f"{GROUP}.components.{name}.{key}")

    @property
    def restart_s(self) -> float:
        """The time until processes compute again, but for reading the checkpoint."""
        return parse_duration_s(self.restart, f"{GROUP}.restart")

    @property
    def repair_s(self) -> float:
        """The mean time until a failed node is back."""
        return parse_duration_s(self.repair, f"{GROUP}.repair")

    def classes(
        self, cluster: Cluster, load_s: float, factor: float = 1.0, *, near: NearCopy | None = None
    ) -> tuple[FailureClass, ...]:
        """Return the failures of a job on all of `cluster`, which reads its checkpoint for `load_s`.

        `factor` multiplies every rate.

        Raises:
            InputError: a rate is that of a domain whose size is unknown.
        """
        return tuple([self._class(name, cluster, load_s, factor, near) for name in self.components])

    def _class(
        self, name: str, cluster: Cluster, load_s: float, factor: float, near: NearCopy | None
    ) -> FailureClass:
        one = self.components[name]
        rate = parse_rate(one.rate, name)
        restart_s = parse_duration_s(one.detection or self.detection, name)
        restart_s += parse_duration_s(one.restart or self.restart, name)
        units, nodes = self._units(name, rate, cluster)
        lost = nodes if one.takes_node else 0
        near_s = restart_s + near.load_s if near is not None and lost <= near.survives_nodes else None
        return FailureClass(name, factor * rate.per_second * units, restart_s + load_s, lost, near_s)

    def _units(self, name: str, rate: Rate, cluster: Cluster) -> tuple[int, int]:
        """Return how many of the rate's unit a cluster has, and the nodes that each takes with it."""
        known = units_of(cluster)
        if rate.unit in known:
            return known[rate.unit], 1
        size = self.domains.get(rate.unit, cluster.npus_per_node if rate.unit == DOMAINS[0] else None)
        if size is None:
            raise InputError(
                f"{GROUP}.components.{name}.rate is of a {rate.unit}, and its number of NPUs is unknown: "
                f"write domains={rate.unit}=64, or domains: {{{rate.unit}: 64}} in the file"
            )
        nodes = size if rate.unit == "rail" else -(-size // cluster.npus_per_node)
        return -(-cluster.npus // size), min(nodes, known["node"])

    def bounds(self, cluster: Cluster) -> tuple[float, float]:
        """From what to what share of the sum of all rates the true one is, with 80 % confidence.

        Counted rates of equal exposure are one Poisson count; rates without counts have no interval.
        """
        rates = [parse_rate(one.rate, name) for name, one in self.components.items()]
        units = [
            self._units(name, rate, cluster)[0] for name, rate in zip(self.components, rates, strict=True)
        ]
        weights = [rate.per_second * count for rate, count in zip(rates, units, strict=True)]
        known = [(rate, weight) for rate, weight in zip(rates, weights, strict=True) if rate.is_counted]
        total = sum(weights)
        if not known or total <= 0:
            return 1.0, 1.0
        events = sum(rate.events for rate, _ in known)
        low, high = Rate(events, 1.0, "job", is_counted=True).bounds
        share = sum(weight for _, weight in known) / total
        return 1 + share * (low - 1), 1 + share * (high - 1)


def units_of(cluster: Cluster) -> dict[str, int]:
    """Return how many of each unit a cluster has; a job has one of itself."""
    npus, nodes = cluster.npus, -(-cluster.npus // cluster.npus_per_node)
    nics = npus // cluster.nics.npus_each if cluster.nics is not None else npus
    return {"npu": npus, "node": nodes, "nic": nics, "job": 1}


def reliability_named(name: str) -> Reliability:
    """Return a file of conf/reliability, or one at a path.

    Raises:
        InputError: there is none, or a rate or time in it is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return yaml_record(Path(name).expanduser(), Reliability, GROUP)
    known = reliability_names()
    if name not in known:
        listing = f"conf/{GROUP} has {', '.join(known)}; or name a YAML file"
        raise InputError(unknown(f"{GROUP} is '{excerpt(name)}', which is unknown", name, known, listing))
    return yaml_record(conf_folder() / GROUP / f"{name}.yaml", Reliability, GROUP)


def reliability_names() -> tuple[str, ...]:
    """Return the names of the files of conf/reliability."""
    return tuple(sorted(path.stem for path in (conf_folder() / GROUP).glob("*.yaml")))
