"""Sensitivity: how wall times and the best strategy follow the numbers of the system and the memory cap."""

from __future__ import annotations

from dse.answers.whatif.binding import binding_constraint
from dse.answers.whatif.candidates import Candidates
from dse.answers.whatif.parameters import Parameter, parameters_named, parameters_of
from dse.answers.whatif.sensitivity import optima, sensitivity
from dse.answers.whatif.switch import Switch, cap_switches, switch_among

__all__ = [
    "Candidates",
    "Parameter",
    "Switch",
    "binding_constraint",
    "cap_switches",
    "optima",
    "parameters_named",
    "parameters_of",
    "sensitivity",
    "switch_among",
]
