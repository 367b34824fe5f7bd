"""The methods by which points are answered: predictions of steps on hardware, and simulations of traces."""

from __future__ import annotations

import functools
import json

from dse.studies.points.methods.method import Answer as Answer
from dse.studies.points.methods.method import Answers as Answers
from dse.studies.points.methods.method import Inputs
from dse.studies.points.methods.method import Method as Method
from dse.studies.points.methods.method import Varied as Varied
from dse.studies.points.methods.prediction import StepPrediction
from dse.studies.points.methods.simulation import TraceSimulation

PREDICTION = StepPrediction()
SIMULATION = TraceSimulation()
METHODS: tuple[Method, ...] = (PREDICTION, SIMULATION)
"""In the order in which a scenario asks them: the first that answers it counts."""


def method_of(on: Inputs) -> Method:
    """Return the method of a scenario."""
    return next(method for method in METHODS if method.answers(on))


@functools.lru_cache(maxsize=256)
def method_of_options(options: str | None) -> Method:
    """Return the method of a stored point by its options; None is a row of schema version 1."""
    known = json.loads(options) if options else {}
    return next(method for method in METHODS if method.identity().keys() <= known.keys())
