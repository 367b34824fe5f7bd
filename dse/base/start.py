"""First steps of a command: answer signals until `dse.base.signals` is loaded, collect garbage rarely.

Imports only what is in the interpreter: during each file that is loaded, Ctrl-C would be a traceback.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # `signal` itself loads more first
import os

INTERRUPTED = "interrupted"

_OBJECTS_PER_COLLECTION = 1_000_000  # loading a command makes some 200,000, of which nearly none is garbage


def begin_command() -> None:
    """Make this process a command: it answers signals in one line, and collects garbage rarely.

    The first call of each entry point, before anything else is loaded. The second is `signals.guard`.
    """
    _answer_signals()
    _spare_collections()
    _spare_threads()


def _end(number: int, _frame: object) -> None:
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(128 + number)


def _answer_signals() -> None:
    """End the process with a line at a signal; Ctrl-C stays ignored where it is."""
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _end)
    _signal.signal(_signal.SIGTERM, _end)


def _spare_collections() -> None:
    """Collect garbage rarely: 5 to 10 % of the time of a short command."""
    import gc  # in the interpreter, but it would count as loaded before all else

    gc.set_threshold(_OBJECTS_PER_COLLECTION, 10, 10)


def _spare_threads() -> None:
    """Let numpy have one thread: others wait busily for their part of small matrices."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
