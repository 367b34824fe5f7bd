"""Where cases come from: JSON lines, a case folder, a folder of folders, or a .tar.gz of them."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import json_data
from dse.base.signals import putting_away
from dse.simulation.validation.archives import unpack
from dse.simulation.validation.cases import Case
from dse.simulation.validation.collectives import collective_case
from dse.simulation.validation.custom import custom_folders
from dse.simulation.validation.folders import folder_case, is_case_folder
from dse.simulation.validation.parts import missing_of_case, present_of_case
from dse.simulation.validation.points import point_case

_OF_A_CASE = ("system.json", "case.json", "*.et")


@contextlib.contextmanager
def load_cases(path: Path) -> Iterator[list[Case]]:
    """Give the cases of a file or folder; an archive is unpacked as long as the context lasts.

    Raises:
        InputError: the path does not exist, is of no known form, holds no case, or holds a wrong one.
    """
    if path.is_dir():
        yield _folder_cases(path)
    elif path.name.endswith((".tar.gz", ".tgz")):
        with putting_away(), tempfile.TemporaryDirectory(prefix="dse-cases-") as folder:
            unpack(path, Path(folder))
            yield _folder_cases(Path(folder), path)
    elif path.suffix == ".jsonl":
        yield list(_json_cases(path))
    elif path.exists():
        raise InputError(f"{path}: unknown form; expected .jsonl, a case folder or a folder of them, .tar.gz")
    else:
        raise InputError(f"{path}: no such file or folder")


def _json_cases(path: Path) -> Iterator[Case]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not any(line.strip() for line in lines):
        raise InputError(f"{path}: no case; expected one JSON object a line")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        record = json_data(line, place)
        if not isinstance(record, dict):
            raise InputError(f"{place}: holds {type(record).__name__}; expected an object")
        yield _json_case(record, place)


def _json_case(record: dict[str, Any], place: str) -> Case:
    if "collective" not in record and "strategy" not in record:
        raise InputError(f"{place}: has neither 'strategy' (a point) nor 'collective'")
    try:
        return collective_case(record, place) if "collective" in record else point_case(record, place)
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(place) else f"{place}: {message}") from None
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{place}: a value has the wrong type or length: {error}") from None


def _folder_cases(folder: Path, shown: Path | None = None) -> list[Case]:
    if is_case_folder(folder):
        return [folder_case(folder, folder.name or folder.resolve().name)]
    found = sorted({path.parent for name in _OF_A_CASE for path in folder.rglob(name)})
    cases = [path for path in found if is_case_folder(path)]
    incomplete = [path for path in found if path not in cases]
    if incomplete:
        named = {folder for case in cases for folder in custom_folders(case)}
        incomplete = [path for path in incomplete if path.resolve() not in named]
    if incomplete:
        raise InputError(_what_lacks(incomplete[0], folder, shown or folder))
    if not cases:
        present = f"it has {', '.join(names)}, but " if (names := present_of_case(folder)) else ""
        raise InputError(
            f"{shown or folder}: {present}no case folder (system.json, network.yml, traces and a log)"
        )
    return [folder_case(case, str(case.relative_to(folder))) for case in cases]


def _what_lacks(case: Path, folder: Path, shown: Path) -> str:
    place = "" if case == folder else f"{case.relative_to(folder)} "
    has = f"has {', '.join(present_of_case(case))}, but " if case == folder else "has "
    return (
        f"{shown}: {place}{has}no {' and no '.join(missing_of_case(case))}; "
        "complete the case, or move it elsewhere"
    )
