"""Archives of cases, unpacked: files and folders only, and never outside of the folder that is given."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

from dse.base.errors import InputError


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
