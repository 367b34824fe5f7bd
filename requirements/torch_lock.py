"""Part a lock with PyTorch in three: `python requirements/torch_lock.py LOCK`, called by `make lock`.

Next to this file, `cuda.lock` gets PyTorch from the package index and CUDA's libraries, without which that
does not load under Linux. `torch.lock` gets what else of LOCK dev.lock lacks. `cpu.lock` gets the file of the
same version that is built for CPUs, where pip finds one on this machine; elsewhere it stays as it is.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
_ENTRY = re.compile(r"^\S.*(?:\n +--hash.*)+\n", re.MULTILINE)
_CUDA = ("cuda-", "nvidia-", "torch==", "triton==")


def main(lock: Path) -> None:
    """Write the locks."""
    there = _ENTRY.findall((FOLDER / "dev.lock").read_text())
    entries = [entry for entry in _ENTRY.findall(lock.read_text()) if entry not in there]
    (FOLDER / "cuda.lock").write_text("".join(entry for entry in entries if entry.startswith(_CUDA)))
    (FOLDER / "torch.lock").write_text("".join(entry for entry in entries if not entry.startswith(_CUDA)))
    (torch,) = (entry.partition(" ")[0] for entry in entries if entry.startswith("torch=="))
    found = found_hash(f"{torch}+cpu")
    if found:
        (FOLDER / "cpu.lock").write_text(f"{torch}+cpu \\\n    --hash=sha256:{found}\n")


def found_hash(requirement: str) -> str | None:
    """Return the hash of the file that pip takes for a requirement on this machine, None if it finds none."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run([*pip, requirement, "--dest", folder], stderr=subprocess.DEVNULL, check=False)
        files = list(Path(folder).iterdir())
        return None if done.returncode else hashlib.sha256(files[0].read_bytes()).hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
