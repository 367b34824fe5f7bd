"""Schedules as files: CSV, JSON lines and Parquet in and out; programs of runtimes and traces out."""

from dse.collectives.files.content import ScheduleFile
from dse.collectives.files.read import read_schedule

__all__ = ["ScheduleFile", "read_schedule"]
