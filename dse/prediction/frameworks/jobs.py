"""Documents as jobs: completed, judged by the framework's rules, and said in our terms; and jobs written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from dse.base.errors import InputError
from dse.base.records import shown
from dse.inputs.models import ModelSpec
from dse.prediction.frameworks.dialect import Dialect, dialect_named
from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job, Lack
from dse.prediction.frameworks.models import model_from, model_of_framework
from dse.prediction.frameworks.models import model_values as values_of_model
from dse.prediction.frameworks.rules import Breach, Facts, Rule, breaches, unchecked
from dse.prediction.frameworks.writing.ranks import degrees_of, order_on_nodes
from dse.prediction.steps.plan import Plan

_ALWAYS_MEANT = ("seq_len", "batch_size", "lora")
# The facts that rules ask of a model, by its key.
_FACTS_OF_MODEL = {
    "num_layers": "layers",
    "d_model": "hidden",
    "num_heads": "heads",
    "num_kv_heads": "kv_heads",
    "seq_len": "seq",
    "d_ff": "ffn",
    "prediction_layers": "mtp",
}


@dataclass(frozen=True)
class Reading:
    """A document as a job, with the framework's judgement.

    `facts` are complete. `broken` are rules that it breaks; without those that are no warnings it is legal.
    `unchecked` are rules that could not be checked, with the facts that are unknown. `job` is None where the
    document does not say enough, or says what is not modelled: `no_job` tells. `kept` are settings that
    change no prediction.
    """

    document: Document
    dialect: Dialect
    facts: Facts
    broken: tuple[Breach, ...]
    unchecked: Mapping[str, list[str]]
    kept: Mapping[str, Any]
    assumed: tuple[str, ...]
    job: Job | None
    no_job: str = ""

    @property
    def is_legal(self) -> bool:
        """Whether the framework runs it, as far as its rules could be checked."""
        return all(breach.is_warning for breach in self.broken)


def read_job(
    document: Document,
    model: str = "",
    *,
    batch: int | None = None,
    micro_batch: int | None = None,
    seq: int | None = None,
) -> Reading:
    """Read a document as a job.

    `model` is a name of conf/model or a file; else the document names or describes it. `batch`, `micro_batch`
    and `seq` stand for what the document does not say.

    Raises:
        InputError: an unknown framework, model or kind of value; the document says another batch.
    """
    dialect = dialect_named(document.framework)
    stated, kept = dialect.stated(document)
    known = _model(document, model)
    facts = {**_facts_of_model(known), **stated}
    for name, asked in (("gbs", batch), ("mbs", micro_batch), ("seq", seq)):
        if asked is not None and stated.get(name, asked) != asked:
            raise InputError(f"{document.where} says {name} {stated[name]}, and the command {asked}")
        facts[name] = facts.get(name) if asked is None else asked
    facts = {name: value for name, value in facts.items() if value is not None}
    full = dialect.derive(facts)
    rules = list(dialect.table.rules.values())
    found = [_breach(dialect, rule, near, full) for rule, near in breaches(rules, facts, dialect.derive)]
    reading = Reading(document, dialect, full, tuple(found), unchecked(rules, full), kept, (), None)
    if not reading.is_legal:
        return replace(reading, no_job="it is illegal")
    if problem := _other_model(document, dialect, known):
        return replace(reading, no_job=problem)
    try:
        meaning = dialect.meaning(full)
        job = Job(model_from({**known, **_stated_model(meaning.model, known, stated)}), Plan(**meaning.plan))
    except InputError as error:
        return replace(reading, no_job=str(error))
    job, placed = _placed(job, document)
    return replace(reading, job=job, assumed=(*meaning.assumed, *placed, *_of_others(kept, dialect)))


def _other_model(document: Document, dialect: Dialect, known: Mapping[str, Any]) -> str:
    """Return why the model is unknown, where a key makes another one than the sizes say."""
    if "num_layers" in known:
        return ""
    for key, described in dialect.table.reshapes.items():
        value = document.settings.get(key)
        if value and value not in described:
            chosen = f"{key} {value if isinstance(value, str) else shown(value)}"[:200]
            return f"{chosen} makes a model that no other key describes: give model=NAME or model=config.json"
    return ""


def _placed(job: Job, document: Document) -> tuple[Job, list[str]]:
    """The job with the order of axes that its host file gives it, or the order that is taken instead."""
    hosts, plan = document.hosts, job.plan
    if hosts is None:
        return job, []
    taken = f"ranks are placed in the framework's own order {plan.order}"
    if not hosts.names:
        return job, [f"{taken}: {hosts.file}, which says their nodes, cannot be read from here"]
    nodes = hosts.nodes(job.npus)
    if nodes is None:
        return job, [f"{taken}: {hosts.file} has lines for another job than of {job.npus} GPUs"]
    order = order_on_nodes(plan.order, nodes, degrees_of(plan))
    if order is None:
        return job, [f"{taken}: {hosts.file} has them on nodes in no order of axes"]
    guessed = f"nodes are joined in the order in which {hosts.file} names them"
    return Job(job.model, replace(plan, order=order)), [] if hosts.is_ordered else [guessed]


def _model(document: Document, asked: str) -> dict[str, Any]:
    """The keys of the model that is asked for, or that the document names."""
    name = asked or document.model
    if not asked and not model_of_framework(name):
        return {"name": name or "model"}
    values = values_of_model(name)
    return {**values, "micro_batches": None}


@lru_cache(maxsize=64)
def facts_of_model(model: ModelSpec) -> Mapping[str, Any]:
    """Return the facts that rules ask of a model."""
    return _facts_of_model(asdict(model))


def facts_of_job(job: Job, dialect: Dialect, lacks: list[Lack]) -> Facts:
    """Return the complete facts that say a job; what the framework lacks is added to `lacks`."""
    stated = dialect.facts_of(job, lacks)
    present = {name: value for name, value in stated.items() if value is not None}
    return dialect.derive({**facts_of_model(job.model), **present})


def _facts_of_model(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {fact: values[key] for key, fact in _FACTS_OF_MODEL.items() if values.get(key) is not None}
    if values and "num_heads" in values:
        found.setdefault("kv_heads", values["num_heads"])
        found["grouped"] = found["kv_heads"] != values["num_heads"]
        found["vocab"] = values.get("output_dim")
        experts = values.get("experts") or {}
        found["experts"] = experts.get("count") or 0
        found["top_k"] = experts.get("top_k") or 1
        found["dense_layers"] = experts.get("dense_layers") or 0
        found["every"] = experts.get("every") or 1
        found["biases"] = bool(values.get("biases"))
    return found


def _stated_model(meant: Mapping[str, Any], known: Mapping[str, Any], stated: Facts) -> dict[str, Any]:
    """The keys of a document's model that count: only stated sizes where a named model says the rest."""
    if "num_layers" not in known:
        return dict(meant)
    sizes = {key: stated[fact] for key, fact in _FACTS_OF_MODEL.items() if fact in stated}
    if "vocab" in stated:
        sizes |= {"input_dim": stated["vocab"], "output_dim": stated["vocab"]}
    return {**sizes, **{key: value for key, value in meant.items() if key in _ALWAYS_MEANT}}


