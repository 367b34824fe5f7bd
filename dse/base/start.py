"""First steps of a command: answer signals until `dse.base.signals` is loaded, collect garbage rarely.

Imports only what is in the interpreter: during each file that is loaded, Ctrl-C would be a traceback.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore]  # `signal` itself loads more first
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

INTERRUPTED = "interrupted"

_OBJECTS_PER_COLLECTION = 1_000_000  # loading a command makes some 200,000, of which nearly none is garbage


def begin_command() -> None:
    """Make this process a command: it answers signals in one line, and collects garbage rarely.

    The first call of each entry point, before anything else is loaded. The second is `signals.guard`.
    """
    _answer_signals()
    _spare_collections()
    _spare_threads()
    _spare_pandas()


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


def _spare_pandas() -> None:
    """Let pyarrow make its arrays without pandas, which takes a third of a second; `to_pandas` imports it."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds pyarrow, and no pandas while pyarrow looks for it, which it does once for arrays."""

    def __init__(self) -> None:
        self._is_looking = False

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name == "pandas" and self._is_looking:
            raise ModuleNotFoundError(name=name)
        if name != "pyarrow" or self._is_looking:
            return None
        from importlib.util import find_spec

        self._is_looking = True
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_look(module: ModuleType) -> None:
                try:
                    load(module)
                    module.scalar(None)
                finally:
                    sys.meta_path.remove(self)

            spec.loader.exec_module = load_and_look  # type: ignore[method-assign]
        return spec
