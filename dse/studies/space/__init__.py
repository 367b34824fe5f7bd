"""The design space: axes and constraints as data, what remains of it, and bounds that leave points out."""

from dse.studies.space.space import DesignSpace as DesignSpace
from dse.studies.space.space import SpaceSurvey as SpaceSurvey
from dse.studies.space.space import sample as sample
