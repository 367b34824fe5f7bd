"""Where the rows of a study come from: versions, machine, command line and configuration of a sweep."""

from __future__ import annotations

import datetime
import os
import platform
import secrets
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from dse.base.machine import usable_cores
from dse.base.plain_data import yaml_data, yaml_text

PACKAGES = ("dse", "hydra-core", "numpy", "omegaconf", "optuna", "pandas", "pyarrow", "ray")


def sweep_name(now: datetime.datetime | None = None) -> str:
    """Return a unique name that sorts by time, such as 20261121T143000.254817Z-1f0c33ab.

    To the microsecond: of two sweeps in one second the later one has the later name.
    """
    now = now or datetime.datetime.now(datetime.timezone.utc)
    return f"{now:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(4)}"


def provenance(command: Sequence[str], configuration: str, points: Mapping[str, int | None]) -> str:
    """Return YAML: when, what was typed, how many points, versions, machine, the resolved configuration.

    `points` has `planned`, or the `samples` of a search.
    """
    about: dict[str, Any] = {
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": list(command),
        "points": dict(points),
        "versions": _versions(),
        "machine": _machine(),
        "configuration": yaml_data(configuration, "the configuration"),
    }
    return yaml_text(about, width=110)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": usable_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if sys.platform != "win32"
        else None,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
