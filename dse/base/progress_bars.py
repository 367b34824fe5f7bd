"""Progress bars of long commands."""

from __future__ import annotations

import sys
import threading
from typing import Any


def progress_bar(unit: str, total: int | None = None) -> Any:
    """Return a bar of tqdm on standard error that counts units; it is silent where that is no terminal."""
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())  # its own is for several processes: from Python 3.14 on, it starts one
    return tqdm(total=total, unit=unit, file=sys.stderr, disable=None, smoothing=0.1)
