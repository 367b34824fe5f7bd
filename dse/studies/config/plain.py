"""Configurations of plain choices and values, composed as Hydra does; it takes half a second to load.

Whatever is not plain, or not right, is left to Hydra, which has the words for it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dse.base.files import conf_folder, read_text
from dse.base.lazy import yaml
from dse.base.settings.grammar import plain_word
from dse.base.settings.keys import plain_defaults
from dse.studies.config.own_files import REFERENCE
from dse.studies.config.schema import ConfigSchema

_NOT_PLAIN = ("@package", "defaults:", REFERENCE)  # in files of choices


def plain_values(overrides: Iterable[str]) -> dict[str, Any] | None:
    """Return the values that conf/ and overrides yield; None where that is for Hydra to say."""
    words = [plain_word(line) for line in overrides]
    base = _base()
    if base is None:
        return None
    choices = {group: name for entry in base.pop("defaults")[2:] for group, name in entry.items()}
    others = []
    for word in words:
        if word is None:
            return None
        if word.key in choices:
            choices[word.key] = word.value()
        elif (conf_folder() / word.key).exists():
            return None
        else:
            others.append(word)
    for group, name in choices.items():
        if name is None:
            continue
        found = _choice(group, name) if isinstance(name, str) else None
        if found is None:
            return None
        _merge(base.setdefault(group, {}), found)
    if not all(_set(base, word.key.split("."), word.value()) for word in others):
        return None
    return base


def _base() -> dict[str, Any] | None:
    """The defaults of the schema, and conf/config.yaml over them; None where that cannot be read."""
    values, own = plain_defaults(ConfigSchema), _read(conf_folder() / "config.yaml")
    if own is None:
        return None
    _merge(values, own)
    return values


def _choice(group: str, name: str) -> dict[str, Any] | None:
    """Return the values of a choice; None where no plain file of conf/ has them."""
    folder = conf_folder() / group
    path = folder / f"{name}.yaml"
    if path.parent != folder or not path.is_file() or any(word in read_text(path) for word in _NOT_PLAIN):
        return None
    return _read(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = yaml.load(read_text(path), _loader())
    except (yaml.YAMLError, ValueError):
        return None
    return found if isinstance(found, dict) else None


@functools.cache
def _loader() -> Any:
    """A loader of YAML for which 1e3 is a number, as it is for Hydra."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    exponent = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+", re.ASCII)
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", exponent, list("-+0123456789."))
    return Loader


def _merge(into: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = value


def _set(values: Any, path: list[str], value: Any) -> bool:
    """Set a value that is there, and no group; return whether that was possible."""
    *parents, last = path
    for name in parents:
        values = values.get(name) if isinstance(values, dict) else None
    if not isinstance(values, dict) or last not in values or isinstance(values[last], dict):
        return False
    values[last] = value
    return True
