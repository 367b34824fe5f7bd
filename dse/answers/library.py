"""The package as a library: sweep, open and evaluate from Python; `import dse` has these names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from dse.answers.foreign_inputs import foreign_inputs
from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.studies.config import Config
from dse.studies.points import DesignPoint, point_of
from dse.studies.points import evaluate as evaluate_point
from dse.studies.store import StudyRow, StudyStore
from dse.studies.sweeps import Session


def sweep_study(
    config: Config,
    *,
    on_row: Callable[[StudyRow], object] | None = None,
    say: Callable[[str], object] | None = None,
) -> StudyStore:
    """Evaluate what the study of a configuration lacks of its design space, and return the study.

    Quiet, and resumable: points that are stored are not computed again, so the same call goes on with a sweep
    that was interrupted. `on_row` gets every new row as it is evaluated, before it is stored; `say` gets
    warnings and notes, a line each.

    Raises:
        InputError: an empty space, a study that cannot be read or written, or no configuration.
    """
    if not isinstance(config, Config):
        raise InputError(
            f"sweep_study got {excerpt(repr(config))}; it takes a configuration, such as "
            'dse.compose_config(["system=torus_4x4", "model=tiny"])'
        )

    def lines(text: str) -> None:
        if say is not None:
            say(text)

    return (
        Session(config, ["dse.sweep_study"], lines, lambda _: nullcontext(_Listener(on_row)), foreign_inputs)
        .run()
        .store
    )


def open_study(path: str | Path) -> StudyStore:
    """Return the study in a folder such as `results/llama70b-system1`.

    Raises:
        InputError: the folder is not a study, or a part of it is corrupt or written by a newer version.
    """
    store = StudyStore(path)
    store.parts()
    return store


def evaluate(point: DesignPoint | Config) -> StudyRow:
    """Return the row of a design point, or of the model, system and strategy of a configuration.

    Infeasible, failed, late and deadlocked points are rows with a status and a reason. Nothing is stored.

    Raises:
        InputError: the input is wrong in a way that concerns every point, such as an unsupported network, or
            it is neither a point nor a configuration.
    """
    if not isinstance(point, DesignPoint | Config):
        raise InputError(
            f"evaluate got {excerpt(repr(point))}; it takes a point or a configuration, such as "
            'dse.compose_config(["system=torus_4x4", "model=tiny", "strategy.dp=16"])'
        )
    return evaluate_point(point_of(point, point.strategy) if isinstance(point, Config) else point)


class _Listener:
    """Passes rows on to a callback, if there is one."""

    def __init__(self, on_row: Callable[[StudyRow], object] | None) -> None:
        self._on_row = on_row

    def add(self, row: StudyRow) -> None:
        if self._on_row is not None:
            self._on_row(row)
