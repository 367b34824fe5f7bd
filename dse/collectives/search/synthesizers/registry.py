"""The registry of synthesizers; packages may add others as entry points of `dse.synthesizers`."""

from __future__ import annotations

from dse.base.settings import Accepted, Choices
from dse.collectives.search.synthesizers.base import Synthesizer

_HOME = "dse.collectives.search.synthesizers"
SYNTHESIZERS = Choices(
    "synthesizer",
    "dse.synthesizers",
    {"auto": f"{_HOME}.auto:Auto", "fast": f"{_HOME}.fast:Fast", "exact": f"{_HOME}.exact:Exact"},
    {
        name: Accepted(f"{_HOME}.{home}", what)
        for name, home, what in (
            ("symmetric", "symmetric:Symmetric", "is what synthesizer=fast runs on symmetric networks"),
            ("mesh", "meshes:Meshes", "is what synthesizer=fast runs on large meshes"),
            ("restarts", "restarts:Restarts", "is what synthesizer=fast runs on other networks"),
            ("improve", "improve:Improve", "is a step of synthesizer=auto, run alone"),
            ("trees", "trees:Trees", "is a step of synthesizer=auto, run alone"),
            ("greedy", "greedy:Greedy", "is a greedy search as in TACOS, to compare with"),
            ("arrival", "greedy:Arrival", "is a greedy search as in BEAN TACOS, to compare with"),
            ("beam", "beam:Beam", "is a beam search as in BEAN TACOS, to compare with"),
        )
    },
    key="synthesizer",
)


def make_synthesizer(synthesizer: str | Synthesizer) -> Synthesizer:
    """Return the synthesizer of a name, with its own defaults; one that is made already as it is.

    Raises:
        InputError: there is none of that name.
    """
    if isinstance(synthesizer, Synthesizer):
        return synthesizer
    made: Synthesizer = SYNTHESIZERS.load(synthesizer)()
    return made
