"""What every command line shares: user errors in one line, exit codes."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dse.errors import DseError, InputError

if TYPE_CHECKING:
    from dse.config import Config


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors are user errors: one line, like all others, instead of a usage text."""

    def __init__(self, **options: Any) -> None:
        """As argparse's, but options are written in full: new ones must not change what an old line means."""
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise an `InputError` that points to --help."""
        raise InputError(f"{message}; see {self.prog} --help")


def run(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """Call `main` with the command-line arguments and exit with the code that it returns.

    A `DseError` is printed in one line, `error: <message>`, on stderr, and exits with 2; Ctrl-C exits with
    130; a closed pipe exits with 141, like a program that its signal ends. Any other exception is a bug and
    stays a traceback.
    """
    try:
        _check_folder()
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except DseError as error:
        print("error:", " ".join(str(error).split()), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("error: the output cannot be written: No space left on device", file=sys.stderr)
        sys.exit(2)
    sys.exit(code)


def _check_folder() -> None:
    try:
        os.getcwd()  # noqa: PTH109 (Path.cwd raises the same)
    except FileNotFoundError:
        raise InputError("the current folder has been removed; change to another one") from None


def config_from_arguments(argv: Sequence[str], usage: str) -> Config | None:
    """Return the configuration that the overrides in `argv` yield; None after --help or --cfg, which print.

    Raises:
        InputError: an unknown option, or whatever `compose_config` finds wrong.
    """
    configs = configs_from_arguments(argv, usage, several=())
    return configs[0] if configs else None


def configs_from_arguments(
    argv: Sequence[str], usage: str, several: Sequence[str] = ("-m", "--multirun")
) -> list[Config]:
    """The same for commands that take `several` configurations, one for each combination of listed values.

    Raises:
        InputError: as `config_from_arguments`.
    """
    if any(argument in ("-h", "--help") for argument in argv):
        print(usage)
        return []
    options = [argument for argument in argv if argument.startswith("-")]
    allowed = ("--cfg", *several)
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise InputError(f"unknown option {unknown[0]}; allowed are KEY=VALUE, --help, {', '.join(allowed)}")
    from dse.config import compose_config, compose_configs, resolved_yaml

    overrides = [argument for argument in argv if argument not in options]
    many = any(option in several for option in options)
    configs = compose_configs(overrides) if many else [compose_config(overrides)]
    if "--cfg" in options:
        print("---\n".join(resolved_yaml(config) for config in configs), end="")
        return []
    return configs
