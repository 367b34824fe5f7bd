"""The design space: axes and constraints as data, what remains of it, and bounds that leave points out."""

from dse.base.expressions import Expression
from dse.studies.space.space import DesignSpace, ScenarioStrategies, SpaceSurvey, sample

__all__ = ["DesignSpace", "Expression", "ScenarioStrategies", "SpaceSurvey", "sample"]
