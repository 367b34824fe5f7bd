"""Settings of a system: keys, types, meanings, and their names in ASTRA-sim's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from dse.base.records import converted
from dse.base.settings import MISSING
from dse.base.settings.group_files import files_of_group
from dse.base.settings.schemas import schema_of
from dse.inputs.accelerators import Accelerator, TierSpec
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import DERIVED, derived_fields
from dse.inputs.systems.fields import FOLLOWING, NpuType, figures_of
from dse.inputs.systems.validation import InvalidSystem

SystemSchema: Any = schema_of(SystemSpec)
"""The keys of conf/system/*.yaml."""


def complete_types(values: dict[str, Any]) -> None:
    """Fill in what follows from the types of NPUs of a system, if it has any; `values` as `complete_cluster`.

    Raises:
        InputError: a key that follows is given, or a key of a type is missing or wrong.
    """
    if not values.get("npu_types"):
        return
    types = []
    for index, each in enumerate(values["npu_types"]):
        path = f"npu_types.{index}"
        for name, value in each.items():
            if value == MISSING:
                raise InvalidSystem(f"{path}.{name}", "has no value; every type needs one")
        types.append(converted(each, NpuType, f"system.{path}"))
    for name, figure in zip(FOLLOWING, figures_of(types), strict=True):
        if values[name] != MISSING:
            raise InvalidSystem(name, "follows from system.npu_types; change these instead")
        values[name] = figure


def complete_cluster(values: dict[str, Any]) -> None:
    """Fill in what follows from the accelerator and the tiers of a system, if it is a cluster.

    `values` are those of the schema, checked for their types, with `MISSING` where nothing is given.

    Raises:
        InputError: a key that follows is given, or a key of a cluster is missing or wrong.
    """
    if values.get("accelerator") is None:
        return
    for name, sources in DERIVED.items():
        if values[name] != MISSING:
            raise InvalidSystem(name, f"follows from {sources} on {values['name']}; change these instead")
    for name in ("nodes", "npus_per_node"):
        if values[name] is None:
            raise InvalidSystem(name, "is null; a system with system.accelerator needs it")
    for index, tier in enumerate(values["tiers"]):
        for name, value in tier.items():
            if value == MISSING:
                raise InvalidSystem(f"tiers.{index}.{name}", "has no value; every tier needs one")
    accelerator = Accelerator.named(values["accelerator"], "system.accelerator")
    tiers = converted(values["tiers"], tuple[TierSpec, ...], "system.tiers")
    found = derived_fields(values["name"], accelerator, values["nodes"], values["npus_per_node"], tiers)
    collectives = found.pop("collectives")
    values.update(found, network=[asdict(dimension) for dimension in found["network"]])
    for name, algorithms in asdict(collectives).items():
        if values["collectives"][name] == MISSING:
            values["collectives"][name] = list(algorithms)


def systems_of_conf() -> Iterator[tuple[str, SystemSpec]]:
    """Yield the systems of conf/system by the names of their files.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in files_of_group("system", SystemSchema):
        complete_cluster(values)
        complete_types(values)
        yield name, converted(values, SystemSpec, "system")
