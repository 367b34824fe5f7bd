"""Jobs that a script hands to Slurm: `sbatch` with a file, a text behind << or a wrapped command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.base.errors import InputError

_NAMES_OF_FLAGS = """
-h --help -H --hold -I --ignore-pbs -k --no-kill -O --overcommit -s --oversubscribe -Q --quiet -v
--verbose -V --version -W --wait --contiguous --exclusive --parsable --requeue --no-requeue --reboot
--spread-job --test-only --usage --use-min-nodes --get-user-env --propagate --nice
"""
_FLAGS = frozenset(_NAMES_OF_FLAGS.split())
_COUNTED = {"-N": "--nodes", "-n": "--ntasks", "-G": "--gpus"}


@dataclass
class Submission:
    """A call of sbatch: lines as `#SBATCH` has them, variables, and the script with its arguments.

    `keeps` tells whether the job sees the variables of the script that submits it.
    """

    lines: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    keeps: bool = True
    wrapped: str = ""
    words: list[str] = field(default_factory=list)


def submission(words: Sequence[str], where: str) -> Submission:
    """Return what the words behind sbatch say.

    Raises:
        InputError: an option lacks its value, or several jobs are one.
    """
    found, rest = Submission(), list(words)
    while rest and rest[0].startswith("-"):
        option, has_value, value = rest.pop(0).partition("=")
        if option == ":":
            break
        if not option.startswith("--") and len(option) > 2:
            option, value, has_value = option[:2], option[2:] + has_value + value, "="
        if not has_value and option not in _FLAGS:
            if not rest:
                raise InputError(f"{where}: {option} of sbatch needs a value")
            value = rest.pop(0)
        if option == "--wrap":
            found.wrapped = value
        elif option == "--export":
            names = value.split(",")
            found.keeps = "ALL" in names
            found.variables |= {
                name: text for name, is_set, text in (one.partition("=") for one in names) if is_set
            }
        else:
            found.lines.append(
                f"#SBATCH {_COUNTED.get(option, option)}={value}" if value else f"#SBATCH {option}"
            )
    if ":" in rest[:1]:
        raise InputError(f"{where}: parts of a heterogeneous job, joined by :, are not read")
    found.words = rest
    return found
