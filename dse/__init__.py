"""Design-space exploration of AI training systems: ten wings, see docs/architecture.md.

The names in `__all__` are the library (docs/library.md); each is imported when it is first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without `typing`, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

    from dse.answers import cap_curve, select
    from dse.answers.explain.answers import explanation_of
    from dse.answers.explain.predicted_step import PredictedStep
    from dse.answers.library import (
        evaluate,
        open_study,
        partition_graph,
        plan_training,
        predict_step,
        sweep_study,
        synthesize_collective,
    )
    from dse.base.errors import InputError
    from dse.collectives.question import SynthesizedCollective
    from dse.inputs.strategies import Strategy
    from dse.partition.question import GraphPartition
    from dse.planner.questions.training_plan import TrainingPlan
    from dse.studies.config import Config, compose_config
    from dse.studies.points import DesignPoint, point_of, point_of_row
    from dse.studies.store import StudyRow, StudyStore

    __version__: str

_HOMES = {
    "Config": "dse.studies.config",
    "DesignPoint": "dse.studies.points",
    "GraphPartition": "dse.partition.question",
    "InputError": "dse.base.errors",
    "PredictedStep": "dse.answers.explain.predicted_step",
    "Strategy": "dse.inputs.strategies",
    "StudyRow": "dse.studies.store",
    "StudyStore": "dse.studies.store",
    "SynthesizedCollective": "dse.collectives.question",
    "TrainingPlan": "dse.planner.questions.training_plan",
    "cap_curve": "dse.answers",
    "compose_config": "dse.studies.config",
    "evaluate": "dse.answers.library",
    "explanation_of": "dse.answers.explain.answers",
    "open_study": "dse.answers.library",
    "partition_graph": "dse.answers.library",
    "plan_training": "dse.answers.library",
    "point_of": "dse.studies.points",
    "point_of_row": "dse.studies.points",
    "predict_step": "dse.answers.library",
    "select": "dse.answers",
    "sweep_study": "dse.answers.library",
    "synthesize_collective": "dse.answers.library",
}

__all__ = [
    "Config",
    "DesignPoint",
    "GraphPartition",
    "InputError",
    "PredictedStep",
    "Strategy",
    "StudyRow",
    "StudyStore",
    "SynthesizedCollective",
    "TrainingPlan",
    "cap_curve",
    "compose_config",
    "evaluate",
    "explanation_of",
    "open_study",
    "partition_graph",
    "plan_training",
    "point_of",
    "point_of_row",
    "predict_step",
    "select",
    "sweep_study",
    "synthesize_collective",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name of the library, or look up the version in the metadata of the installed package."""
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        if name == "__version__":
            from importlib.metadata import version

            return version("dse")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """The names of the library."""
        return sorted([*__all__, "__version__"])
