"""The design space: axes and constraints as data, what remains of it, and bounds that leave points out."""

from dse.studies.space.space import DesignSpace, SpaceSurvey, sample

__all__ = ["DesignSpace", "SpaceSurvey", "sample"]
