"""Ask DeepSpeed whether it accepts configurations: a list of [settings, ranks, data-parallel ranks] on stdin.

Ranks are asserted, none runs. Data-parallel ranks stand for the `mpu` of a program that has tensor
parallelism or pipelines, 0 for none. Prints a list with "" for each that is accepted, and the refusal of the
others.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import sys
from typing import Any

os.environ["DS_ACCELERATOR"] = "cpu"
logging.disable(logging.CRITICAL)

with contextlib.redirect_stdout(io.StringIO()):
    import deepspeed.comm as communication
    from deepspeed.runtime.config import DeepSpeedConfig


class _Ranks:
    """What a program says of its ranks."""

    def __init__(self, data_parallel: int) -> None:
        self.data_parallel = data_parallel

    def get_data_parallel_world_size(self) -> int:
        return self.data_parallel


def refusal(settings: dict[str, Any], ranks: int, data_parallel: int) -> str:
    """Return why DeepSpeed refuses settings; empty where it accepts them."""
    communication.get_rank = lambda *_, **__: 0
    communication.get_world_size = lambda *_, **__: ranks
    try:
        found = DeepSpeedConfig(settings, _Ranks(data_parallel) if data_parallel else None)
    except Exception as error:  # whatever it raises is its answer
        return f"{type(error).__name__}: {error}"
    expected = data_parallel or ranks / settings.get("sequence_parallel_size", 1)
    if found.world_size != expected:
        return f"ArbiterError: it took {found.world_size} ranks for {expected}"
    return ""


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        verdicts = [refusal(*case) for case in cases]
    json.dump(verdicts, sys.stdout)
