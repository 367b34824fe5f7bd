"""Schedules as files: CSV, JSON lines and Parquet in and out; programs of runtimes and traces out."""

from dse.collectives.files.content import ScheduleFile as ScheduleFile
from dse.collectives.files.read import read_schedule as read_schedule
