"""Design-space exploration of AI training systems: ten wings, see docs/architecture.md.

The names in `__all__` are the library (docs/library.md); each is imported when it is first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without `typing`, which takes longer to load than all of this
if TYPE_CHECKING:
    from typing import Any

    from dse.answers import cap_curve as cap_curve
    from dse.answers import select as select
    from dse.answers.explain.answers import explanation_of as explanation_of
    from dse.answers.explain.predicted_step import PredictedStep as PredictedStep
    from dse.answers.library import evaluate as evaluate
    from dse.answers.library import open_study as open_study
    from dse.answers.library import partition_graph as partition_graph
    from dse.answers.library import plan_training as plan_training
    from dse.answers.library import predict_step as predict_step
    from dse.answers.library import sweep_study as sweep_study
    from dse.answers.library import synthesize_collective as synthesize_collective
    from dse.base.errors import InputError as InputError
    from dse.collectives.question import SynthesizedCollective as SynthesizedCollective
    from dse.inputs.strategies import Strategy as Strategy
    from dse.partition.question import GraphPartition as GraphPartition
    from dse.planner.questions.training_plan import TrainingPlan as TrainingPlan
    from dse.studies.config import Config as Config
    from dse.studies.config import compose_config as compose_config
    from dse.studies.points import DesignPoint as DesignPoint
    from dse.studies.points import point_of as point_of
    from dse.studies.points import point_of_row as point_of_row
    from dse.studies.store import StudyRow as StudyRow
    from dse.studies.store import StudyStore as StudyStore

    __version__: str

_NAMES = {
    "answers": "cap_curve select",
    "answers.explain.answers": "explanation_of",
    "answers.explain.predicted_step": "PredictedStep",
    "answers.library": "evaluate open_study partition_graph plan_training predict_step sweep_study "
    "synthesize_collective",
    "base.errors": "InputError",
    "collectives.question": "SynthesizedCollective",
    "inputs.strategies": "Strategy",
    "partition.question": "GraphPartition",
    "planner.questions.training_plan": "TrainingPlan",
    "studies.config": "Config compose_config",
    "studies.points": "DesignPoint point_of point_of_row",
    "studies.store": "StudyRow StudyStore",
}
"""The names of the library by the module that has them."""
_HOMES = {name: f"dse.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)

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
