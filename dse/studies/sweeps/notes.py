"""Notes on a sweep: degrees that its space or the batch lacks, and shards that were cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.systems import SystemSpec
from dse.studies.config import Config
from dse.studies.space.axes import sizes_of
from dse.studies.space.degrees import batches_near

_SHOWN_DEGREES = 6


def missing_degrees(config: Config, arguments: Sequence[str]) -> list[str]:
    """Return which degrees the space of conf/ lacks; lists of the command line are meant as they are."""
    notes = []
    given = " ".join(arguments)
    for system in _sized(config):
        missing = config.space.missing_degrees(system)
        axes = [
            f"space.{axis}"
            for axis in missing
            if f"space.{axis}=" not in given and f"strategy.{axis}:" not in given
        ]
        if not axes:
            continue
        left_out = sorted({degree for axis in axes for degree in missing[axis.partition(".")[2]]})
        shown = [*map(str, left_out[:_SHOWN_DEGREES]), *(["..."] if left_out[_SHOWN_DEGREES:] else [])]
        notes.append(
            f"{', '.join(axes)} of space={config.space.name} leave out {', '.join(shown)}, but "
            f"{system.name} has {system.npus} NPUs: space=full has all degrees"
        )
    return list(dict.fromkeys(notes))


def replaced_values(config: Config, arguments: Sequence[str]) -> list[str]:
    """Return which values of the command line an axis takes the place of."""
    return [
        f"{word} has no effect: space.axes.{key} lists the values"
        for key, _ in config.space.axes
        for word in arguments
        if word.startswith(f"{key}=")
    ]


def undivided_batches(config: Config) -> list[str]:
    """Return where a factor of the number of NPUs is no factor of the batch, so that no dp has it."""
    if config.space.choices["dp"] is not None or any(
        key == "model.batch_size" for key, _ in config.space.axes
    ):
        return []
    notes = []
    for model in config.models:
        for system in _sized(config):
            batch, npus = model.batch_size, system.npus
            factor = npus
            while (common := math.gcd(factor, batch)) > 1:
                factor //= common
            if factor == 1 or system.cluster is None or model.fidelity != "realistic":
                continue
            near = batches_near(batch, npus)
            others = [str(each) for each in near if _allows(config, model, each, system)]
            if others:
                notes.append(
                    f"a batch of {batch} is no multiple of {factor}, a factor of the {npus} NPUs, so dp is "
                    f"at most {math.gcd(npus, batch)}: model.batch_size={' or '.join(others)} also allows "
                    f"{npus}"
                )
    return list(dict.fromkeys(notes))


def _allows(config: Config, model: ModelSpec, batch: int, system: SystemSpec) -> bool:
    """Whether the space has a dp of all NPUs with another batch: constraints may exclude it, too."""
    space = replace(config.space, choices={**config.space.choices, "dp": (system.npus,)}, launchable="")
    try:
        return len(space.strategies(replace(model, batch_size=batch), system)) > 0
    except InputError:  # such as micro-batches that do not divide it
        return False


def _sized(config: Config) -> list[SystemSpec]:
    """The systems of a sweep, one for each number of NPUs that axes give it."""
    found: dict[tuple[str, int], SystemSpec] = {}
    for each in config.systems:
        for system in sizes_of(each, config.space.axes, config.models[0]):
            found.setdefault((system.name, system.npus), system)
    return list(found.values())


def cuts(points: int, *, impossible: int, fractional: int) -> list[str]:
    """Return what is wrong with points whose sizes do not divide: lines that begin with warning or note."""
    lines = []
    if impossible:
        lines.append(
            f"warning: {impossible} of {points} points split sequences, tokens or heads, which no program "
            "can (column impossible_split; workload.divisibility=whole makes them infeasible)"
        )
    if fractional > impossible:
        lines.append(
            f"note: {fractional - impossible} of {points} points have widths of matrices that do not divide; "
            "they are cut by less than one row of a shard, where programs pad (column fractional; "
            "workload.divisibility=strict excludes them)"
        )
    return lines
