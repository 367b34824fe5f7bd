"""Executors behind one small interface: they evaluate cases and yield rows as they finish."""

from typing import TYPE_CHECKING

from dse.base.lazy import lazily
from dse.studies.executors.settings import ExecutorSettings as ExecutorSettings

if TYPE_CHECKING:
    from dse.studies.executors.auto import AUTO_RAY_THRESHOLD_S as AUTO_RAY_THRESHOLD_S
    from dse.studies.executors.auto import AutoChoice as AutoChoice
    from dse.studies.executors.auto import choose as choose
    from dse.studies.executors.auto import make_executor as make_executor
    from dse.studies.executors.base import Executor as Executor
    from dse.studies.executors.local import LocalExecutor as LocalExecutor
    from dse.studies.executors.ray_cluster import RayExecutor as RayExecutor

__getattr__ = lazily(
    __name__,
    {
        "auto": "AUTO_RAY_THRESHOLD_S AutoChoice choose make_executor",
        "base": "Executor",
        "local": "LocalExecutor",
        "ray_cluster": "RayExecutor",
    },
)
