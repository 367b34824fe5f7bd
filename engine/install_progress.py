"""Runs pip, --verbose, and prints a line per step: `python engine/install_progress.py LOG COMMAND…`.

All output goes to the file LOG; the end of it is printed where the command fails. Standard library only.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from pathlib import Path

SHOWN_LINES = 40
STEPS = (
    (re.compile(r"\s*Collecting (\S+)"), "  package {0}"),
    (re.compile(r"\s*Running command Building editable for dse"), "compiling the engine"),
    (re.compile(r"\s*\[(\d+/\d+)\] Building CXX"), "  file {0}"),
)
INSTALLING = "Installing collected packages: "


def step(line: str) -> str | None:
    """Return what to say about a line of pip's, or None."""
    if line.strip().startswith(INSTALLING):
        return f"  installing {line.count(',') + 1} packages"
    for pattern, text in STEPS:
        if found := pattern.match(line):
            return text.format(*found.groups())
    return None


def main(log: Path, command: list[str]) -> int:
    """Run the command; return its exit code."""
    last: deque[str] = deque(maxlen=SHOWN_LINES)
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            last.append(line)
            if said := step(line):
                print(said, flush=True)
    if process.returncode:
        print(
            "".join(last), f"the installation failed; all of its output is in {log}", sep="", file=sys.stderr
        )
    else:
        print("done", flush=True)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
