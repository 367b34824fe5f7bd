"""The synthesizers that a system may name are those of the registry whose sends a simulation can replay."""

from __future__ import annotations

from dse.collectives.search.synthesizers.registry import SYNTHESIZERS as REGISTRY
from dse.inputs.systems.fields import SYNTHESIZERS

FOLLOW_A_CLOCK = {"auto", "exact"}
HAVE_NO_SENDS = {"mesh"}  # its schedules are rules


def test_a_system_may_name_every_synthesizer_of_sends_that_depend_on_no_clock() -> None:
    assert set(SYNTHESIZERS) == {*REGISTRY.own, *REGISTRY.accepted} - FOLLOW_A_CLOCK - HAVE_NO_SENDS
