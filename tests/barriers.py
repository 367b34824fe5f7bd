"""What axe-core finds serious in a page of a browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium

_AXE = Path(__file__).parents[1] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
AXE = Path(os.environ.get("DSE_AXE", _AXE))
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="axe-core is missing: make npm")
_RUN = """
axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"] }).then(({ violations }) =>
  violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => [id, nodes.map(({ target }) => target.join(" "))]))
"""


def barriers(browser: Chromium) -> list[Any]:
    """Return each rule that is broken seriously, with the elements that do."""
    browser.evaluate(AXE.read_text(encoding="utf-8") + "; 0")
    found: list[Any] = browser.evaluate(_RUN)
    return found
