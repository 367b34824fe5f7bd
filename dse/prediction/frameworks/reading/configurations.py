"""From files of frameworks to documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import is_file
from dse.prediction.frameworks.job import Document
from dse.prediction.frameworks.reading.detection import FRAMEWORKS, detected, refuse_others
from dse.prediction.frameworks.reading.files import Folder, data_of
from dse.prediction.frameworks.reading.interpolations import resolved
from dse.prediction.frameworks.reading.nemo import from_nemo, is_nemo
from dse.prediction.frameworks.reading.options import OLDER, megatron_options
from dse.prediction.frameworks.reading.trainer_files import (
    is_trainer,
    trainer_file,
    with_checkpointing,
)

_RECORD = frozenset({"framework", "flags"})
_DESCENDANTS = {"megatron-deepspeed": "megatron-lm"}
_MOST_BASES = 10
_LEAST_KNOWN = 0.4
_FROM_TRAINER = {
    "train_micro_batch_size_per_gpu": "--per_device_train_batch_size",
    "gradient_accumulation_steps": "--gradient_accumulation_steps",
    "gradient_clipping": "--max_grad_norm",
    "bf16.enabled": "--bf16",
    "fp16.enabled": "--fp16",
}


def document_of_file(path: Path, framework: str = "", bases: int = 0, text: str | None = None) -> Document:
    """Return the document of a JSON, YAML or TOML file, whose `text` may have been read.

    Raises:
        InputError: it is malformed or out of bounds, or the framework is unclear.
    """
    data, where = data_of(path, text), str(path)
    if isinstance(data, Mapping) and data.keys() >= _RECORD and isinstance(data["flags"], Mapping):
        return _record(data, framework, where)
    notes: list[str] = []
    settings = settings_of(data, where, notes)
    suffix = path.suffix.lower()
    npus = None
    if framework in ("", "megatron-bridge") and is_nemo(settings):
        framework = "megatron-bridge"
        settings, npus = from_nemo(settings, notes)
    if framework in ("", "accelerate", "deepspeed") and is_trainer(settings):
        file = trainer_file(settings, where)
        found = trainer_document(
            file.options, file.arguments, framework or "accelerate", where, Folder(path.parent)
        )
        return replace(found, notes=(*notes, *found.notes), spelled=file.spelled)
    if not framework:
        framework = _detected(settings, where, suffix)
    if framework == "megatron-lm":
        settings = _as_options(settings, notes)
    if framework == "maxtext":
        settings = _with_base(settings, path, notes, bases)
    return Document(
        settings,
        framework,
        model=_model(settings, framework),
        npus=npus or _npus(settings, framework),
        where=where,
        notes=tuple(notes),
    )


def settings_of(data: Any, where: str, notes: list[str]) -> dict[str, Any]:
    """Return what a file holds by dotted keys, with the values that its texts name; `notes` get defaults.

    Raises:
        InputError: it is no mapping, holds a key that is no text or occurs twice, or is too large.
    """
    return resolved(flattened(data, where), notes)


def _record(data: Mapping[str, Any], framework: str, where: str) -> Document:
    """A record of a configuration: framework, version, model, gpus and flags."""
    notes: list[str] = []
    name = data["framework"] if isinstance(data["framework"], str) else ""
    if name in _DESCENDANTS:
        notes.append(f"{name} is read as {_DESCENDANTS[name]}")
        name = _DESCENDANTS[name]
    if name not in FRAMEWORKS:
        raise InputError(
            f"{where}: framework is '{excerpt(data['framework'])}'; allowed are {', '.join(FRAMEWORKS)}"
        )
    if framework and framework != name:
        raise InputError(f"{where}: is for {name}, not for {framework}")
    npus = data.get("gpus")
    if npus is not None and (type(npus) is not int or not 0 < npus < 2**31):
        raise InputError(f"{where}: gpus is {excerpt(npus)}; it must be a positive integer")
    settings = flattened(data["flags"], f"{where}: flags")
    if name == "megatron-lm":
        strange = [key for key in settings if key not in megatron_options()]
        notes += [f"{key} is no option of today ({OLDER.get(key, 'unknown')})" for key in strange[:20]]
    version, model = data.get("version") or "", data.get("model") or ""
    return Document(settings, name, str(version), str(model), npus, where, tuple(notes))


def _detected(settings: Mapping[str, Any], where: str, suffix: str) -> str:
    if suffix == ".toml":
        return detected(settings, where, among=("torchtitan",), least=_LEAST_KNOWN)
    refuse_others(settings, where)
    destinations = {option.destination for option in megatron_options().values()}
    leaves = [key.rpartition(".")[2] for key in settings]
    try:
        return detected(settings, where, least=_LEAST_KNOWN)
    except InputError:
        if sum(leaf in destinations for leaf in leaves) > len(leaves) / 2:
            return "megatron-lm"
        raise


def _as_options(settings: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Settings under the option strings: a YAML file of Megatron-LM has their destinations as keys."""
    found: dict[str, Any] = {}
    options: dict[str, list[str]] = {}
    for name, option in megatron_options().items():
        options.setdefault(option.destination, []).append(name)
    for key, value in settings.items():
        leaf = key.rpartition(".")[2].replace("-", "_")
        names = options.get(leaf)
        if key.startswith("--") or names is None:
            found[key] = value
            if not key.startswith("--") and len(notes) < 20:
                notes.append(f"{excerpt(key)} is no setting of Megatron-LM that is known")
            continue
        negative = [name for name in names if name.startswith(("--no-", "--disable-"))]
        if isinstance(value, bool) and negative and len(negative) == len(names):
            found |= {} if value else {negative[0]: True}
        elif value is not None and value is not False:
            found[names[0]] = value
    return found


