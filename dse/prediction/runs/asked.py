"""The keys of a training run as texts: how long, how reliable, which storage, which power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from dse.base.errors import InputError, excerpt
from dse.base.settings.values import Values, assignments, entries, number, one_of, whole
from dse.base.units import parse_count, parse_duration_s

if TYPE_CHECKING:
    from dse.inputs.accelerators import Cluster
    from dse.inputs.models import ModelSpec
    from dse.prediction.runs.checkpoints import Store
    from dse.prediction.runs.power import Energy, Facility
    from dse.prediction.runs.reliability import Reliability
    from dse.prediction.runs.run import Elastic, PlannedStops, Question, Run
    from dse.prediction.steps.plan import Plan

MOST_SPARES = 2**17
LENGTH = {
    "tokens": "tokens to train on, such as 15.6T",
    "steps": "instead of tokens: the number of steps",
    "loss": "instead of tokens: the loss to reach, by a scaling law",
    "law": "of loss: besiroglu (default) or hoffmann (Chinchilla)",
}
MACHINE = {
    "reliability": "failure rates: a name of conf/reliability, or a YAML file (default llama3)",
    "checkpoint": "async (default): the host copies, and writes while steps run; or sync",
    "storage_gbps": "10^9 bytes per second that storage takes from the whole job (default 100)",
    "node_gbps": "10^9 bytes per second from one node to storage (default 10)",
    "checkpoint_at": "storage (default), or nearer: peer (another node's memory), local (the node's own)",
    "near_gbps": "10^9 bytes per second of a node to its peer (default: its network) or own disk (memory)",
    "storage_every": "of checkpoints that are near: one of so many goes to storage (default: all that can)",
    "domains": "NPUs of domains that fail as a whole, such as rack=64,rail=32",
    "stop_every": "planned stops: the time between them, such as 90 d",
    "stop_for": "how long each planned stop takes, such as 8 h",
}
ONE_RUN = {
    "spares": "nodes that stand by, such as 16 or '2 %'; default: a failed node is replaced at once",
    "interval": "time between checkpoints, such as 30 min; default: the best",
    "price": "price of an hour of one NPU, or of each system: dgx_h100=2.5,dgx_b200=5",
}
ELASTIC = {
    "elastic": "without a spare: wait (default), shrink to fewer replicas, or best, the shorter of both",
    "reconfigure": "of elastic: the time to change the number of replicas (default: that of a restart)",
}
POWER = {
    "power": "phases (default): by computing, communicating and idling; or limit: that of boards",
    "host_w": "watts of a host for each of its NPUs, besides boards (default 0)",
    "pue": "power of the facility over that of its machines (default 1)",
    "grid": "kg of CO2 for a kWh: emissions are printed as well",
}
RUN_KEYS = {**LENGTH, **MACHINE, **ONE_RUN, **ELASTIC, **POWER}
"""All keys of one run and their meanings: those of `dse run`, and `run.KEY` of a sweep."""
ONE_LENGTH = ("tokens", "steps", "loss")
_OF_RATES = ("reliability", "domains")  # which one record of rates holds
_NEAR = ("near_gbps", "storage_every")
_PAIR = ("stop_every", "stop_for")


def asked_reliability(values: Values) -> Reliability:
    """Return the failure rates that are asked for."""
    from dse.prediction.runs.reliability import DOMAINS, parse_rate, reliability_named

    named = reliability_named(values.get("reliability", "llama3"))
    if "domains" not in values:
        return named
    pairs = [entry.partition("=") for entry in entries("domains", values["domains"])]
    given = {name: text for name, _, text in pairs}
    sizes = {name: whole({"domains": text}, "domains", 0, least=1) for name, text in given.items()}
    used = {parse_rate(one.rate, "rate").unit for one in named.components.values()}
    if unused := sorted(sizes.keys() - used):
        raise InputError(
            f"domains has '{excerpt(unused[0])}', but {named.name} has no rate of it: write one in a file of "
            f"your own, such as rate: 1 per 1000 rack-days (domains are {', '.join(DOMAINS)})"
        )
    return replace(named, domains={**named.domains, **sizes})


def asked_store(values: Values) -> Store:
    """Return where checkpoints go."""
    from dse.prediction.runs.checkpoints import KINDS, PLACES, Kind, Place, Store

    place = cast("Place", one_of(values, "checkpoint_at", PLACES))
    for key in _NEAR:
        if key in values and place == "storage":
            raise InputError(
                f"{key} has no effect on checkpoint_at=storage: write checkpoint_at=peer or local"
            )
    return Store(
        number(values, "storage_gbps", 100.0, above=0.0),
        number(values, "node_gbps", 10.0, above=0.0),
        cast("Kind", one_of(values, "checkpoint", KINDS)),
        place,
        number(values, "near_gbps", None, above=0.0),
        whole(values, "storage_every", 1, least=1),
    )


def asked_elastic(values: Values, *, has_spares: bool) -> tuple[Elastic, float | None]:
    """Return whether a run shrinks, and how long that takes; None is the time of a restart.

    With `has_spares` the number of spare nodes is known without a key.

    Raises:
        InputError: a key is wrong, or has no effect.
    """
    from dse.prediction.runs.run import ELASTIC as CHOICES

    elastic = cast("Elastic", one_of(values, "elastic", CHOICES))
    if elastic != "wait" and not has_spares:
        raise InputError(
            f"elastic={elastic} has no effect where a failed node is replaced at once: write spares=0"
        )
    if "reconfigure" not in values:
        return elastic, None
    if elastic == "wait":
        raise InputError("reconfigure has no effect on a run that waits: write elastic=best, or leave it out")
    return elastic, parse_duration_s(values["reconfigure"], "reconfigure")


def asked_facility(values: Values) -> Facility:
    """Return the hosts, the facility and the grid."""
    from dse.prediction.runs.power import Facility

    return Facility(
        number(values, "host_w", 0.0),
        number(values, "pue", 1.0, least=1.0),
        number(values, "grid", None),
        one_of(values, "power", ("phases", "limit")) == "limit",
    )


def asked_stops(values: Values) -> PlannedStops | None:
    """Return the planned stops.

    Raises:
        InputError: one of the two keys is missing, or no time.
    """
    from dse.prediction.runs.run import PlannedStops

    found = [key for key in _PAIR if key in values]
    if not found:
        return None
    if len(found) == 1:
        (missing,) = set(_PAIR) - set(found)
        raise InputError(f"{found[0]} has no effect without {missing}: give both")
    every_s, for_s = (parse_duration_s(values[key], key, least_s=1.0) for key in _PAIR)
    return PlannedStops(every_s, for_s)


def require_length(values: Values) -> None:
    """Refuse a run without an end, before anything is composed.

    Raises:
        InputError: no key says the length, or `law` stands without `loss`.
    """
    lengths = [key for key in ONE_LENGTH if key in values]
    if not lengths:
        raise InputError("tokens is missing; write tokens=15.6T, steps=N, or loss=2.0")
    if len(lengths) > 1:
        raise InputError(f"{' and '.join(lengths)} say one length each; leave one of them out")
    if "law" in values and "loss" not in values:
        raise InputError("law has no effect without loss: leave it out, or write loss=2.0")


def asked_steps(values: Values, model: ModelSpec) -> int:
    """Return the number of steps: as given, or those that make the tokens."""
    from dse.inputs.models.counts import parameters
    from dse.prediction.runs.scaling import LAWS

    if "steps" in values:
        return parse_count(values["steps"], "steps")
    if "loss" in values:
        law = LAWS[one_of(values, "law", tuple(LAWS))]
        counts = parameters(model)
        tokens = law.tokens(counts.active, number(values, "loss", 0.0, above=0.0))
        return max(1, round(tokens / (model.batch_size * model.seq_len)))
    return steps_of_tokens(parse_count(values["tokens"], "tokens"), model.batch_size, model.seq_len)


def steps_of_tokens(tokens: int, batch_size: int, seq_len: int) -> int:
    """Return the number of steps that see so many tokens."""
    return -(-tokens // (batch_size * seq_len))


@dataclass(frozen=True)
class AskedRun:
    """All of a run but its job: what `RUN_KEYS` say, checked; `values` are their texts."""

    values: Values
    reliability: Reliability
    store: Store
    stops: PlannedStops | None
    interval_s: float | None
    spares: int | None
    spares_share: float
    facility: Facility
    prices: Mapping[str, float]
    elastic: Elastic = "wait"
    reconfigure_s: float | None = None

    def price(self, system: str) -> float | None:
        """Return the price of an hour of an NPU; None where it is unknown."""
        return self.prices.get(system, self.prices.get(""))

    def identity(self) -> dict[str, Any]:
        """Return plain data on which its figures depend: the texts of its keys, and all failure rates."""
        texts = {key: text for key, text in self.values.items() if key not in _OF_RATES}
        return {**texts, "reliability": asdict(self.reliability)}

    @classmethod
    def of_identity(cls, identity: Mapping[str, Any]) -> AskedRun:
        """Return the run that `identity` was made of."""
        from dse.base.records import converted
        from dse.prediction.runs.reliability import Reliability

        texts = {key: text for key, text in identity.items() if key != "reliability"}
        rates = converted(identity["reliability"], Reliability, "reliability")
        return replace(asked_run(texts), reliability=rates)

    def question(self, model: ModelSpec, plan: Plan, cluster: Cluster) -> Question:
        """Return the run of a job on a cluster."""
        return self.of_steps(asked_steps(self.values, model), model, plan, cluster)

    def of_steps(self, steps: int, model: ModelSpec, plan: Plan, cluster: Cluster) -> Question:
        """Return the same of another length."""
        from dse.prediction.runs.run import Question

        return Question(
            *(model, plan, cluster, steps, self.reliability, self.store),
            interval_s=self.interval_s,
            spares=self.spares,
            spares_share=self.spares_share,
            stops=self.stops,
            elastic=self.elastic,
            reconfigure_s=self.reconfigure_s,
            facility=self.facility,
        )

    def energy(self, run: Run) -> Energy | None:
        """Return the energy of the run; None where no power is known and no key asks for it."""
        from dse.prediction.runs.energy import energy_of

        return energy_of(run, self.facility) if self.has_energy(run.question.cluster) else None

    def has_energy(self, cluster: Cluster) -> bool:
        """Return whether figures have an energy: the power of boards is known, or a key asks for it."""
        return cluster.accelerator.board_power_w is not None or bool(POWER.keys() & self.values.keys())


def asked_run(values: Values) -> AskedRun:
    """Return the run that the keys describe.

    Raises:
        InputError: a key is wrong, or no key says the length.
    """
    require_length(values)
    interval_s = None
    if "interval" in values:
        interval_s = parse_duration_s(values["interval"], "interval", least_s=1e-3)
    elastic, reconfigure_s = asked_elastic(values, has_spares="spares" in values)
    spares, share = _spares(values)
    return AskedRun(
        *(values, asked_reliability(values), asked_store(values), asked_stops(values), interval_s),
        spares=spares,
        spares_share=share,
        facility=asked_facility(values),
        prices=asked_prices(values, "price"),
        elastic=elastic,
        reconfigure_s=reconfigure_s,
    )


def _spares(values: Values) -> tuple[int | None, float]:
    """Return the spare nodes, and the share of those that compute besides, rounded up to whole nodes."""
    text = values.get("spares", "").strip()
    if text.endswith("%"):
        return 0, number({"spares": text[:-1].strip()}, "spares", 0.0, most=100.0) / 100
    return whole(values, "spares", None, most=MOST_SPARES), 0.0


def asked_prices(values: Values, key: str) -> dict[str, float]:
    """Return prices by system; a single one, of no name, is of every system."""
    if "=" not in values.get(key, ""):
        price = number(values, key, None)
        return {} if price is None else {"": price}
    found = {f"{key}.{name}": (name, text) for name, text in assignments(values, key).items()}
    return {name: number({path: text}, path, 0.0) for path, (name, text) in found.items()}
