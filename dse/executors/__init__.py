"""Executors behind one small interface: they evaluate design points and yield rows as they finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.executors.settings import ExecutorSettings as ExecutorSettings
from dse.lazy import lazily

if TYPE_CHECKING:
    from dse.executors.auto import AUTO_RAY_THRESHOLD_S as AUTO_RAY_THRESHOLD_S
    from dse.executors.auto import AutoChoice as AutoChoice
    from dse.executors.auto import choose as choose
    from dse.executors.auto import make_executor as make_executor
    from dse.executors.base import Executor as Executor
    from dse.executors.local import LocalExecutor as LocalExecutor
    from dse.executors.ray_cluster import RayExecutor as RayExecutor

__getattr__ = lazily(
    __name__,
    {
        "auto": "AUTO_RAY_THRESHOLD_S AutoChoice choose make_executor",
        "base": "Executor",
        "local": "LocalExecutor",
        "ray_cluster": "RayExecutor",
    },
)
