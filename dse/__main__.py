"""The command `dse`, also `python -m dse`: hands over to the module of the verb that is named first."""

from __future__ import annotations

TYPE_CHECKING = False  # without `typing`: modules are loaded when signals are answered, in `main`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


def program() -> str:
    """Return how this was called."""
    import sys
    from pathlib import Path

    return "python -m dse" if Path(sys.argv[0]).stem == "__main__" else "dse"


def usage() -> str:
    """Return the text of --help: a line per verb, of which none is imported."""
    from dse.commands.verbs import verbs

    lines = [f"  {verb.name:<12} {verb.meaning}" for verb in verbs().values()]
    return "\n".join(
        [
            f"usage: {program()} VERB ...",
            "",
            *lines,
            "",
            f"{program()} VERB --help explains one. Options: -h, --help, --version",
        ]
    )


def dispatch(arguments: Sequence[str]) -> int:
    """Do what the first argument says; return the exit code.

    Raises:
        InputError: no such verb, or whatever the command finds wrong.
    """
    import sys

    from dse.base.errors import InputError, did_you_mean

    name, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if name in ("-h", "--help"):
        print(usage())
        return 0
    if name == "--version":
        from typing import get_args

        import dse
        from dse.simulation.workloads.references import DEFAULT_REFERENCE, Reference

        others = ", ".join(name for name in get_args(Reference) if name != DEFAULT_REFERENCE)
        print(
            f"dse {dse.__version__}: simulates as {DEFAULT_REFERENCE}; simulator.reference has {others} too"
        )
        return 0
    if name.startswith("-"):
        options = ("-h", "--help", "--version")
        raise InputError(
            f"unknown option {name}; allowed are {', '.join(options)}{did_you_mean(name, options)}"
        )
    from dse.commands.verbs import registry

    run_verb: Callable[[Sequence[str]], int] = registry().load(name)
    sys.argv[0] = f"{program()} {name}"  # what usages show
    return run_verb(rest)


def main() -> NoReturn:
    """Run the command line of this process, and exit."""
    from dse.base.start import begin_command

    begin_command()

    from dse.base.signals import guard

    guard()

    from dse.commands.cli import run

    run(dispatch)


if __name__ == "__main__":
    main()
