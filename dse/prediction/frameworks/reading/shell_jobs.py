"""Jobs that a script hands to Slurm: `sbatch` with a file, a text behind << or a wrapped command."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.shell_slurm import take_option


@dataclass
class Submission:
    """A call of sbatch: options with their values, variables, and the script with its arguments.

    `keeps` tells whether the job sees the variables of the script that submits it; else it sees `names`.
    """

    options: list[tuple[str, str]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    keeps: bool = True
    names: list[str] = field(default_factory=list)
    wrapped: str = ""
    words: list[str] = field(default_factory=list)


def submission(words: Sequence[str], where: str) -> Submission:
    """Return what the words behind sbatch say.

    Raises:
        InputError: an option lacks its value, or several jobs are one.
    """
    found, rest = Submission(), deque(words)
    while rest and rest[0].startswith("-"):
        option, value = take_option(rest)
        if value is None:
            raise InputError(f"{where}: {option} of sbatch needs a value")
        if option == "--wrap":
            found.wrapped = value
        elif option == "--export":
            names = value.split(",")
            found.keeps = "ALL" in names
            found.names = [name for name in names if "=" not in name]
            found.variables |= {
                name: text for name, is_set, text in (one.partition("=") for one in names) if is_set
            }
        else:
            found.options.append((option, value))
    if rest and rest[0] == ":":
        raise InputError(f"{where}: parts of a heterogeneous job, joined by :, are not read")
    found.words = list(rest)
    return found
