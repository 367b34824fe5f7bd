"""The training run of a page that predicts: what is asked, and which of its figures are fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dse.answers.explorer.field import Field, Path, integer_field, number_field, positive_field
from dse.answers.explorer.fields import SAFE_INTEGER
from dse.base.errors import InputError
from dse.base.units import parse_count
from dse.inputs.accelerators import Accelerator
from dse.prediction.runs.asked import MOST_SPARES, POWER, AskedRun, asked_run
from dse.prediction.runs.power import require_power

_GROUP = "Training run"
_TOKENS = 10**13
_MOST_PRICE = 1e6
_NOT_IN_A_PAGE = {
    "loss": "where a run has tokens: write run.tokens=15T",
    "grid": "which shows no emissions: leave it out",
}


def run_of_page(asked: AskedRun | None, chip: Accelerator | None) -> AskedRun:
    """Return what is asked of a run; without any, all that a page needs to ask for one.

    Raises:
        InputError: a key has no effect in a page, or the energy of `chip` is unknown and asked for.
    """
    if asked is None:
        return replace(asked_run({"steps": "1"}), values={})
    for key, instead in _NOT_IN_A_PAGE.items():
        if key in asked.values:
            raise InputError(f"run.{key} has no effect on dse explore, {instead}")
    if chip is not None and POWER.keys() & asked.values.keys():
        require_power(chip)
    return asked


def run_fields(run: AskedRun, system: str) -> Iterator[Field]:
    """Return the fields of a run: its length, which may be empty, and what it costs."""
    yield _length(run)
    price = number_field(_path("price"), "price of an NPU-hour", _GROUP, "", 2.0, 0, _MOST_PRICE)
    yield _optional(price, run.price(system))
    if not run.spares_share:
        head = (_path("spares"), "spare nodes", _GROUP, "")
        spares = integer_field(*head, run.spares, 0, MOST_SPARES, is_optional=True)
        yield _optional(spares, run.spares)
    for name, label, value in (
        ("storage_gbps", "storage takes in all", run.store.total_gbps),
        ("node_gbps", "storage takes of a node", run.store.node_gbps),
    ):
        yield positive_field(_path(name), label, _GROUP, "GB/s", value)
    pue = number_field(
        _path("pue"), "power of the facility over its machines", _GROUP, "", run.facility.pue, 1, 10
    )
    yield replace(pue, allowed="a number from 1 to 10")


def _length(run: AskedRun) -> Field:
    name = "steps" if "steps" in run.values else "tokens"
    value = parse_count(run.values[name], f"run.{name}") if name in run.values else None
    shown = _TOKENS if value is None else value
    return _optional(integer_field(_path(name), name, _GROUP, "", shown, 1, SAFE_INTEGER), value)


def _optional(field: Field, value: float | None) -> Field:
    return replace(field, value=value, is_optional=True, absent="none")


def _path(name: str) -> Path:
    return "run", name
