"""First steps of a command: answer signals until `dse.base.signals` is loaded, collect garbage rarely.

Imports only what is in the interpreter: during each file that is loaded, Ctrl-C would be a traceback.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # `signal` itself loads more first
import os
import sys

INTERRUPTED = "interrupted"

_OBJECTS_PER_COLLECTION = 1_000_000  # loading a command makes some 200,000, of which nearly none is garbage


def is_command() -> bool:
    """Whether this process is `dse`, `python -m dse` or `python -m dse.sweep`, before anything is loaded."""
    if sys.argv[:1] != ["-m"]:
        return sys.argv[:1] != [] and os.path.basename(sys.argv[0]) == "dse"  # noqa: PTH119  # pathlib is not loaded
    if len(sys.orig_argv) < len(sys.argv):
        return False
    name = sys.orig_argv[-len(sys.argv)].removeprefix("-m")  # also written in one word
    return name.split(".")[0] == "dse" and name.count(".") <= 1


def _end(number: int, _frame: object) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(128 + number)


def answer_signals() -> None:
    """End the process with a line at a signal; Ctrl-C stays ignored where it is."""
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _end)
    _signal.signal(_signal.SIGTERM, _end)


def spare_collections() -> None:
    """Collect garbage rarely: 5 to 10 % of the time of a short command."""
    import gc  # in the interpreter, but it would count as loaded before all else

    gc.set_threshold(_OBJECTS_PER_COLLECTION, 10, 10)
