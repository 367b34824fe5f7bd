"""Where cases come from: JSON lines, a case folder, a folder of folders, or a .tar.gz of them."""

from __future__ import annotations

import contextlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import json_data, load_json_object, read_yaml
from dse.base.signals import putting_away
from dse.simulation.validation.collectives import collective_case
from dse.simulation.validation.compare import Case
from dse.simulation.validation.contents import SYSTEM_PART
from dse.simulation.validation.folders import folder_case, is_case_folder
from dse.simulation.validation.parts import Files, missing_of_case, present_of_case
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


_OF_NODES = "per-node-custom-implementation"


def custom_folders(case: Path) -> set[Path]:
    """Return the folders, without links, of the traces that the system of a case names by prefixes.

    Files that cannot be read name none: whoever reads the case says what is wrong with them.
    """
    prefixes: list[Any] = []
    try:
        file = Files.of_folder(case).one(SYSTEM_PART)
        system = {} if file is None else load_json_object(file)
        for key, value in system.items():
            if key.endswith("-implementation-custom") and isinstance(value, list):
                prefixes += value
        if isinstance(of_nodes := system.get(_OF_NODES), str):
            prefixes += read_yaml(case / of_nodes).values()
    except InputError:
        pass
    return {(case / prefix).parent.resolve() for prefix in prefixes if isinstance(prefix, str)}


def unpack(path: Path, folder: Path) -> None:
    """Put the files of a tar archive, links as copies of what they lead to inside of it, into `folder`.

    `extractall(filter="data")` would do the same, but Python has it only from 3.10.12 and 3.11.4 on.

    Raises:
        InputError: it cannot be read, or a member leads outside or is no file, folder or link to a file.
    """
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if not member.isdir():
                    _write(archive, member, _inside(folder, member.name, path), path)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputError(f"{path}: cannot be unpacked: {error}") from None


def _inside(folder: Path, name: str, path: Path) -> Path:
    place = Path(name)
    if place.is_absolute() or ".." in place.parts:
        raise InputError(f"{path}: {name} leads outside of the archive; pack its folder by a relative name")
    return folder / place


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, path: Path) -> None:
    try:
        content = archive.extractfile(member)
    except KeyError:
        content = None
    if content is None:
        raise InputError(f"{path}: {member.name} is no file, folder or link to a file of the archive")
    target.parent.mkdir(parents=True, exist_ok=True)
    with content, target.open("wb") as file:
        shutil.copyfileobj(content, file)
