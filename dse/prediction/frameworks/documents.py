"""A configuration of a framework as its file or command line says it: flat keys with plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.prediction.frameworks.reading.hosts import Hosts


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
