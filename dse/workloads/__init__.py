"""Workloads: generated for a model and a strategy, or read from execution traces; export of both files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.errors import InputError
from dse.workloads.generate import GeneratedWorkload, NativeGenerator, WorkloadGenerator, generate
from dse.workloads.names import OperatorName, parse_name
from dse.workloads.stage import StageGenerator
from dse.workloads.traces import (
    ImportedWorkload,
    TraceCounts,
    Workload,
    read_groups,
    read_workload,
    workload_of,
)

if TYPE_CHECKING:
    from dse.config import WorkloadSettings

__all__ = [
    "GeneratedWorkload",
    "ImportedWorkload",
    "NativeGenerator",
    "OperatorName",
    "StageGenerator",
    "TraceCounts",
    "Workload",
    "WorkloadGenerator",
    "generate",
    "make_generator",
    "parse_name",
    "read_groups",
    "read_workload",
    "workload_of",
]


def make_generator(settings: WorkloadSettings) -> WorkloadGenerator:
    """Return the generator that the configuration names.

    Raises:
        InputError: it needs a checkout and there is none.
    """
    if settings.name == "native":
        return NativeGenerator()
    if settings.checkout is None:
        raise InputError(
            "workload.checkout is null; workload=stage needs the folder of your STAGE: workload.checkout=PATH"
        )
    return StageGenerator(settings.checkout, settings.entry, settings.python, settings.timeout_s)
