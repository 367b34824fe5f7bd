"""The folder of a study: as its user names it, and the same one wherever the process goes."""

from __future__ import annotations

import contextlib
from pathlib import Path


class NamedFolder:
    """A folder whose relative name was read in the current folder of that moment."""

    def __init__(self, name: Path) -> None:
        """Remember where the name was read."""
        self._name = name
        self._place = name if name.is_absolute() else _current() / name

    @property
    def path(self) -> Path:
        """Its name as long as that leads there, for short messages; its full path elsewhere."""
        return self._name if _current() / self._name == self._place else self._place


def _current() -> Path:
    with contextlib.suppress(FileNotFoundError):  # removed, so nothing is in it
        return Path.cwd()
    return Path()
