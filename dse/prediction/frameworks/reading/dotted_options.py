"""Options and overrides with dots: --section.key of torchtitan, key=value of Hydra and MaxText."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dse.base.errors import InputError, excerpt, unknown
from dse.base.plain_data import yaml_data
from dse.prediction.frameworks.reading.options import grouped
from dse.prediction.frameworks.reading.values import readable, scalar, settled

_SUBCOMMAND = re.compile(r"([a-z][a-z0-9_.-]*):([A-Za-z0-9_.-]+)", re.ASCII)
_CHECKPOINTING = ("none", "selective", "full", "memory-budget")
_OVERRIDE = re.compile(r"(\+\+|\+|~)?([A-Za-z_][A-Za-z0-9_.@/-]*)(?:=(.*))?", re.DOTALL | re.ASCII)
_MOST_NODES = 100_000
_OVERRIDDEN = ("megatron-bridge", "maxtext")


def section_settings(words: Sequence[str], where: str, notes: list[str]) -> dict[str, Any]:
    """Return torchtitan's options by key: dots between sections, underscores within names, no dashes.

    --x.y without a value is true, --x.no-y false; a sub-command such as activation-checkpoint:full sets
    activation_checkpoint.

    Raises:
        InputError: a word belongs to no option; a kind of checkpointing is unknown.
    """
    settings: dict[str, Any] = {}
    for name, values in grouped(words, where):
        plain = [value for value in values if not _SUBCOMMAND.fullmatch(value)]
        commands = [match for value in values if (match := _SUBCOMMAND.fullmatch(value))]
        if name and not name.startswith("--"):
            raise InputError(
                f"{where}: {excerpt(readable(name))} is no option of torchtitan; they begin with --"
            )
        if not name and plain:
            raise InputError(
                f"{where}: '{excerpt(readable(plain[0]))}' belongs to no option; write --section.key value"
            )
        if name:
            key = name[2:].replace("-", "_")
            section, _, last = key.rpartition(".")
            if last.startswith("no_") and not plain and section:
                settings[f"{section}.{last[3:]}"] = False
            else:
                found = [scalar(settled(key, value, where, notes, ("torchtitan",))) for value in plain]
                settings[key] = True if not found else found[0] if len(found) == 1 else found
        for command in commands:
            section, kind = command[1].replace("-", "_"), command[2]
            if section == "activation_checkpoint" and kind not in _CHECKPOINTING:
                problem = f"{where}: {excerpt(command[0])} is unknown"
                raise InputError(
                    unknown(problem, kind, _CHECKPOINTING, f"allowed are {', '.join(_CHECKPOINTING)}")
                )
            settings[section] = kind
    return settings


def override_settings(words: Sequence[str], where: str, notes: list[str]) -> dict[str, Any]:
    """Return overrides by key; + and ++ add a key, ~ takes one away: its value is None.

    `key: value` in two words, which shells make of a line of YAML, is read with a note.

    Raises:
        InputError: a word is no override; a value is malformed.
    """
    settings: dict[str, Any] = {}
    rest = list(words)[::-1]
    while rest:
        word = rest.pop()
        if word.startswith("--") and "=" in word:
            word = word[2:]
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*:", word, re.ASCII) and rest:
            settings[word[:-1]] = scalar(settled(word[:-1], rest.pop(), where, notes, _OVERRIDDEN))
            notes.append(
                f"{word} {settings[word[:-1]]} is read as {word[:-1]}={settings[word[:-1]]}; write it so"
            )
            continue
        found = _OVERRIDE.fullmatch(word)
        if found is None or (found[3] is None and found[1] != "~"):
            raise InputError(f"{where}: '{excerpt(readable(word))}' is no override; write key=value")
        if found[1] == "~":
            settings[found[2]] = None
            notes.append(f"{found[2]} is taken away")
        else:
            settings[found[2]] = _value(
                settled(found[2], found[3], where, notes, _OVERRIDDEN), f"{where}: {found[2]}"
            )
    return settings


def _value(text: str, where: str) -> Any:
    """A value of an override: lists are written as in YAML."""
    if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if not text.startswith("[") or not text.endswith("]"):
        return scalar(text) if text else None
    value = yaml_data(text, where, _MOST_NODES)
    return (
        [scalar(entry) if isinstance(entry, str) else entry for entry in value]
        if isinstance(value, list)
        else text
    )
