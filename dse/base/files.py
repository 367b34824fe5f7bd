"""Files that are read within bounds, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import errno
import functools
import io
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from dse.base.errors import InputError
from dse.base.signals import putting_away

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets evaluate (OWASP, CSV injection)
_MOST_TEXT_BYTES = 2**28


def conf_folder() -> Path:
    """Return the folder of the configuration: inside an installed package, or next to it in a source tree.

    Raises:
        InputError: neither exists.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise InputError(
        f"no configuration: neither {package / 'conf'} nor {package.parent / 'conf'} has config.yaml"
    )


@functools.cache
def conf_names(group: str) -> tuple[str, ...]:
    """Return the names of the files of a group of the configuration, such as `system`."""
    return tuple(sorted(path.stem for path in (conf_folder() / group).glob("*.yaml")))


def conf_file(group: str, name: str) -> Path:
    """Return the file of this name in a group of the configuration, whether it is there or not."""
    return conf_folder() / group / f"{name}.yaml"


def is_file(path: Path) -> bool:
    """Return whether a file is there; no file has a name that is too long or holds NUL."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Return whether a folder is there, with names as in `is_file`."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Turn an OSError (read-only, disk full …) into an InputError that names the path and the cause."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; "
            "free or unlock the folder, or choose another one"
        ) from error


@contextlib.contextmanager
def regular_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be read.

    Raises:
        InputError: it cannot be opened or read, or is a pipe or a device.
    """
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{path}: is a pipe or a device; it must be a regular file")
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def read_bytes(path: Path, most_bytes: int = 2**34) -> bytes:
    """Return the content of a regular file.

    Raises:
        InputError: the file cannot be read, is a pipe or a device, or has more than `most_bytes`.
    """
    with regular_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise InputError(f"{path}: has {size} bytes; at most {most_bytes} are allowed")
        return file.read(size)


def _opened_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a pipe without a writer would wait for ever


def read_text(path: Path, *, keeps_mark: bool = False) -> str:
    """Return the text of a configuration file or a graph: regular, UTF-8, at most 256 MiB.

    A byte order mark before it is left out, unless a reader by hand has to see it.

    Raises:
        InputError: it is not, or cannot be read.
    """
    try:
        return read_bytes(path, _MOST_TEXT_BYTES).decode("utf-8" if keeps_mark else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def make_folder(folder: Path) -> None:
    """Make a folder and its parents; an existing one is left as it is.

    Raises:
        InputError: the folder cannot be made.
    """
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Write `data` to `path`: a crash or an error at any moment leaves the old file or the new one.

    The temporary file is in the same folder. Its name begins with a dot and does not end like that of a data
    file, so that neither we nor pandas nor DuckDB read it after a crash.

    Raises:
        InputError: the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with putting_away(), writing_to(path):
        try:
            _write_synced(temporary, data)
            os.replace(temporary, path)  # noqa: PTH105 (atomic, overwrites, and patched by the crash tests)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def write_files(
    folder: Path, files: Iterable[tuple[str, bytes | memoryview]], obsolete: Collection[str] = ()
) -> list[Path]:
    """Write files into a folder, which is made if need be, all of them or none; return their paths.

    Names may have folders, as in `repaired/summary.json`. All files are written in a hidden folder inside of
    `folder` first, so that a full disk leaves an older content as it was. Then each takes its place. Files
    of `obsolete` that are not among them are removed. An error at any moment undoes everything.

    Raises:
        InputError: the folder cannot be written, or a folder has the name of one of the files.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with putting_away(), writing_to(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = _replace_files(folder, files, obsolete)
        except BaseException:
            with contextlib.suppress(OSError):  # another program has put something there
                for path in made:
                    path.rmdir()
            raise
    return [folder / name for name in names]


def _replace_files(
    folder: Path, files: Iterable[tuple[str, bytes | memoryview]], obsolete: Collection[str]
) -> list[str]:
    staged = folder / f".new.{secrets.token_hex(8)}.tmp"
    undo = contextlib.ExitStack()
    try:
        names = []
        for name, data in files:
            names.append(name)
            with writing_to(folder / name):
                if (folder / name).is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            _write_synced(_with_folder(staged / "new" / name), data)
        with undo:
            for name in dict.fromkeys((*names, *obsolete)):
                _replace_file(staged, folder, name, undo)
            sync_folder(folder)
            undo.pop_all()
        for name in obsolete:
            if (folder / name).parent != folder:
                _remove_if_empty((folder / name).parent)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return names


def _replace_file(staged: Path, folder: Path, name: str, undo: contextlib.ExitStack) -> None:
    """Put a file in the place of the old one, or remove that where there is no new one; `undo` undoes it."""
    new, old, target = staged / "new" / name, staged / "old" / name, folder / name
    if not target.parent.exists():
        if not new.exists():
            return
        target.parent.mkdir(parents=True)
        undo.callback(_remove_if_empty, target.parent)
    if os.path.lexists(target):
        with contextlib.suppress(OSError):  # a file system without hard links
            os.link(target, _with_folder(old), follow_symlinks=False)
        undo.callback(_put_back, old, target)
    else:
        undo.callback(target.unlink, missing_ok=True)
    if new.exists():
        os.replace(new, target)  # noqa: PTH105 (as in write_atomically)
    else:
        target.unlink(missing_ok=True)


def _put_back(old: Path, target: Path) -> None:
    with contextlib.suppress(OSError):
        os.replace(old, target)  # noqa: PTH105


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _with_folder(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_synced(path: Path, data: bytes | memoryview) -> None:
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def check_folder(folder: Path, key: str) -> None:
    """Check that a folder that the user named with the option `key` can be written, before work goes into it.

    Raises:
        InputError: it is a file, or lies in one.
    """
    _check_name(folder)
    nearest = next((part for part in (folder, *folder.parents) if part.exists()), None)
    if nearest is not None and not nearest.is_dir():
        raise InputError(f"{key} is '{folder}', but {nearest} is a file; name a folder")


def _check_name(path: Path) -> None:
    """Fail for a name that no disk has; from Python 3.14 on, `exists` and `is_dir` do not."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


def check_output(path: Path, key: str) -> None:
    """Check that the file that the user named with the option `key` can be one, before work goes into it.

    Raises:
        InputError: the name is empty or that of a folder, or its folder does not exist.
    """
    _check_name(path)
    if not path.name or path.is_dir():
        raise InputError(f"{key} is '{path}'; it must name a file")
    folder = (path.resolve() if path.is_symlink() else path).parent
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(
            f"cannot write {path}: the folder {folder} {what} ({key}); make it, or name a file in another one"
        )


def write_output(path: Path, data: bytes, key: str) -> None:
    """Write a file that the user named with the option `key`: whole or not at all; links and devices stay.

    Raises:
        InputError: as `check_output`, or the file cannot be written.
    """
    check_output(path, key)
    if path.exists() and not path.is_file():  # such as /dev/stdout: nothing to take the place of
        with writing_to(path), path.open("wb") as device:
            device.write(data)
        return
    write_atomically(path.resolve() if path.is_symlink() else path, data)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV, for spreadsheets too: a text that would be a formula there gets a '."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULAS) else cell


def sync_folder(folder: Path) -> None:
    """Make renames and removals in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
