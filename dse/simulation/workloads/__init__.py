"""Workloads: generated for a model and a strategy, or read from execution traces; export of both files."""

from typing import TYPE_CHECKING

from dse.base.lazy import lazily
from dse.simulation.workloads.settings import WorkloadSettings as WorkloadSettings
from dse.simulation.workloads.settings import make_generator as make_generator

if TYPE_CHECKING:
    from dse.simulation.workloads.generators import GeneratedWorkload as GeneratedWorkload
    from dse.simulation.workloads.generators import NativeGenerator as NativeGenerator
    from dse.simulation.workloads.generators import WorkloadGenerator as WorkloadGenerator
    from dse.simulation.workloads.generators import generate as generate
    from dse.simulation.workloads.names import OperatorName as OperatorName
    from dse.simulation.workloads.names import parse_name as parse_name
    from dse.simulation.workloads.references import DEFAULT_REFERENCE as DEFAULT_REFERENCE
    from dse.simulation.workloads.references import Reference as Reference
    from dse.simulation.workloads.stage import StageGenerator as StageGenerator
    from dse.simulation.workloads.traces import ImportedWorkload as ImportedWorkload
    from dse.simulation.workloads.traces import IssueOrder as IssueOrder
    from dse.simulation.workloads.traces import TraceCounts as TraceCounts
    from dse.simulation.workloads.traces import Workload as Workload
    from dse.simulation.workloads.traces import read_groups as read_groups
    from dse.simulation.workloads.traces import read_workload as read_workload
    from dse.simulation.workloads.traces import workload_of as workload_of

__getattr__ = lazily(
    __name__,
    {
        "generators": "GeneratedWorkload NativeGenerator WorkloadGenerator generate",
        "names": "OperatorName parse_name",
        "references": "DEFAULT_REFERENCE Reference",
        "stage": "StageGenerator",
        "traces": "ImportedWorkload IssueOrder TraceCounts Workload read_groups read_workload workload_of",
    },
)
