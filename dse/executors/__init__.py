"""Executors behind one small interface: they evaluate design points and yield rows as they finish."""

from dse.executors.auto import AUTO_RAY_THRESHOLD_S, AutoChoice, choose, make_executor
from dse.executors.base import Executor
from dse.executors.local import LocalExecutor, usable_cores
from dse.executors.ray_cluster import RayExecutor

__all__ = [
    "AUTO_RAY_THRESHOLD_S",
    "AutoChoice",
    "Executor",
    "LocalExecutor",
    "RayExecutor",
    "choose",
    "make_executor",
    "usable_cores",
]
