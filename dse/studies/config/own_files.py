"""Files of the user's own as choices of a group: `system=PATH.yaml`, `model.file=config.json`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import is_file
from dse.base.plain_data import yaml_data, yaml_problem
from dse.inputs.models.huggingface import ModelFile, read_model
from dse.inputs.systems.fields import FILES_OF_DIMENSION

GROUPS = ("system", "model", "space", "search", "executor", "simulator", "workload", "experiment")
REFERENCE = "${"
_PREFIX = "file-"
_NAMED_BY_FILE = ("system", "model", "space")  # `name` of the other groups says what kind it is
_MAX_BYTES = 10_000_000
_MOST_NODES = 50_000  # Hydra takes some tenths of a millisecond for each
_PACKAGE = re.compile(r"^# *@package +(\S+)", re.MULTILINE)


def is_path(value: object) -> bool:
    """Return whether a choice of a group is written as a path instead of a name."""
    return isinstance(value, str) and ("/" in value or value.endswith((".yaml", ".yml", ".json")))


def add_choice(group: str, text: str) -> tuple[str, Path]:
    """Make a file a choice of a group for Hydra; return the name of the choice, and the file.

    A system, model or space without a `name` gets that of the file. Files that dimensions of a system name
    are looked for in its folder first.

    Raises:
        InputError: no such file, one that is no mapping in YAML, or a cluster or machine as a system.
    """
    from hydra.core.config_store import ConfigStore
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    path = Path(text).expanduser()
    where = f"{group}={text}"
    try:
        if not path.is_file():
            problem = "is a folder" if path.is_dir() else "is no file" if path.exists() else "no such file"
            raise InputError(f"{where}: {problem}; give a YAML file, or a name of conf/{group}")
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(
                f"{where}: has more than {_MAX_BYTES} bytes, too many for a file of conf/{group}"
            )
        content = path.read_text(encoding="utf-8")
        check_own_file(content, where)
        node: Any = OmegaConf.create(content)
    except OSError as error:
        raise InputError(f"{where}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    except YAMLError as error:
        raise InputError(f"{where}: {yaml_problem(error)}") from None
    except (OmegaConfBaseException, ValueError) as error:
        raise InputError(f"{where}: malformed YAML: {' '.join(str(error).split())}") from None
    if not isinstance(node, DictConfig) or node == {content: None}:  # a lone word is a mapping to OmegaConf
        raise InputError(f"{where}: must hold keys and values, as the files of conf/{group} do")
    if group in _NAMED_BY_FILE and "name" not in node:
        refuse_references({"name": path.stem}, where)
        node["name"] = path.stem
    if group == "system":
        _check_system(node, path, where)
    package = _PACKAGE.search(content)
    name = _name_of(path)
    ConfigStore.instance().store(name, node, group=group, package=package[1] if package else None)
    return name, path


def _check_system(node: Any, path: Path, where: str) -> None:
    """Give the files of dimensions that lie in the folder of their system the path to them.

    Others are looked for in the working folder.

    Raises:
        InputError: the file is no system, but a cluster or a machine that another command takes.
    """
    from omegaconf import OmegaConf

    plain: Any = OmegaConf.to_container(node, resolve=False)
    network = plain.get("network")
    if network is None:
        from dse.inputs.machines.kinds import kind_of, refuse_other_kind

        if kind_of(plain) != "system":
            refuse_other_kind("system", path, where)
    for at, dimension in enumerate(network if isinstance(network, list) else []):
        for key in FILES_OF_DIMENSION if isinstance(dimension, dict) else ():
            name = dimension.get(key)
            if isinstance(name, str) and name and is_file(near := path.parent / name):
                refuse_references({key: str(near)}, where)
                node["network"][at][key] = str(near)


def add_model(text: str, where: str) -> tuple[str, Path, ModelFile]:
    """Make a configuration of the Hugging Face Hub a choice of the group `model`.

    Returns the name of the choice, the file, and what was read; `where` is how messages call it.

    Raises:
        InputError: see `read_model`.
    """
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf

    path = Path(text).expanduser()
    model = read_model(path, where)
    refuse_references(model.values, where)
    ConfigStore.instance().store(_name_of(path), OmegaConf.create(model.values), group="model")
    return _name_of(path), path, model


def check_own_file(content: str, where: str) -> None:
    """Check a file of the user's own before OmegaConf reads it, which copies aliases and follows references.

    Raises:
        InputError: as `yaml_data`, or a value refers to something, such as ${oc.env:HOME}.
    """
    values = yaml_data(content, where, _MOST_NODES)
    if REFERENCE in content:
        refuse_references(values, where)


def refuse_references(values: Any, where: str) -> None:
    """Refuse a text with ${…}, which OmegaConf would replace by other keys or variables of the environment.

    Raises:
        InputError: names the key of the first such text.
    """
    for key, text in texts_of(values):
        if REFERENCE in text:
            raise InputError(
                f"{where}: {excerpt(key)} is '{excerpt(text)}'; files and their names are taken as they are, "
                "and cannot have ${…}: write the value itself"
            )


def texts_of(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in plain data with its key; keys are texts too."""
    if isinstance(value, str):
        yield key, value
        return
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, entry in entries:
        inner = f"{key}.{name}".lstrip(".")
        if isinstance(name, str):
            yield inner, name
        yield from texts_of(entry, inner)


def _name_of(path: Path) -> str:
    """The name under which Hydra knows a file."""
    return f"{_PREFIX}{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]}"


def is_own_file(choice: str) -> bool:
    """Whether this is the name under which Hydra knows a file of the user's own: no choice for people."""
    return re.fullmatch(rf"{_PREFIX}[0-9a-f]{{16}}", choice) is not None
