"""Files of accelerators and frameworks with constants written into them; all else in them stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.base.plain_data import read_yaml, yaml_data
from dse.prediction.calibration.calibration import Calibration


def calibrated_text(text: str, calibration: Calibration, efficiency: Mapping[str, float | None]) -> str:
    """Return the text of a file of conf/accelerator or conf/framework with the constants of a fit.

    They stand where constants did; comments and other keys stay. `efficiency` are all constants of an
    accelerator, those that were not fitted too. A type with the constants of another keeps these but for
    those that it had of its own and those that are fitted.
    """
    fitted = {"calibration": quoted(calibration.summary)}
    if calibration.uncertainty:
        fitted = {"uncertainty": flow(calibration.uncertainty, 6), **fitted}
    if calibration.owner.is_framework:
        constants = {name: f"{value:g}" for name, value in calibration.values.items()}
        return with_keys(text, {**constants, **fitted}, without=["uncertainty"])
    keys = yaml_data(text, "the file of the accelerator")
    if "efficiency_of" in keys:
        efficiency = keys.get("efficiency", {})
    constants = {"efficiency": flow({**efficiency, **calibration.values}, 6)}
    fitted["fitted_kinds"] = f"[{', '.join(calibration.kinds)}]"
    return with_keys(text, {**constants, **fitted}, without=["uncertainty"])


def with_keys(text: str, lines: Mapping[str, str], without: Sequence[str] = ()) -> str:
    """Return YAML with these keys of the first level, each on a line, in place of what it had of them.

    They stand where the first of them, or of those it is to be `without`, stood, or else at the end.
    """
    kept: list[str] = []
    place: int | None = None
    is_replaced = False
    for line in text.splitlines():
        if key := re.match(r"([A-Za-z_]\w*) *:", line):
            is_replaced = key[1] in lines or key[1] in without
            if is_replaced and place is None:
                place = len(kept)
        elif not line[:1].isspace():  # a comment or a blank line parts keys
            is_replaced = False
        if not is_replaced:
            kept.append(line)
    place = len(kept) if place is None else place
    block = [f"{name}: {value}" for name, value in lines.items()]
    return "\n".join([*kept[:place], *block, *kept[place:]]) + "\n"


def file_keys(path: Path) -> dict[str, Any]:
    """Return the keys of a file that was read before, so that it is known to be one."""
    values: dict[str, Any] = read_yaml(path)
    return values


def flow(values: Mapping[str, float | None], digits: int) -> str:
    """Return the numbers that are known, by name, as YAML on one line."""
    given = [(name, value) for name, value in values.items() if value is not None]
    return "{" + ", ".join(f"{name}: {value:.{digits}g}" for name, value in given) + "}"


def quoted(text: str) -> str:
    """Return a text as YAML on one line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
