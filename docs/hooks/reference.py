"""`python -m docs.hooks.reference`: docs/reference.md from the schema and values of conf/."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from dse.base.files import conf_folder
from dse.studies.config.compose import compose_config
from dse.studies.config.schema import ConfigSchema, Entry, commands_text, entries, use_of

GROUPS = ("model", "system", "space", "search", "executor", "simulator", "workload")
_WITH_CHOICES = ("space", "search", "executor", "simulator", "workload")
_HEAD = """\
# Keys

<!-- made by `make reference` of the settings of each noun and conf/; a test compares -->
This page lists every key of the configuration, with the default that `conf/` gives it.
[Configuration](configuration.md) says how to override keys.

`N` is the number of an entry of a list, from 0. A key with the default null takes null too.
*Given* means that each entry or file must have the key.
A key that only some commands use says so; the others refuse it.
"""
_LONGEST = 100  # characters of a default that another choice of a group has
_LISTED = {"model": "models", "system": "systems"}  # pages that list the choices of a group
_NOTES = {
    "model": "The defaults are those of `model=llama70b`; a file of `conf/model` sets the sizes. In place of "
    "a file of `conf/model`,\n`model.file=config.json` reads a configuration of the Hugging Face Hub, see "
    "[models.md](models.md#hugging-face).",
    "system": "The defaults are those of `system=system1`, which has three equal dimensions; a file of "
    "`conf/system` sets\nname, network, collectives, peak performance and memory bandwidth. Units: "
    "[systems.md](systems.md#two-meanings-of-gbs).\n\nThe last column is the key of `system.json`, "
    "`network.yml` (n), `remote_memory.json` (r), or the command-line option (o) of\nASTRA-sim; it is empty "
    "where ASTRA-sim has none.",
    "space": "A key without a meaning has values of the same field of the strategy; null: all that fill the "
    "system.",
}


def _at(values: Any, name: str) -> Any:
    for part in name.split("."):
        if part == "N":
            return dataclasses.MISSING
        values = values[part]
    return values


def _shown(value: Any) -> str:
    if value == "???":
        return "*given*"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return f"[{', '.join(_shown(entry) for entry in value)}]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if value != "" else '""'


def _choices(group: str) -> list[str]:
    return sorted(path.stem for path in Path(conf_folder(), group).glob("*.yaml"))


def _defaults(entry: Entry, values: dict[str, Any], others: dict[str, dict[str, Any]]) -> str:
    """The default, and that of other choices of the group where it differs."""
    if entry.name in ("study", "memory_cap"):  # what null stands for depends on the other keys
        return "null"
    own = _at(values, entry.name)
    if own == {}:
        return "{}"
    if own is dataclasses.MISSING:
        return _shown(entry.default)
    texts = [_shown(own)]
    if not entry.name.endswith(".name"):
        under: dict[str, list[str]] = {}
        for choice, other in others.items():
            if (value := _at(other, entry.name)) != own:
                under.setdefault(_short(value), []).append(f"`{choice}`")
        texts += [f"{text} under {', '.join(choices)}" for text, choices in under.items()]
    return "; ".join(texts).replace("|", "\\|")


def _short(value: Any) -> str:
    text = _shown(value)
    return text if len(text) <= _LONGEST else "a list of their own"


def _meaning(entry: Entry, strategies: set[str]) -> str:
    """The meaning of a key; a note tells those of axes of the space, which are fields of the strategy."""
    field = entry.name.replace("space.", "strategy.", 1)
    if field == entry.name or field not in strategies:
        return entry.meaning
    return ""


def _is_plain(
    entry: Entry, values: dict[str, Any], others: dict[str, dict[str, Any]], strategies: set[str]
) -> bool:
    """Whether a key is an axis that every space has with one value, the default of its field."""
    field = entry.name.replace("space.", "strategy.", 1)
    if field == entry.name or field not in strategies:
        return False
    return all(_at(space, entry.name) == [_at(values, field)] for space in (values, *others.values()))


def reference() -> str:
    """The page as Markdown."""
    values = compose_config([]).resolved
    found = list(entries(ConfigSchema))
    strategies = {entry.name for entry in found if entry.name.startswith("strategy.")}
    lines = [_HEAD, *_section("", [entry for entry in found if "." not in entry.name], values, {}, set())]
    for group in ("strategy", *GROUPS):
        inside = [entry for entry in found if entry.name.startswith(f"{group}.")]
        others = {
            f"{group}={choice}": compose_config([f"{group}={choice}"]).resolved
            for choice in (_choices(group) if group in _WITH_CHOICES else [])
        }
        lines += ["", *_section(group, inside, values, others, strategies)]
    return "\n".join(lines) + "\n"


def _section(
    group: str,
    inside: list[Entry],
    values: dict[str, Any],
    others: dict[str, dict[str, Any]],
    strategies: set[str],
) -> list[str]:
    title = group.capitalize() if group else "Top level"
    astrasim = any(entry.astrasim for entry in inside)
    lines = [f"## {title}", ""]
    if group in GROUPS:
        choices = ", ".join(f"`{choice}`" for choice in _choices(group))
        page = _LISTED.get(group)
        lines += [f"Choices: see [{page}]({page}.md)." if page else f"Choices: {choices}.", ""]
    if group and (only := use_of(group)[0]):
        lines += [f"For {commands_text(only)} only.", ""]
    if group in _NOTES:
        lines += [_NOTES[group], ""]
    lines += ["Key|Type|Default|Meaning" + ("|ASTRA-sim" if astrasim else "")]
    lines += ["---|---|---|---" + ("|---" if astrasim else "")]
    for entry in inside:
        if _is_plain(entry, values, others, strategies):
            continue
        kind = entry.kind.replace("true or false", "true/false").replace("list of integers", "integers")
        kind = kind.replace("list of text", "texts")
        default = _defaults(entry, values, others)
        if default == "null":
            kind = kind.removesuffix(", null")
        cells = [f"`{entry.name}`", kind, default, _meaning(entry, strategies)]
        lines.append("|".join([*cells, entry.astrasim] if entry.astrasim else cells).removesuffix("|"))
    plain = [f"`{entry.name}`" for entry in inside if _is_plain(entry, values, others, strategies)]
    if plain:
        lines += ["", f"Every other field of the strategy is an axis with its default: {', '.join(plain)}."]
    return lines


if __name__ == "__main__":
    print(reference(), end="")
