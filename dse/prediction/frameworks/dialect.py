"""A dialect: how one framework says what a job is. The interface of all of them, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from dse.base.errors import InputError
from dse.base.records import shown
from dse.base.settings.choices import Choices
from dse.prediction.frameworks.job import Document, Job, Lack, Meaning
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.table import Table, table_of
from dse.prediction.frameworks.writing.script import Blank, Starter


class Rendered(NamedTuple):
    """A command without its launcher, the files that it reads by name, and what its user fills in.

    `starter` is torchrun or accelerate for a process on each GPU, python for one on each node.
    """

    program: Sequence[str | Blank]
    files: Mapping[str, str]
    blanks: Mapping[str, str] = MappingProxyType({})
    starter: Starter = "torchrun"


class Dialect(ABC):
    """The configuration language of a framework; its table of keys and rules is tables/NAME.yaml."""

    name: ClassVar[str]
    constants: ClassVar[tuple[str, ...]] = ()
    """The files of conf/framework that predict it, the usual one first."""

    @cached_property
    def table(self) -> Table:
        """The keys, defaults and rules."""
        return table_of(self.name)

    def stated(self, document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the facts that a document states, and its other settings as they are.

        Raises:
            InputError: a value is of another kind; two keys state a fact differently.
        """
        facts: dict[str, Any] = {}
        others: dict[str, Any] = {}
        implied: dict[str, Any] = {}
        said: dict[str, str] = {}
        for key, value in document.settings.items():
            fact = self.table.by_key.get(key)
            if fact is None:
                others[key] = value
                continue
            entry = self.table.keys[fact]
            found = entry.value_of(value, document.where, key, document.spelled.get(key, key))
            if key in entry.means:
                implied |= {} if found is None else {fact: found}
                continue
            if fact in facts and facts[fact] != found:
                names = [document.spelled.get(name, name) for name in (key, said[fact])]
                raise InputError(
                    f"{document.where}: {names[0]} is {shown(value)}, but {names[1]} is "
                    f"{shown(document.settings[said[fact]])}; they are one setting, so write one value"
                )
            facts[fact], said[fact] = found, key
        facts = {**implied, **facts}
        if document.npus is not None:
            facts["npus"] = document.npus
        return {name: value for name, value in facts.items() if value is not None}, others

    def settings(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return facts under the framework's keys; those that hold by default are left out."""
        found = {}
        for name, entry in self.table.keys.items():
            value = None if entry.read_only else facts.get(name)
            if value is not None and (value != entry.default or name in self.always_written):
                found[entry.key] = entry.written(value)
        return found

    always_written: ClassVar[frozenset[str]] = frozenset()
    """Facts that are written although the framework has them by default: a reader looks for them."""

    @abstractmethod
    def derive(self, facts: Facts) -> Facts:
        """Complete stated facts: defaults of this version, and what follows from others."""

    @abstractmethod
    def meaning(self, facts: Facts) -> Meaning:
        """Say what completed facts mean in our terms.

        Raises:
            InputError: no plan here runs so.
        """

    @abstractmethod
    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """Return the facts that say a job; what the framework lacks is added to `lacks`."""

    @abstractmethod
    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """Return what runs settings; `model` is the name of the model in conf/model, or of its file."""

    def of_accelerator(self, accelerator: str) -> dict[str, Any]:
        """Return settings that a kind of accelerator asks for; it is a name of conf/accelerator or empty."""
        del accelerator
        return {}

    def environment(self, facts: Facts, accelerator: str) -> dict[str, str]:
        """Return the variables that matter; `accelerator` is a name of conf/accelerator or empty."""
        del facts, accelerator
        return {}


_KINDS = "dse.prediction.frameworks.kinds"
FRAMEWORKS = Choices(
    "framework",
    "dse.frameworks",
    {
        "megatron-lm": f"{_KINDS}.megatron_lm:MegatronLM",
        "megatron-bridge": f"{_KINDS}.megatron_bridge:MegatronBridge",
        "torchtitan": f"{_KINDS}.torchtitan:TorchTitan",
        "deepspeed": f"{_KINDS}.deepspeed:DeepSpeed",
        "maxtext": f"{_KINDS}.maxtext:MaxText",
        "accelerate": f"{_KINDS}.accelerate:Accelerate",
    },
    key="framework",
)
"""Dialects by name; packages add others as entry points of `dse.frameworks`."""


def dialect_named(name: str) -> Dialect:
    """Return a dialect.

    Raises:
        InputError: no such dialect; says which there are.
    """
    made: Dialect = FRAMEWORKS.load(name)()
    return made
