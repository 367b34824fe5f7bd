"""The part of a simulation that a file holds, by what is in it, whatever its name."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object, read_yaml
from dse.simulation.simulators.report import read_report
from dse.simulation.validation.compare import Value
from dse.simulation.workloads.traces import GROUPS_FILE

_MOST_BYTES = 1 << 22  # of a configuration file; traces of PyTorch are JSON too, and larger
_HEAD_BYTES = 1 << 16
_WORDS_OF_PYTORCH = {
    ".et": (b"rf_id",),
    ".json": (b'"schema', b'"traceEvents"', b'"deviceProperties"', b'"distributedInfo"'),
    ".gz": (b"\x1f\x8b",),
}
"""By the ending of a file: one of these is in the first bytes of what PyTorch or mlc-chakra wrote."""
_SYSTEM_KEYS = {
    *("scheduling-policy", "endpoint-delay", "active-chunks-per-dimension", "preferred-dataset-splits"),
    *("all-reduce-implementation", "collective-optimization", "local-mem-bw", "peak-perf"),
}
_NETWORK_KEYS = {"topology", "npus_count", "bandwidth", "latency"}
_CASE_KEYS = {"network_model", "options", "status", "exit_code"}
_LEAST_KEYS = 2  # of a system or a network: enough to tell what it is, even if one is misspelt


class Part(NamedTuple):
    """A part of a simulation: its title for people, usual names and endings, and how it is known."""

    title: str
    names: tuple[str, ...]
    suffixes: tuple[str, ...]
    is_in: Callable[[Mapping[str, Any]], bool]


def _has_lists_of_ranks(content: Mapping[str, Any]) -> bool:
    lists = [value for value in content.values() if isinstance(value, list)]
    return (
        bool(content)
        and all(isinstance(rank, int) for ranks in lists for rank in ranks)
        and len(lists) == len(content)
        and not _is_of_a_case(content)
    )


def _is_of_a_case(content: Mapping[str, Any]) -> bool:
    return bool(content) and content.keys() <= _CASE_KEYS


SYSTEM_PART = Part(
    "system",
    ("system.json",),
    (".json",),
    lambda content: len(_SYSTEM_KEYS & content.keys()) >= _LEAST_KEYS,
)
NETWORK_PART = Part(
    "network",
    ("network.yml", "network.yaml"),
    (".yml", ".yaml"),
    lambda content: len(_NETWORK_KEYS & content.keys()) >= _LEAST_KEYS,
)
GROUPS_PART = Part("groups", (GROUPS_FILE,), (".json",), _has_lists_of_ranks)
REMOTE_MEMORY_PART = Part(
    "remote memory", ("remote_memory.json",), (".json",), lambda content: "memory-type" in content
)
OWN_SYSTEM_PART = Part(
    "system",
    (),
    (".yml", ".yaml"),
    lambda content: isinstance(content.get("network", content.get("tiers")), list),
)
"""A system as dse writes it, in a file of its own."""
CASE_PART = Part("case.json", ("case.json",), (".json",), _is_of_a_case)
"""Facts that the other files lack: the network model, options, and how the run ended."""
PARTS = (SYSTEM_PART, NETWORK_PART, GROUPS_PART, REMOTE_MEMORY_PART, CASE_PART)


def holds(path: Path, part: Part, content: Mapping[str, Any] | None = None) -> bool:
    """Whether a file holds a part, given its `content_of` if that is known."""
    if path.suffix not in part.suffixes:
        return False
    return part.is_in(content_of(path) if content is None else content)


def content_of(path: Path) -> Mapping[str, Any]:
    """Return the keys of a small JSON or YAML file; none of one that cannot be read or has no keys."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        content = load_json_object(path) if path.suffix == ".json" else read_yaml(path)
    except (InputError, OSError):
        return {}
    return content if isinstance(content, dict) else {}


def is_log(path: Path) -> bool:
    """Whether a file has lines that ASTRA-sim prints, and hardly another program."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return REPORT.search(content) is not None
    except (OSError, ValueError):  # it cannot be read, or is empty
        return False


def is_of_pytorch(path: Path) -> bool:
    """Whether a trace is one that mlc-chakra made of a recorded step, or a file of PyTorch's profiler."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    words = _WORDS_OF_PYTORCH.get(path.suffix)
    if words is None or not any(word in head for word in words):
        return False
    from dse.simulation.recorded.pytorch.sources import is_recorded  # loads NumPy

    return is_recorded(path)


# What a C++ program, its libraries or its shell print when it ends by force. A line with a level is not such
# a line: the reference logs exceptions that it swallows, and goes on.
_CRASH = re.compile(
    r"Assertion\b.*\bfailed|terminate called|Segmentation fault|Floating point exception|Bus error"
    r"|Illegal instruction|Aborted|core dumped|std::bad_alloc|out of memory|Killed\b"
    r"|(?:double free|corrupted|munmap_chunk|malloc|realloc|free)\(\)?: |double free or corruption"
    r"|stack smashing|ERROR: \w+Sanitizer|exit(?:ed with)? (?:code|status)\W{1,3}-?[1-9]"
)
# Lines with a level after which ASTRA-sim of 2026 ends with exit status 1.
_STOP = re.compile(r"communicator group \S+ not found|#+ Exiting because")
_LEVEL = r"\[(?:trace|debug|info|warning|error|critical)\]"
_LEVELLED = re.compile(_LEVEL)
REPORT = re.compile(rf"sys\[\d+\][ ,.]|{_LEVEL} ".encode())
"""What a log of ASTRA-sim has, and hardly another file."""
_LINE_LENGTH = 160


def read_log(path: Path) -> dict[int, dict[str, Value]]:
    """Return the figures of every rank that finished, by the names of `RankMetrics`.

    `%` and the reference's `$` are both accepted; a peak memory is bytes, or a text with a unit.

    Raises:
        InputError: the file cannot be read, or reports a rank twice.
    """
    try:
        return read_report(_lines(path))
    except InputError as error:
        raise InputError(f"{path}, {error}") from None


def crash_in_log(path: Path) -> str | None:
    """Return the first line that says that the program ended by force, such as a failed assertion.

    Raises:
        InputError: the file cannot be read.
    """
    for number, line in enumerate(_lines(path), 1):
        if (_CRASH.search(line) and not _LEVELLED.search(line)) or _STOP.search(line):
            text = "".join(c for c in " ".join(line.split()) if c.isprintable())
            return f"line {number} of {path.name}: {text[:_LINE_LENGTH]}"
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
