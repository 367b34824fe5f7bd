"""Jobs as tests compare them."""

from __future__ import annotations

from dataclasses import replace

from dse.prediction.frameworks.job import Job
from dse.prediction.steps.plan import text_of_layers


def with_listed_stages(job: Job) -> Job:
    """Return a job whose plan lists the layers of each part, whatever rule shares them out."""
    return replace(job, plan=replace(job.plan, stages=text_of_layers(job.layers_per_part)))
