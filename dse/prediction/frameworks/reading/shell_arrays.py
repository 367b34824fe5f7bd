"""Arrays of shell scripts whose items are assigned by place, and those whose places are texts."""

from __future__ import annotations

from collections.abc import Iterable

from dse.prediction.frameworks.reading.shell_tokens import Part


class Table(list[str]):
    """An associative array: its items in the order of assignment, where bash has one of its own."""

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        """Take the items by their keys."""
        found = dict(items)
        super().__init__(found.values())
        self.keys = list(found)

    def get(self, key: str) -> str | None:
        """Return the item of a key; None if there is none."""
        return self[self.keys.index(key)] if key in self.keys else None

    def items(self) -> Iterable[tuple[str, str]]:
        """Return keys with their items."""
        return zip(self.keys, self, strict=True)


def placed(word: tuple[Part, ...]) -> tuple[tuple[Part, ...], bool, tuple[Part, ...]] | None:
    """Part [PLACE]=VALUE, or += for =, into place, whether it adds, and value; None for another word."""
    if not word or word[0].kind != "text" or word[0].is_quoted or not word[0].text.startswith("["):
        return None
    for at, part in enumerate(word):
        end = part.text.find("]") if part.kind == "text" and not part.is_quoted else -1
        if end >= 0:
            rest = part.text[end + 1 :]
            adds = rest.startswith("+=")
            if not adds and not rest.startswith("="):
                return None
            first = part._replace(text=part.text[:end])
            place = (*word[:at], first)
            last = part._replace(text=rest[2 if adds else 1 :])
            value = (*([last] if last.text else []), *word[at + 1 :])
            return (place[0]._replace(text=place[0].text[1:]), *place[1:]), adds, value
    return None
