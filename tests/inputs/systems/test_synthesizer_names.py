"""The synthesizers that a system may name are those of the registry, but for searches that follow a clock."""

from __future__ import annotations

from dse.collectives.search.synthesizers.registry import SYNTHESIZERS as REGISTRY
from dse.inputs.systems.algorithms import SYNTHESIZERS

FOLLOW_A_CLOCK = {"auto", "exact"}


def test_a_system_may_name_every_synthesizer_whose_schedules_depend_on_no_clock() -> None:
    assert set(SYNTHESIZERS) == {*REGISTRY.own, *REGISTRY.accepted} - FOLLOW_A_CLOCK
