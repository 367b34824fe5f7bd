"""Facts of the machine and of the build that results depend on; nothing that says whose machine it is."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from importlib import metadata
from pathlib import Path

import dse.native._engine as engine
from dse.base.machine import usable_cores


def machine_facts() -> dict[str, str | int]:
    """Return CPU, cores, memory, operating system, Python, compiler, version, and a mark of the engine."""
    binary = Path(engine.__file__).read_bytes()
    return {
        "cpu": _cpu(),
        "cores": usable_cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "os": _operating_system(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compiler": _compiler(binary),
        "version": metadata.version("dse"),
        "engine_sha256": hashlib.sha256(binary).hexdigest()[:16],
    }


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = (
        re.search(r"^model name\s*: (.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    )
    return found[1] if found else platform.machine()


def _operating_system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()
    return f"{platform.system()}, {name}"


def _compiler(binary: bytes) -> str:
    """Compilers leave their name in the binary."""
    found = re.search(rb"GCC: \([^)\0]*\) [\d.]+|clang version [\d.]+", binary)
    return found[0].decode() if found else "unknown"
