"""Files like those of conf/kernels, with constants written into them; all else in them stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from dse.inputs.accelerators.kernel_constants import PARTS, KernelConstants
from dse.prediction.calibration.constant_files import flow, quoted, with_keys


def constants_text(text: str, constants: KernelConstants, fitted: Iterable[str], source: str) -> str:
    """Return the text of a file with the parts of constants that it has or that were `fitted`.

    `source` says how the fitted parts are known; sources of others stay.
    """
    fitted = [part for part in PARTS if part in set(fitted)]
    own = [part for part in PARTS if getattr(constants, part) and (part in fitted or not constants.lent_by)]
    lines = {part: _block(asdict(constants)[part]) for part in own}
    sources = {**constants.sources, **dict.fromkeys(fitted, source)}
    lines["sources"] = "".join(f"\n  {name}: {quoted(words)}" for name, words in sources.items())
    written = with_keys(text, lines)
    return re.sub(r"^(\w+): +$", r"\1:", written, flags=re.MULTILINE)


def _block(values: Mapping[str, Any]) -> str:
    if any(isinstance(value, dict) for value in values.values()):
        return "".join(f"\n  {_key(name)}: {flow(value, 4)}" for name, value in values.items())
    return flow(values, 4)


def _key(name: str) -> str:
    return f'"{name}"' if name.isdecimal() else name
