"""A folder with ASTRA-sim's three configuration files, read and changed, for the tests of these."""

import json
from pathlib import Path
from typing import Any

from dse.inputs.systems import (
    SystemSpec,
    read_system,
)

SYSTEM: dict[str, Any] = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 4,
    "preferred-dataset-splits": 10,
    "collective-optimization": "localBWAware",
    "all-reduce-implementation": ["direct", "halvingDoubling"],
    "all-gather-implementation": ["direct", "halvingDoubling"],
    "reduce-scatter-implementation": ["direct", "halvingDoubling"],
    "all-to-all-implementation": ["direct"],
    "peak-perf": 900,
    "local-mem-bw": 50.5,
    "roofline-enabled": 1,
    "track-local-mem": 1,
    "replay-only": 0,
    "trace-enabled": 1,
    "local-mem-trace-filename": "memory",
    "model-shared-bus": 0,
    "boost-mode": 0,
    "intra-dimension-scheduling": "FIFO",
    "inter-dimension-scheduling": "baseline",
}
NETWORK = (
    "topology: [FullyConnected, Switch]\nnpus_count: [8, 2]\nbandwidth: [128.5714, 25]\nlatency: [20, 0.5]\n"
)
REMOTE_MEMORY = {"memory-type": "MEMORY_POOL", "remote-mem-latency": 100, "remote-mem-bw": 50}


def read_folder(folder: Path, *, remote_memory: bool = True, **options: Any) -> SystemSpec:
    return read_system(
        folder / "system.json",
        folder / "network.yml",
        folder / "remote_memory.json" if remote_memory else None,
        **({"name": "any", "network_model": "congestion_unaware"} | options),
    )


def written_folder(folder: Path) -> Path:
    """The folder, with the three files."""
    (folder / "system.json").write_text(json.dumps(SYSTEM))
    (folder / "network.yml").write_text(NETWORK)
    (folder / "remote_memory.json").write_text(json.dumps(REMOTE_MEMORY))
    return folder
