"""Commands by name: the modules of this folder whose first line begins with `dse VERB …` in backquotes.

A new command is a new file; nothing is imported to find it.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from dse.base.settings.choices import Choices

_FIRST_LINE = re.compile(r'"""`dse (?P<name>[a-z]+)\b[^`]*`: (?P<meaning>[^"]*?)\.?(?:"""|$)')


@dataclass(frozen=True)
class Verb:
    """A command: `dse NAME`, or `python -m dse NAME`; `meaning` is the rest of its module's first line."""

    name: str
    module: str
    meaning: str

    def load(self) -> ModuleType:
        """Import the module, which has `main`."""
        return importlib.import_module(self.module)


def verbs(folder: Path = Path(__file__).parent) -> dict[str, Verb]:
    """Return all commands by name, in its order: modules, and packages with a module `__main__`."""
    found: dict[str, Verb] = {}
    for path in [*folder.glob("*.py"), *folder.glob("*/__main__.py")]:
        with path.open(encoding="utf-8") as file:
            first = _FIRST_LINE.match(file.readline().rstrip())
        if first:
            module = ".".join(path.relative_to(folder.parents[1]).with_suffix("").parts)
            found[first["name"]] = Verb(first["name"], module, first["meaning"])
    return dict(sorted(found.items()))


def registry() -> Choices:
    """The registry of what runs each command; packages may add others as entry points of `dse.commands`.

    An entry point names a function of the words behind the verb that returns an exit code.
    """
    own = {name: f"{verb.module}:main" for name, verb in verbs().items()}
    return Choices("verb", "dse.commands", own, key="verb")