def _breach(dialect: Dialect, rule: Rule, nearest: Mapping[str, tuple[Any, ...]], facts: Facts) -> Breach:
    keys = dialect.table.keys
    by_key = {keys[name].key if name in keys else name: values for name, values in nearest.items() if values}
    return Breach(rule.id, rule.by, rule.message(facts), rule.is_warning, by_key)


def _of_others(kept: Mapping[str, Any], dialect: Dialect) -> list[str]:
    matters = dialect.table.matters
    return [f"{key} is not modelled" for key, value in kept.items() if key in matters and value is not False]


@dataclass(frozen=True)
class Written:
    """A job in a framework's words: its settings, the version, and what was put in the place of a lack."""

    dialect: Dialect
    settings: Mapping[str, Any]
    job: Job
    lacks: tuple[Lack, ...] = ()


def write_job(
    job: Job, framework: str, *, nearest: bool = False, kept: Mapping[str, Any] | None = None
) -> Written:
    """Return a job as a framework's settings, with `kept` ones of a document.

    With `nearest`, what the framework lacks becomes the nearest that it has.

    Raises:
        InexpressibleJobError: the framework lacks something, and `nearest` is not asked or changes nothing.
    """
    dialect = dialect_named(framework)
    lacks: list[Lack] = []
    facts = dialect.facts_of(job, lacks)
    if job.plan.optimizer != "adam" and "optimizer" not in dialect.table.keys:
        lacks.append(Lack("optimizer", job.plan.optimizer, "adam", "no setting chooses it"))
    if not lacks:
        return Written(dialect, {**dialect.settings(facts), **(kept or {})}, job)
    if not nearest:
        raise InexpressibleJobError(framework, lacks)
    changed = nearest_job(job, lacks)
    if changed == job:  # such as layers that no number of stages divides
        raise InexpressibleJobError(framework, lacks)
    found = write_job(changed, framework, nearest=True, kept=kept)
    return replace(found, lacks=(*lacks, *found.lacks))


def nearest_job(job: Job, lacks: list[Lack]) -> Job:
    """Return the job with the nearest values of what a framework lacks.

    Raises:
        InexpressibleJobError: the model itself cannot be expressed.
    """
    of_model = [lack for lack in lacks if lack.field.startswith("model.")]
    if any(lack.field != _EXTRA_LAYERS for lack in of_model):
        raise InexpressibleJobError("the framework", of_model)
    model = replace(job.model, prediction_layers=of_model[0].nearest) if of_model else job.model
    changed = {lack.field: lack.nearest for lack in lacks if lack not in of_model}
    return Job(model, replace(job.plan, **changed))


_EXTRA_LAYERS = "model.prediction_layers"  # which a model trains without
