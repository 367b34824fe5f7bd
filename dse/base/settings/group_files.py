"""All files of a group of conf/ at once, without Hydra, which takes a tenth of a second for each."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from dse.base.files import conf_folder
from dse.base.plain_data import read_yaml


def files_of_group(group: str, schema: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the values of each file, over what config.yaml says of the group and the schema.

    Raises:
        InputError: a file cannot be read.
    """
    common = read_yaml(conf_folder() / "config.yaml").get(group) or {}
    base = _merged(dataclasses.asdict(schema()), common)
    for path in sorted((conf_folder() / group).glob("*.yaml")):
        yield path.stem, _merged(base, read_yaml(path))


def _merged(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with other values, groups key by key."""
    merged = copy.deepcopy(dict(base))
    for key, value in values.items():
        is_group = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _merged(merged[key], value) if is_group else value
    return merged
