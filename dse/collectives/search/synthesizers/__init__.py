"""The synthesizers by name; packages may add others as entry points of `dse.synthesizers`."""

from dse.collectives.search.synthesizers.base import Effort as Effort
from dse.collectives.search.synthesizers.base import Progress as Progress
from dse.collectives.search.synthesizers.base import Synthesis as Synthesis
from dse.collectives.search.synthesizers.base import Synthesizer as Synthesizer
