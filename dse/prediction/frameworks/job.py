"""A training job as all frameworks mean it: a model, the plan that runs it, and what a framework lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.prediction.steps.plan import Plan

if TYPE_CHECKING:
    from dse.prediction.frameworks.reading.hosts import Hosts


@dataclass(frozen=True)
class Job:
    """A step of training: `model` says the sequences and the batch, `plan` the degrees and all else."""

    model: ModelSpec
    plan: Plan

    @property
    def npus(self) -> int:
        """The accelerators that the job occupies."""
        return self.plan.npus

    @property
    def layers_per_part(self) -> tuple[int, ...]:
        """The layers of each part of the pipeline, in the order of the model.

        Raises:
            InputError: `stages` is balanced, or its rule shares out no such number of layers.
        """
        from dse.native._engine import stage_layers

        plan = self.plan
        if plan.stages == "balanced":
            raise InputError("stages=balanced: its layers follow from a prediction")
        try:
            return tuple(stage_layers(self.model.num_layers, plan.pp, plan.chunks, plan.stages))
        except ValueError as error:
            raise InputError(str(error)) from None


@dataclass(frozen=True)
class Meaning:
    """The facts of a document in our terms.

    `plan` are fields of `Plan`, `model` keys of a model as conf/model has them. `assumed` tells what the
    document left open or says in other words.
    """

    plan: Mapping[str, Any]
    model: Mapping[str, Any]
    assumed: tuple[str, ...] = ()


class Lack(NamedTuple):
    """A field of a job that a framework cannot express: its value, and the nearest one that it can.

    `reason` says what the framework has instead.
    """

    field: str
    value: Any
    nearest: Any
    reason: str

    def __str__(self) -> str:
        """Say it in a sentence."""
        said = f"{self.field}={self.value}: {self.reason}"
        return said if self.nearest == self.value else f"{said}; the nearest is {self.field}={self.nearest}"


def lacking(plan: Plan, *rows: tuple[str, Any, str] | tuple[str, Any, str, bool]) -> Iterator[Lack]:
    """Yield the fields of a plan that a framework cannot express.

    A row has the field, the nearest value, the reason, and whether the field is one; without the latter it is
    one where it has another value.
    """
    for name, near, reason, *is_lack in rows:
        value = getattr(plan, name)
        if is_lack[0] if is_lack else value != near:
            yield Lack(name, value, near, reason)


class InexpressibleJobError(InputError):
    """A framework cannot run a job; `lacks` say why, and what would be nearest."""

    def __init__(self, framework: str, lacks: Iterable[Lack]) -> None:
        """Join the reasons."""
        self.lacks = tuple(lacks)
        super().__init__(f"{framework} cannot run this job: {'; '.join(map(str, self.lacks))}")


class RefusedJobError(InexpressibleJobError):
    """The rules of a framework refuse a job that it can express; `said` are their messages."""

    def __init__(self, framework: str, job: Job, said: Iterable[str]) -> None:
        """Join the messages."""
        super().__init__(framework, ())
        self.args = (f"{framework} does not run {job.plan.label()} of {job.model.name}: {'; '.join(said)}",)


@dataclass(frozen=True)
class Document:
    """A configuration before anything is completed.

    `settings` are values by the framework's own keys: options of a command line with their dashes, keys of
    nested files joined by dots. A value is an integer, a number, a text, true or false, None, or a list of
    these; an option without a value is true. `framework` and `version` are empty where nothing says them.
    `model` is the name under which the framework knows the model, `npus` the number of accelerators, None
    where nothing says it. `where` is how messages call the document. `notes` tell what was read in an
    unusual way. `hosts` is the host file by which ranks are placed, None where a script names none.
    `schedule` is the text of the file that says the pipeline's schedule, None where it is not there.
    `spelled` are keys as their file writes them, by the key in `settings`, where they differ.
    """

    settings: Mapping[str, Any]
    framework: str = ""
    version: str = ""
    model: str = ""
    npus: int | None = None
    where: str = "the command line"
    notes: tuple[str, ...] = field(default=())
    hosts: Hosts | None = None
    schedule: str | None = None
    spelled: Mapping[str, str] = field(default_factory=dict)
