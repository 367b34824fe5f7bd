"""The peak memory of this process."""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """Return the largest resident size so far.

    On Linux from the kernel's mark of this program image: `ru_maxrss` would start at the size of the parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
