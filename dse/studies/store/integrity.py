"""Checks of a part of a study before it is opened: a file, and one of parts that stand for others."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Set
from pathlib import Path

from dse.base.errors import InputError
from dse.studies.store.records import parsed_json


def check_is_file(path: Path) -> None:
    """Refuse what only has the name of a part: reading a pipe or a device might never end.

    Raises:
        FileNotFoundError: the part is gone.
        InputError: it is no regular file, or a link to nothing.
    """
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            raise InputError(f"{path} is a link to nothing: delete it and run the sweep again") from None
        except OSError as error:
            raise InputError(
                f"{path} is a link that leads nowhere ({error.strerror}): delete it and run the sweep again"
            ) from None
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{path} is no file but {_kind(mode)}: delete it, or move it elsewhere, and run the sweep again"
        )


def _kind(mode: int) -> str:
    kinds = {stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device")


def replaced_parts(text: bytes) -> frozenset[str]:
    """Return the names of the parts that a part stands for, from its footer.

    Raises:
        ValueError: the text is no list of names.
    """
    names = parsed_json(text, "its list of replaced parts")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("its list of replaced parts is no list of names")
    return frozenset(names)


def check_replacements(folder: Path, replaces: Mapping[str, Set[str]]) -> None:
    """Refuse parts that stand for each other: none of their rows would be left.

    Raises:
        InputError: names such a part.
    """
    sound: set[str] = set()
    for start in replaces:
        trail: list[tuple[str, list[str]]] = [(start, sorted(replaces[start]))]
        within = {start}
        while trail:
            name, left = trail[-1]
            following = next((other for other in left if other in replaces and other not in sound), None)
            if following is None:
                sound.add(name)
                within.discard(name)
                trail.pop()
            elif following in within:
                raise InputError(
                    f"{folder / following} is corrupt (it and {name} stand for each other): move it away and "
                    "run the sweep again, which computes only the rows that were in it"
                )
            else:
                within.add(following)
                trail.append((following, sorted(replaces[following])))
