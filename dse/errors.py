"""User errors: what a command line prints in one line before it exits with code 2."""

from __future__ import annotations


class DseError(Exception):
    """Base of every error that the user can repair; the message names what was got and what is allowed."""


class InputError(DseError):
    """A key, file or command-line value is wrong; the message names it, its value and what is allowed."""


class SimulationError(DseError):
    """A workload asks for what no simulator can finish, such as a collective without an algorithm."""
