"""The time of pipelines of training steps, by their schedules."""

from dse.prediction.steps.schedules.pipeline import pipeline, pipelines
from dse.prediction.steps.schedules.times import PipelineTimes, StageTimes

__all__ = ["PipelineTimes", "StageTimes", "pipeline", "pipelines"]
