"""The versions of ASTRA-sim that the engine can equal (docs/simulator.md); its table has their rules."""

from __future__ import annotations

from typing import Literal

Reference = Literal["astra-sim-2025-04", "astra-sim-2026-03"]
DEFAULT_REFERENCE: Reference = "astra-sim-2025-04"
