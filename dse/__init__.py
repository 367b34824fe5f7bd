"""Design-space exploration of AI training systems: one sub-package per noun, see docs/architecture.md.

The names in `__all__` are the library (docs/library.md); each is imported when it is first asked for.
"""

from __future__ import annotations

from dse import start as _start

if _start.is_command():  # before anything else is loaded; importing dse as a library changes nothing
    _start.answer_signals()
    _start.spare_collections()

    from dse.signals import guard as _guard

    _guard()

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.answers import cap_curve, select
    from dse.config import Config, compose_config
    from dse.errors import InputError
    from dse.explain.answers import explanation_of
    from dse.library import evaluate, open_study, sweep_study
    from dse.points import DesignPoint, point_of, point_of_row
    from dse.strategies import Strategy
    from dse.studies import StudyRow, StudyStore

    __version__: str

_HOMES = {
    "Config": "dse.config",
    "DesignPoint": "dse.points",
    "InputError": "dse.errors",
    "Strategy": "dse.strategies",
    "StudyRow": "dse.studies",
    "StudyStore": "dse.studies",
    "cap_curve": "dse.answers",
    "compose_config": "dse.config",
    "evaluate": "dse.library",
    "explanation_of": "dse.explain.answers",
    "open_study": "dse.library",
    "point_of": "dse.points",
    "point_of_row": "dse.points",
    "select": "dse.answers",
    "sweep_study": "dse.library",
}

__all__ = [
    "Config",
    "DesignPoint",
    "InputError",
    "Strategy",
    "StudyRow",
    "StudyStore",
    "cap_curve",
    "compose_config",
    "evaluate",
    "explanation_of",
    "open_study",
    "point_of",
    "point_of_row",
    "select",
    "sweep_study",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name of the library, or look up the version in the metadata of the installed package."""
        if name in _HOMES:
            from importlib import import_module

            return getattr(import_module(_HOMES[name]), name)
        if name == "__version__":
            from importlib.metadata import version

            return version("dse")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        """The names of the library."""
        return sorted([*__all__, "__version__"])
