"""Folders of layer profiles: a JSON file per type, tensor degree and batch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object
from dse.base.suggestions import did_you_mean
from dse.planner.problem.arithmetic import plain_sum
from dse.planner.problem.inputs.gaps import check_gap
from dse.planner.problem.inputs.numbers import LEAST_POSITIVE, number_in, numbers_in
from dse.planner.problem.profiles import Profile, ProfileKey, ProfileSet

FILE_NAME = "DeviceType.{type}_tp{tp}_bs{batch}.json"
_USUAL = re.compile(r"DeviceType\.(?P<type>.+)_tp(?P<tp>\d{1,9})_bs(?P<batch>\d{1,9})\.json", re.ASCII)
_PARTS = tuple(re.compile(part, re.ASCII) for part in (r"DeviceType\.(.+?)_", r"tp(\d{1,9})", r"bs(\d{1,9})"))


@dataclass(frozen=True)
class _File:
    """One profile file, read."""

    path: Path
    profile: Profile
    parameters_bytes: tuple[float, ...]


def read_profiles(folders: Sequence[Path], first: str | None, compat: bool = False) -> ProfileSet:
    """Return the profiles of the folders; types are in upper case, files with other names are ignored.

    `first` names the file that gives optimizer time, batch generator time and layer weights to the compat
    cost (`.json` and `DeviceType.` may be left out); None means that of the first type by name, least
    tensor degree, least batch. With `compat` only its parameters count; otherwise all files must agree on
    them.

    Raises:
        InputError: no profiles, two for one key, a malformed file, numbers of layers that differ, layers
            that take longer than their pass.
    """
    paths = _paths(folders)
    files = {key: _read(path) for key, path in paths.items()}
    chosen = _first_key(paths, first, folders)
    _check_layers(files, chosen, compat)
    profiles = {key: file.profile for key, file in files.items()}
    source = ", ".join(str(folder) for folder in folders)
    return ProfileSet(profiles, chosen, files[chosen].parameters_bytes, source=source)


def key_of(name: str) -> ProfileKey | None:
    """Return what a file of this name is a profile for, or None if it is none."""
    if not name.endswith(".json"):
        return None
    usual = _USUAL.fullmatch(name)
    if usual:
        return ProfileKey(usual["type"].upper(), int(usual["tp"]), int(usual["batch"]))
    type_, tp, batch = (part.search(name) for part in _PARTS)
    if type_ and tp and batch:
        return ProfileKey(type_[1].upper(), int(tp[1]), int(batch[1]))
    return None


def _paths(folders: Sequence[Path]) -> dict[ProfileKey, Path]:
    """Return the files by key, in the order of keys: no listing's order reaches a result."""
    paths: dict[ProfileKey, Path] = {}
    for folder in folders:
        try:
            listed = sorted(folder.iterdir())
        except OSError as error:
            raise InputError(f"{folder}: no folder of profiles: {error.strerror}") from None
        for path in listed:
            key = key_of(path.name)
            if key is None:
                continue
            if key.tp < 1 or key.batch < 1:
                raise InputError(f"{path}: tensor degree and batch of a profile must be at least 1")
            if key in paths:
                raise InputError(f"{path}: a second profile of {key}; the other one is {paths[key]}")
            paths[key] = path
    if not paths:
        names = ", ".join(str(folder) for folder in folders)
        example = FILE_NAME.format(type="A100", tp=2, batch=4)
        raise InputError(f"{names or 'profiles'}: no profiles; their files have names like {example}")
    return {key: paths[key] for key in sorted(paths)}


def _first_key(paths: Mapping[ProfileKey, Path], first: str | None, folders: Sequence[Path]) -> ProfileKey:
    if first is None:
        return next(iter(paths))
    for key, path in paths.items():
        if first in (path.name, path.stem, path.stem.removeprefix("DeviceType.")):
            return key
    names = ", ".join(str(folder) for folder in folders)
    hint = did_you_mean(first, (path.name for path in paths.values()))
    raise InputError(f"first_profile={first}: no such profile in {names}{hint}")


def _read(path: Path) -> _File:
    content = load_json_object(path)
    times = _section(content, "execution_time", path)
    memory = _section(content, "execution_memory", path)
    parameters = _section(_section(content, "model", path), "parameters", path)
    layer_ms = numbers_in(times, "layer_compute_total_ms", str(path))
    layers_ms = plain_sum(layer_ms)
    if layers_ms < LEAST_POSITIVE:
        raise InputError(
            f"{path}: layer_compute_total_ms: all layers take no time; it must be at least "
            f"{LEAST_POSITIVE:g} ms together"
        )
    profile = Profile(
        layer_ms=layer_ms,
        layer_memory_mb=numbers_in(memory, "layer_memory_total_mb", str(path)),
        gap_ms=number_in(times, "forward_backward_time_ms", str(path)) - layers_ms,
        optimizer_ms=number_in(times, "optimizer_time_ms", str(path)),
        batch_generator_ms=number_in(times, "batch_generator_time_ms", str(path)),
    )
    check_gap(profile, str(path))
    return _File(path, profile, numbers_in(parameters, "parameters_per_layer_bytes", str(path)))


def _section(content: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    section = content.get(key)
    if not isinstance(section, dict):
        raise InputError(f"{path}: has no object {key}; it is no layer profile, or cut off")
    return section


def _check_layers(files: Mapping[ProfileKey, _File], chosen: ProfileKey, compat: bool) -> None:
    first = files[chosen]
    layers = len(first.parameters_bytes)
    for file in files.values():
        for name, values in (
            ("layer_compute_total_ms", file.profile.layer_ms),
            ("layer_memory_total_mb", file.profile.layer_memory_mb),
            ("parameters_per_layer_bytes", file.parameters_bytes),
        ):
            if len(values) != layers:
                raise InputError(
                    f"{file.path}: {name} has {len(values)} layers, but {first.path.name} has {layers}; "
                    "all profiles must be of one model"
                )
        if not compat and file.parameters_bytes != first.parameters_bytes:
            raise InputError(
                f"{file.path}: parameters_per_layer_bytes differ from those of {first.path.name}; "
                "all profiles must be of one model"
            )
