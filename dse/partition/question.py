"""The question of `dse partition`: the device of each node of a model, from keys to the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.base.displays import Displayed
from dse.base.errors import InputError
from dse.base.lazy import pd
from dse.base.settings.values import Values, entries, listed, whole
from dse.base.texts import counted
from dse.base.units import format_duration_ns
from dse.partition.files.answers import same_cost
from dse.partition.files.output import read_labels
from dse.partition.files.results import DeviceRow, comparison_text, device_rows, gap, text_of, to_json
from dse.partition.objectives import evaluate
from dse.partition.problem.arguments import MOST, measure
from dse.partition.problem.problem import Partition, PartitionProblem
from dse.partition.problem.replicas import Replicas, said
from dse.partition.problem.settings import Asked
from dse.partition.problem.validation import validate
from dse.partition.replication import Replicated, fastest_replicas
from dse.partition.search.partitioner import Limits, Partitioner, search_s
from dse.partition.search.partitioners import PARTITIONERS, partitioner_named
from dse.partition.step import PipelineStep, step_keys, step_of


def partitioned(asked: Sequence[Asked], values: Values, *, shows_step: bool = False) -> GraphPartition:
    """Answer the question for each number of replicas, and return the answer whose step is fastest.

    With `shows_step` the answer has the step of a pipeline also where `values` ask for none. With
    replicas=auto stages may have replicas of their own, and the cuts are those of the fastest step.

    Raises:
        InputError: a wrong value, a key without effect, or constraints that no partition keeps.
    """
    if asked[0].others is None:
        return _partitioned(asked[0], values, shows_step=shows_step)
    answers: dict[Replicas, GraphPartition] = {}
    problems: dict[Replicas, InputError] = {}
    for one in asked:
        try:
            answers[one.replicas] = _partitioned(one, values, shows_step=shows_step)
        except InputError as error:  # a share has not memory enough, or a single stage is left
            problems[one.replicas] = error
    found = fastest_replicas(asked[0], values)
    if found is not None:
        replicas = found.asked.replicas
        known = answers.get(replicas) or _partitioned(found.asked, values, shows_step=shows_step, found=found)
        answers[replicas] = _faster(known, found)
        problems.pop(replicas, None)
    if not answers:
        raise next(iter(problems.values()))
    compared = {replicas: answer.step.data["step_ns"] for replicas, answer in answers.items()}
    best = answers[min(compared, key=lambda replicas: compared[replicas])]
    notes = tuple(f"replicas={said(count)} is left out: {error}" for count, error in problems.items())
    return replace(best, steps_of_replicas=tuple(compared.items()), notes=(*best.notes, *notes))


def _faster(known: GraphPartition, found: Replicated) -> GraphPartition:
    """Return the answer with the cuts that were found, if their step is faster."""
    if known.step.data and known.step.data["step_ns"] <= found.step_ns:
        return known
    cost, best = evaluate(found.asked.problem, found.labels), known.best
    is_optimal = best.bound is not None and cost <= best.bound
    cuts = replace(best, labels=found.labels, cost=cost, optimal=is_optimal)
    note = "cuts are those of the fastest step found, not of the shortest bottleneck"
    return replace(known, found=(cuts, *known.found[1:]), step=found.step, notes=(*known.notes, note))


def _partitioned(
    asked: Asked, values: Values, *, shows_step: bool, found: Replicated | None = None
) -> GraphPartition:
    """Search with every partitioner that `values` name, and evaluate stored partitions.

    Where another partition was `found`, the one of shortest bottleneck may have no step.
    """
    limits = Limits(
        measure(values, "time_limit", None, above=True),
        whole(values, "seed", 0, most=MOST),
        whole(values, "restarts", None, least=1, most=MOST),
    )
    names = listed("partitioner", values.get("partitioner", "auto"))
    partitioners = [partitioner_named(name) for name in names]
    if "restarts" in values and not any(partitioner.starts_again for partitioner in partitioners):
        raise InputError(f"restarts={values['restarts']} has no effect on partitioner={','.join(names)}")
    validate(asked.problem)
    problem = asked.problem
    answers = [one.partition(problem, _own(limits, one, problem)) for one in partitioners]
    if asked.layers is not None:
        answers = [asked.layers.settled(problem, one) for one in answers]
    for name in entries("compare", values["compare"]) if "compare" in values else ():
        start = time.perf_counter()
        labels = read_labels(Path(name), asked.problem.graph.nodes)
        cost = evaluate(asked.problem, labels)
        answers.append(Partition(labels, cost, None, False, name, time.perf_counter() - start))
    ordered = _judged(problem, sorted(answers, key=lambda one: one.cost))
    notes = (*PARTITIONERS.notes(*names), *asked.notes, *ordered[0].notes)
    try:
        step = step_of(asked, ordered[0].labels, values, is_shown=shows_step)
    except InputError as error:
        if found is None and step_keys(values):
            raise
        step = PipelineStep()
        notes += () if found else (f"no step is shown: {error}",)
    return GraphPartition(asked, tuple(ordered), notes, step)


def _judged(problem: PartitionProblem, answers: Sequence[Partition]) -> list[Partition]:
    """Return answers with the strongest bound of all: what one search proves is true of each partition."""
    bound = max((one.bound for one in answers if one.bound is not None), default=None)
    if bound is None:
        return [*answers]
    best = bound + same_cost(problem, bound)
    return [
        replace(one, bound=one.cost if one.cost <= best else bound, optimal=one.cost <= best)
        for one in answers
    ]


@dataclass(frozen=True, repr=False, eq=False)
class GraphPartition(Displayed):
    """The device of each node of a model, and how good that is.

    `asked` is the question with its graph and devices. `found` has an answer of each partitioner that was
    asked, and each partition to compare, the least cost first. Costs under pipeline_bottleneck and latency
    are in ns. `step` is that of the pipeline, where one is asked for. With replicas=auto,
    `steps_of_replicas` has each number of replicas, or those of each stage, and its step in ns.
    """

    asked: Asked
    found: tuple[Partition, ...]
    notes: tuple[str, ...] = ()
    step: PipelineStep = field(default_factory=PipelineStep)
    steps_of_replicas: tuple[tuple[Replicas, float], ...] = ()

    @property
    def best(self) -> Partition:
        """The partition of least cost."""
        return self.found[0]

    @property
    def labels(self) -> tuple[int, ...]:
        """The device of each node, in the order of the graph."""
        return self.best.labels

    @property
    def cost(self) -> float:
        """The cost of the best partition."""
        return self.best.cost

    @property
    def bound(self) -> float | None:
        """A cost that no partition beats; None means that none is known."""
        return self.best.bound

    @property
    def gap(self) -> float | None:
        """By what share of its cost the best partition may miss the bound; None without a bound."""
        return gap(self.best)

    @property
    def is_optimal(self) -> bool:
        """Whether the cost is proven to be the least."""
        return self.best.optimal

    @property
    def partitioner(self) -> str:
        """The search that found the best partition."""
        return self.best.partitioner

    @cached_property
    def devices(self) -> Sequence[DeviceRow]:
        """Nodes, weight, memory and traffic of each device."""
        rows = device_rows(self.asked.problem, self.labels, is_time=self.asked.is_time)
        layers, layout = self.asked.layers, self.asked.layout
        if layers is None:
            counts = [layout.count(row.device) for row in rows]
            return [replace(row, replicas=count) for row, count in zip(rows, counts, strict=True)]
        memory = layers.memory_of(self.labels)
        return [
            replace(row, memory_bytes=own, memory_limit_bytes=layers.memory_bytes)
            for row, own in zip(rows, memory, strict=True)
        ]

    def data(self) -> dict[str, Any]:
        """Return the best partition as plain data."""
        replicas = {} if self.asked.replicas == 1 else {"replicas": self.asked.replicas}
        return {**to_json(self.asked.problem, self.best), **replicas}

    def text(self) -> str:
        """Return the answer as `dse partition` prints it, with the comparison of several partitions."""
        texts = [text_of(self.asked.problem, self.best, self.devices)]
        if len(self.found) > 1:
            texts.append(comparison_text(self.asked.problem, self.found))
        if self.asked.replicas != 1 or self.steps_of_replicas:
            texts.append(self._replicas_text())
        return "\n\n".join(texts)

    def _replicas_text(self) -> str:
        count, width = self.asked.replicas, self.asked.problem.devices.count
        own = (
            f"{counted(count, 'replica')} of the pipeline, each on {counted(width, 'device')}"
            if isinstance(count, int)
            else f"stages have {said(count)} replicas, each on a device; their times are shared by these"
        )
        if not self.steps_of_replicas:
            return own
        steps = [f"{said(other)}: {format_duration_ns(step)}" for other, step in self.steps_of_replicas]
        return f"{own}; steps by replicas are {', '.join(steps)}"

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per device."""
        columns = [field.name for field in fields(DeviceRow)]
        rows: pd.DataFrame = pd.DataFrame([asdict(row) for row in self.devices], columns=columns)
        return rows


def _own(limits: Limits, partitioner: Partitioner, problem: PartitionProblem) -> Limits:
    if partitioner.default_time_limit_s is None:
        return limits
    return limits.within(search_s(problem.graph))
