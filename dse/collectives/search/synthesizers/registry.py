"""The table of synthesizers."""

from __future__ import annotations

from dse.base.settings.choices import Choices
from dse.collectives.search.synthesizers.base import Synthesizer

_HOME = "dse.collectives.search.synthesizers"
SYNTHESIZERS = Choices(
    "synthesizer",
    "dse.synthesizers",
    {
        "auto": f"{_HOME}.auto:Auto",
        "greedy": f"{_HOME}.greedy:Greedy",
        "arrival": f"{_HOME}.arrival:Arrival",
        "restarts": f"{_HOME}.restarts:Restarts",
        "beam": f"{_HOME}.beam:Beam",
        "exact": f"{_HOME}.exact:Exact",
        "symmetric": f"{_HOME}.symmetric:Symmetric",
        "trees": f"{_HOME}.trees:Trees",
        "improve": f"{_HOME}.improve:Improve",
    },
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
