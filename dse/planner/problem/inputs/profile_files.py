"""Folders of layer profiles: a JSON file per type, tensor degree and batch."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.plain_data import load_json_object
from dse.planner.problem.problem import PlanProblem, Profile, ProfileKey, ProfileSet, plain_sum

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


MOST = 1e12
"""Above it a number is a slip: 1e12 ms are 31 years, and sums of such times still fit a clock in ns."""

LEAST_POSITIVE = 1e-9


def number_in(record: Mapping[str, Any], key: str, where: str, positive: bool = False) -> float:
    """Return a number of a record from 0, or, if `positive`, from `LEAST_POSITIVE`, to `MOST`.

    Raises:
        InputError: no such key, or its value is something else.
    """
    if key not in record:
        raise InputError(f"{where}: has no {key}")
    return _checked(record[key], f"{where}: {key}", positive)


def numbers_in(record: Mapping[str, Any], key: str, where: str) -> tuple[float, ...]:
    """Return a list of numbers of a record, each from 0 to `MOST`.

    Raises:
        InputError: no such key, or its value is something else.
    """
    values = record.get(key)
    if not isinstance(values, list) or not values:
        what = f"has no {key}" if values is None else f"{key}={excerpt(values)}"
        raise InputError(f"{where}: {what}; it must be a list with a number a layer")
    return tuple(_checked(value, f"{where}: {key}[{i}]", False) for i, value in enumerate(values))


def _checked(value: Any, where: str, positive: bool) -> float:
    least = LEAST_POSITIVE if positive else 0
    allowed = f"a positive number, {least:g} to {MOST:g}" if positive else f"a number, 0 to {MOST:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}={excerpt(value)}: must be {allowed}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not least <= number <= MOST:
        raise InputError(f"{where}={excerpt(value)}: must be {allowed}")
    return number


MOST_OVERLAP = 0.05
"""Share by which layers timed one by one may take longer than the pass as a whole; more is no noise."""


def overlap_of(profile: Profile) -> float:
    """Return by which share of their sum the layers take longer than the pass; 0 where they do not."""
    return max(0.0, -profile.gap_ms / plain_sum(profile.layer_ms))


def check_gap(profile: Profile, where: str) -> None:
    """Refuse a profile whose two times contradict each other.

    Raises:
        InputError: the layers take over `MOST_OVERLAP` longer than the forward and backward pass.
    """
    layers_ms = plain_sum(profile.layer_ms)
    if overlap_of(profile) > MOST_OVERLAP:
        raise InputError(
            f"{where}: forward_backward_time_ms is {layers_ms + profile.gap_ms:.6g}, but "
            f"layer_compute_total_ms add up to {layers_ms:.6g}; a pass takes as long as its layers, give or "
            f"take {100 * MOST_OVERLAP:g} %: take both from one run, in ms"
        )


def without_overlaps(profiles: ProfileSet) -> ProfileSet:
    """Return the profiles with gaps of at least 0.

    A gap below 0 would be taken off once a micro-batch, however short the stages are.
    """
    found = {key: replace(one, gap_ms=max(0.0, one.gap_ms)) for key, one in profiles.profiles.items()}
    return replace(profiles, profiles=found)


def overlap_note(profiles: ProfileSet) -> str | None:
    """Return which profiles have gaps below 0, in words, or None if none has."""
    found = profiles.profiles
    below = [key for key, profile in found.items() if profile.gap_ms < 0]
    if not below:
        return None
    worst = max(below, key=lambda key: overlap_of(found[key]))
    return (
        f"{len(below)} of {len(found)} profiles have layers that take longer than their pass, by up to "
        f"{100 * overlap_of(found[worst]):.2g} % ({worst})"
    )


def check_gaps(problem: PlanProblem) -> None:
    """Refuse profiles whose layers take far longer than their pass.

    Raises:
        InputError: names the first of them.
    """
    for key, profile in problem.profiles.profiles.items():
        check_gap(profile, f"problem: profile of {key}")
