"""Executors behind one small interface: they evaluate design points and yield rows as they finish."""

from dse.executors.base import Executor
from dse.executors.evaluate import DesignPoint, evaluate, point_of, run_point
from dse.executors.local import LocalExecutor

__all__ = ["DesignPoint", "Executor", "LocalExecutor", "evaluate", "point_of", "run_point"]