def _with_base(settings: dict[str, Any], path: Path, notes: list[str], bases: int) -> dict[str, Any]:
    """MaxText's files name one that they complete."""
    base = settings.pop("base_config", None)
    if not isinstance(base, str) or not base:
        return settings
    other = path.parent / base
    if bases >= _MOST_BASES:
        raise InputError(f"{path}: base_config names files in a circle, or more than {_MOST_BASES}")
    if not is_file(other):
        notes.append(f"base_config {excerpt(base)} is not there; the defaults of maxtext are taken")
        return settings
    return {**document_of_file(other, "maxtext", bases + 1).settings, **settings}


def _model(settings: Mapping[str, Any], framework: str) -> str:
    if framework == "torchtitan" and isinstance(settings.get("model.name"), str):
        return f"{settings['model.name']}_{settings.get('model.flavor', '')}".rstrip("_").lower()
    name = settings.get({"maxtext": "model_name", "megatron-bridge": "recipe_name"}.get(framework, ""), "")
    return name if isinstance(name, str) else ""


def _npus(settings: Mapping[str, Any], framework: str) -> int | None:
    number = settings.get("num_processes") if framework == "accelerate" else None
    return number if type(number) is int and 0 < number < 2**31 else None


def trainer_document(
    settings: Mapping[str, Any], arguments: dict[str, Any], framework: str, where: str, folder: Folder
) -> Document:
    """Return the document of a Trainer: what `accelerate` says, its arguments, and the files that those name.

    With --deepspeed FILE it is one of DeepSpeed: "auto" is the value of the argument of the same sense.

    Raises:
        InputError: a file cannot be read.
    """
    arguments = with_checkpointing(arguments)
    files = [arguments.get(key) for key in ("--deepspeed", "--deepspeed_config")]
    file = next((name for name in files if isinstance(name, str)), None) or settings.get(
        "deepspeed_config.deepspeed_config_file"
    )
    if isinstance(file, str):
        path = folder.find(file)
        base = document_of_file(path, "deepspeed", text=folder.text(path))
        arguments = {key: value for key, value in arguments.items() if value != file}
        found = {key: _resolved(key, value, arguments) for key, value in base.settings.items()}
        return Document(
            {**found, **arguments}, "deepspeed", model=_name(arguments), where=where, notes=base.notes
        )
    options = arguments.pop("--fsdp_config", None)
    found = dict(settings)
    if isinstance(options, str):
        path = folder.find(options)
        other = flattened(data_of(path, folder.text(path)), options)
        found |= {
            f"fsdp_config.{key if key.startswith('fsdp_') else f'fsdp_{key}'}": value
            for key, value in other.items()
        }
    return Document(
        {**found, **arguments},
        framework,
        model=_name(arguments),
        npus=_npus(found, "accelerate"),
        where=where,
    )


def _resolved(key: str, value: Any, arguments: Mapping[str, Any]) -> Any:
    return arguments.get(_FROM_TRAINER.get(key, ""), value) if value == "auto" else value


def _name(arguments: Mapping[str, Any]) -> str:
    name = arguments.get("--model_name_or_path", "")
    return name if isinstance(name, str) else ""


_MOST_KEYS = 100_000
_MOST_CHARACTERS = 2_000_000
_MOST_DEPTH = 100


def flattened(data: Any, where: str) -> dict[str, Any]:
    """Return a nested mapping with dotted keys; empty groups and lists stay values.

    Raises:
        InputError: it is no mapping, holds a key that is no text or occurs twice, or is too large.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: holds {type(data).__name__}; it must hold keys with values")
    settings: dict[str, Any] = {}
    _add(settings, data, "", where, [0], 0)
    return settings


def _add(
    settings: dict[str, Any], data: Mapping[Any, Any], prefix: str, where: str, size: list[int], depth: int
) -> None:
    if depth > _MOST_DEPTH:
        raise InputError(f"{where}: is nested deeper than {_MOST_DEPTH} levels, the most allowed")
    for name, value in data.items():
        if not isinstance(name, str | int | float | bool):
            raise InputError(f"{where}: a key is of type {type(name).__name__}; it must be a text")
        key = f"{prefix}{name}"
        size[0] += len(key)
        if key in settings:
            raise InputError(f"{where}: {key[:60]} occurs twice; every key is allowed once")
        if isinstance(value, Mapping) and value:
            _add(settings, value, f"{key}.", where, size, depth + 1)
        else:
            settings[key] = _plain(value)
        if len(settings) > _MOST_KEYS or size[0] > _MOST_CHARACTERS:
            raise InputError(f"{where}: holds more than {_MOST_KEYS} keys, the most allowed")


def _plain(value: Any) -> Any:
    """Dates and such of YAML and TOML as texts."""
    if isinstance(value, list | tuple):
        return [_plain(entry) if not isinstance(entry, dict) else entry for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str | dict) else str(value)
