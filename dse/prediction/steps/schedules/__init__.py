"""Pipeline schedules of training steps: when each stage runs what, and what that takes."""

from dse.prediction.steps.schedules.pipeline import SCHEDULES, pipeline, pipelines, schedule_named
from dse.prediction.steps.schedules.times import PipelineTimes, StageTimes

__all__ = ["SCHEDULES", "PipelineTimes", "StageTimes", "pipeline", "pipelines", "schedule_named"]
