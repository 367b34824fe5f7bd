"""All files of a group of conf/ at once, without Hydra, which takes a tenth of a second for each."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.files import conf_file, conf_folder, conf_names
from dse.base.plain_data import read_yaml
from dse.base.record_files import yaml_values
from dse.base.records import unknown_field


def files_of_group(group: str, schema: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the values of each file, over what config.yaml says of the group and the schema.

    Raises:
        InputError: a file cannot be read.
    """
    for name in conf_names(group):
        yield name, file_of_group(group, schema, conf_file(group, name))


def file_of_group(group: str, schema: type, path: Path) -> dict[str, Any]:
    """Return the values of one file, over what config.yaml says of the group and the schema.

    Raises:
        InputError: the file cannot be read, or holds no keys and values.
    """
    common = read_yaml(conf_folder() / "config.yaml").get(group) or {}
    base = merged(dataclasses.asdict(schema()), common)
    values = yaml_values(path, group)
    for key in values:
        if key not in base:
            raise InputError(f"{path}: {unknown_field(str(key), str(key), list(base))}")
    return merged(base, values)


def merged(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with other values, groups key by key."""
    found = copy.deepcopy(dict(base))
    for key, value in values.items():
        is_group = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if is_group else value
    return found
