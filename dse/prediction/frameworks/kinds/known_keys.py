"""Names that a framework knows in each group of its configuration, and unknown ones of a document."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from dse.base.errors import did_you_mean, excerpt
from dse.base.plain_data import read_yaml
from dse.prediction.frameworks.table import TABLES

Groups = Mapping[str, frozenset[str]]
TOP = "top"
_MOST_NAMED = 5


@functools.cache
def known_keys(framework: str) -> Groups:
    """Return the names by group; `top` has those outside of groups."""
    groups = read_yaml(TABLES / f"{framework}_keys.yaml")
    return {group: frozenset(str(names).split()) for group, names in groups.items()}


def unknown_keys(settings: Iterable[str], groups: Groups, group: str) -> list[str]:
    """Return the names of a group in dotted settings that it lacks; options with dashes are no names."""
    prefix = "" if group == TOP else f"{group}."
    inside = [key[len(prefix) :] for key in settings if key.startswith(prefix) and not key.startswith("--")]
    return [
        name for name in dict.fromkeys(key.partition(".")[0] for key in inside) if name not in groups[group]
    ]


def named(group: str, names: Iterable[str], groups: Groups) -> list[str]:
    """Return unknown names with their group, each with the nearest that is known."""
    prefix = "" if group == TOP else f"{group}."
    found = [f"{prefix}{excerpt(name)}{did_you_mean(name, groups[group]).rstrip('?')}" for name in names]
    return found[:_MOST_NAMED]


def facts_of_unknown(
    fact: str, settings: Mapping[str, Any], framework: str, groups: Iterable[str]
) -> dict[str, Any]:
    """Return how many names of groups are unknown, and which, as facts FACT_count and FACT_keys."""
    known = known_keys(framework)
    found: list[str] = []
    count = 0
    for group in groups:
        names = unknown_keys(settings, known, group)
        count += len(names)
        found += named(group, names, known)
    return {f"{fact}_count": count, f"{fact}_keys": ", ".join(found)}
