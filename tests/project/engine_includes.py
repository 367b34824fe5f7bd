"""The includes between rooms of the engine; a room is the folder of a file below engine/src."""

from __future__ import annotations

import re
from pathlib import Path

_INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def rooms_included(sources: Path) -> dict[str, set[str]]:
    """Per room, the other rooms that its files include; every included file must be there."""
    rooms: dict[str, set[str]] = {}
    for path in sorted(sources.rglob("*.[ch]pp")):
        room = path.parent.relative_to(sources).as_posix()
        included = rooms.setdefault(room, set())
        for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            assert (sources / name).is_file(), f"{path} includes {name}, which is no file below {sources}"
            included.add(Path(name).parent.as_posix())
        included.discard(room)
    return rooms


def upward_includes(rooms: dict[str, set[str]], wings: list[list[str]]) -> list[str]:
    """Includes from a wing to its own level or a higher one; `wings` lists the levels, the lowest first."""
    level = {wing: height for height, names in enumerate(wings) for wing in names}
    return [
        f"{room} includes {other}"
        for room, others in sorted(rooms.items())
        for other in sorted(others)
        if _wing(room) != _wing(other) and level[_wing(room)] <= level[_wing(other)]
    ]


def _wing(room: str) -> str:
    return room.partition("/")[0]
