"""InfraGraph documents: an infrastructure of devices, links, instances and edges, in YAML or JSON.

The records are those of its data model, 3.1. A device alone is read as an infrastructure that has it once.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.plain_data import yaml_text
from dse.base.records import converted, unknown_field
from dse.base.settings import check_choice

COMPONENTS = ("custom", "device", "cpu", "xpu", "nic", "memory", "port", "switch")
SCHEMES = ("one2one", "many2many", "ring")
RATES = ("gigabits_per_second", "gigabytes_per_second", "gigatransfers_per_second")
TIMES = ("ms", "us", "ns")
MOST_COUNT = 2**31 - 1
_NAME = re.compile(r"[\sa-zA-Z0-9\-_()><\[\]]{1,300}")


@dataclass(frozen=True)
class Custom:
    """The kind of a custom component."""

    type: str


@dataclass(frozen=True)
class Component:
    """`count` equal parts of a device; `choice` is one of `COMPONENTS`."""

    name: str
    count: int
    choice: str
    description: str | None = None
    custom: Custom | None = None


@dataclass(frozen=True)
class Quantity:
    """A number in a unit: one of `RATES` or of `TIMES`."""

    unit: str
    value: float


@dataclass(frozen=True)
class Physical:
    """Rate and latency of a link."""

    bandwidth: Quantity | None = None
    latency: Quantity | None = None


@dataclass(frozen=True)
class LinkType:
    """A kind of link, by its name."""

    name: str
    description: str | None = None
    physical: Physical | None = None


@dataclass(frozen=True)
class End:
    """Parts, in slices: `xpu[0:2]`; `of` are instances (of an infrastructure) or devices (of a device)."""

    component: str
    of: str | None = None


@dataclass(frozen=True)
class Edge:
    """Links between two sets of parts; the scheme says which of them meet."""

    ep1: End
    ep2: End
    link: str
    scheme: str | None = None


@dataclass(frozen=True)
class DeviceType:
    """A device: its parts, kinds of links, and edges."""

    name: str
    components: tuple[Component, ...]
    links: tuple[LinkType, ...] = ()
    edges: tuple[Edge, ...] = ()
    description: str | None = None


@dataclass(frozen=True)
class Instance:
    """`count` copies of a device under a name."""

    name: str
    device: str
    count: int
    description: str | None = None


@dataclass(frozen=True)
class Infrastructure:
    """A whole document; `is_device` marks one that was a device alone."""

    name: str | None = None
    description: str | None = None
    devices: tuple[DeviceType, ...] = ()
    links: tuple[LinkType, ...] = ()
    instances: tuple[Instance, ...] = ()
    edges: tuple[Edge, ...] = ()
    is_device: bool = False


def is_infragraph(data: Any) -> bool:
    """Whether plain data has the lists of an infrastructure or of a device."""
    if not isinstance(data, dict):
        return False
    is_whole = isinstance(data.get("devices"), list) and isinstance(data.get("instances"), list)
    return is_whole or (isinstance(data.get("components"), list) and "name" in data)


def infrastructure_of(data: Any, where: str) -> Infrastructure:
    """Return the record of plain data.

    Raises:
        InputError: an unknown, missing or wrong key; names it.
    """
    if not is_infragraph(data):
        raise InputError(f"{where}: is no InfraGraph document; it must have devices and instances")
    try:
        if "components" not in data:
            whole: Infrastructure = _record(data, Infrastructure, "infrastructure", "instance")
            return whole
        device = _record(data, DeviceType, "device", "device")
        only = Instance(device.name, device.name, 1)
        return Infrastructure(device.name, devices=(device,), instances=(only,), is_device=True)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def infragraph_data(document: Infrastructure) -> dict[str, Any]:
    """Return a record as plain data, with the keys that the document had."""
    if document.is_device:
        found: dict[str, Any] = _plain(document.devices[0], "device")
        return found
    whole: dict[str, Any] = _plain(document, "instance")
    return whole


def infragraph_text(document: Infrastructure, is_json: bool) -> str:
    """Return a record as YAML or JSON."""
    data = infragraph_data(document)
    return json.dumps(data, indent=2) + "\n" if is_json else yaml_text(data, 100)


_LISTS: dict[str, tuple[type, str]] = {
    "devices": (DeviceType, "device"),
    "components": (Component, ""),
    "links": (LinkType, ""),
    "instances": (Instance, ""),
    "edges": (Edge, ""),
}
_PARTS: dict[str, type] = {"custom": Custom, "physical": Physical, "ep1": End, "ep2": End}


def _record(data: Any, record: type, key: str, of: str) -> Any:
    """Return a record of a mapping; `of` is the key by which ends name instances or devices."""
    if not isinstance(data, dict):
        raise InputError(f"{key} is {excerpt(data)}; it must be a group of keys")
    values: dict[str, Any] = {}
    known = {field.name: field for field in fields(record) if field.name != "is_device"}
    own = {of if name == "of" else name: name for name in known}
    choice = data.get("choice") if record is Component else None
    for name, value in data.items():
        if name == choice and name != "custom":  # such as `cpu: {}`, which holds nothing
            continue
        if name not in own:
            raise InputError(unknown_field(f"{key}.{excerpt(name)}", str(name), list(own)))
        if value is None:
            continue
        path = f"{key}.{name}"
        if name in _LISTS:
            inner, of_inner = _LISTS[name]
            if not isinstance(value, list):
                raise InputError(f"{path} is {excerpt(value)}; it must be a list")
            values[name] = tuple(
                _record(entry, inner, f"{path}.{at}", of_inner or of) for at, entry in enumerate(value)
            )
        elif name in ("bandwidth", "latency"):
            values[name] = _quantity(value, RATES if name == "bandwidth" else TIMES, path)
        else:
            values[own[name]] = _record(value, _PARTS[name], path, of) if name in _PARTS else value
    found = converted(values, record, key)
    _check(found, key)
    return found


def _quantity(value: Any, units: tuple[str, ...], path: str) -> Quantity | None:
    if not isinstance(value, dict):
        raise InputError(f"{path} is {excerpt(value)}; it must be a group of choice and its value")
    unit = value.get("choice", next((unit for unit in units if unit in value), None))
    if unit is None:
        return None
    check_choice(f"{path}.choice", str(unit), units)
    number = value.get(unit)
    others = [name for name in value if name not in ("choice", unit)]
    if others or isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < 1e15:
        raise InputError(
            f"{path} is {excerpt(value)}; it must be choice: {unit} and {unit}: a number of at least 0"
        )
    return Quantity(str(unit), number)


def _check(found: Any, key: str) -> None:
    """Check choices, counts and names, as the data model limits them."""
    name = getattr(found, "name", None)
    if name is not None and not _NAME.fullmatch(name):
        raise InputError(f"{key}.name is '{excerpt(name)}'; it must be letters, digits, blanks and -_()<>[]")
    count = getattr(found, "count", None)
    if isinstance(count, int) and not 0 <= count <= MOST_COUNT:
        raise InputError(f"{key}.count is {excerpt(count)}; it must be from 0 to {MOST_COUNT}")
    if isinstance(found, Component):
        check_choice(f"{key}.choice", found.choice, COMPONENTS)
        if found.custom is not None and found.choice != "custom":
            raise InputError(f"{key}.custom needs choice: custom, but choice is {found.choice}")
    if isinstance(found, Edge) and found.scheme is not None:
        check_choice(f"{key}.scheme", found.scheme, SCHEMES)


def _plain(value: Any, of: str) -> Any:
    if isinstance(value, Quantity):
        return {"choice": value.unit, value.unit: value.value}
    if isinstance(value, tuple):
        return [_plain(entry, of) for entry in value]
    if not hasattr(value, "__dataclass_fields__"):
        return value
    inner = "device" if isinstance(value, DeviceType) else of
    found = {}
    for field in fields(value):
        entry = getattr(value, field.name)
        is_empty = entry == () and isinstance(value, Infrastructure)
        if entry is not None and not is_empty and field.name != "is_device":
            found[inner if field.name == "of" else field.name] = _plain(entry, inner)
    return found
