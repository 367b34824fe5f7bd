"""Launch scripts of tests: the words of their commands."""

from __future__ import annotations

from dse.prediction.frameworks.reading import read_script


def words(text: str, **given: str) -> list[str]:
    """The words after the launched program of the only command."""
    (command,) = read_script(text, "a.sh", given).commands
    return list(command.words[1:])
