"""How a field of the schema says what it means; docs/reference.md is made of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

MISSING: Any = "???"  # OmegaConf's mark of a mandatory value, without importing OmegaConf


def key(
    meaning: str, default: Any = MISSING, *, factory: Callable[[], Any] | None = None, astrasim: str = ""
) -> Any:
    """A field with its meaning, in Markdown with links as from docs/, and its name in ASTRA-sim's files."""
    metadata = {"meaning": meaning, "astrasim": astrasim}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)
