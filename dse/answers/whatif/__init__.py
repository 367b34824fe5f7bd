"""Sensitivity: how wall times and the best strategy follow the numbers of the system and the memory cap."""

from dse.answers.whatif.binding import binding_constraint as binding_constraint
from dse.answers.whatif.candidates import Candidates as Candidates
from dse.answers.whatif.parameters import Parameter as Parameter
from dse.answers.whatif.parameters import parameters_named as parameters_named
from dse.answers.whatif.parameters import parameters_of as parameters_of
from dse.answers.whatif.sensitivity import optima as optima
from dse.answers.whatif.sensitivity import sensitivity as sensitivity
from dse.answers.whatif.switch import Switch as Switch
from dse.answers.whatif.switch import cap_switches as cap_switches
from dse.answers.whatif.switch import switch_among as switch_among
