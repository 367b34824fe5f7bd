"""Values that a user adds to a document: keys `machine.NAME=VALUE`, and those that are missing.

Nothing is assumed: a value is stated by the document, known of its type of GPU and told, or asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.numbers import exact_decimal, whole_number

PREFIX = "machine."
_MOST = 10**12
_LONGEST_WHY = 200  # of what a document calls its links


@dataclass
class Given:
    """Texts by key without the prefix; which were used, which are asked for and why, and what was taken."""

    texts: Mapping[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    missing: dict[str, str] = field(default_factory=dict)
    taken: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, overrides: list[str]) -> Given:
        """Return the values of words such as `machine.nvlink_gbps=25`.

        Raises:
            InputError: a key twice, or one without a value.
        """
        texts: dict[str, str] = {}
        for word in overrides:
            key, _, value = word.partition("=")
            name = key.removeprefix(PREFIX)
            if name in texts or not value or not name:
                raise InputError(f"{key} occurs twice or is empty; write {PREFIX}NAME=VALUE once")
            texts[name] = value
        return cls(texts)

    def text(self, name: str, why: str, default: str | None = None) -> str | None:
        """Return a text; without it and a default, ask for the key, and say why."""
        self.used.add(name)
        if name in self.texts:
            return self.texts[name]
        if default is None:
            self.missing.setdefault(name, why)
        return default

    def number(
        self, name: str, why: str, default: Fraction | None = None, *, is_zero_allowed: bool = False
    ) -> Fraction | None:
        """Return a number above 0, or of at least 0.

        Raises:
            InputError: it is none.
        """
        text = self.text(name, why, None if default is None else "")
        if text is None or (not text and name not in self.texts):
            return default
        value = exact_decimal(text, where=f"{PREFIX}{name}")
        if not 0 <= value <= _MOST or (value == 0 and not is_zero_allowed):
            bound = "of at least 0" if is_zero_allowed else "above 0"
            raise InputError(
                f"{PREFIX}{name} is '{excerpt(text)}'; it must be a number {bound}, at most {_MOST:g}"
            )
        return value

    def count(self, name: str, why: str, default: int | None = None, most: int = 2**20) -> int | None:
        """Return a whole number of at least 1.

        Raises:
            InputError: it is none.
        """
        text = self.text(name, why, None if default is None else str(default))
        value = None if text is None else whole_number(text)
        if text is not None and (value is None or not 1 <= value <= most):
            raise InputError(f"{PREFIX}{name} is '{excerpt(text)}'; it must be a whole number, 1 to {most}")
        return value

    def take(self, note: str) -> None:
        """Note a value that comes neither from the document nor from the user."""
        if note not in self.taken:
            self.taken.append(note)

    def require(self, where: str) -> None:
        """Check that nothing is missing, and that every given key had a use.

        Raises:
            InputError: names all missing keys with what they are, or a key without an effect.
        """
        unused = next((name for name in self.texts if name not in self.used), None)
        if unused is not None:
            known = sorted(self.used)
            allowed = ", ".join(f"{PREFIX}{name}" for name in known)
            raise InputError(
                f"{PREFIX}{excerpt(unused)} has no effect on {where}; it takes {allowed or 'no keys'}"
                f"{did_you_mean(unused, known)}"
            )
        if self.missing:
            asked = "; ".join(
                f"{PREFIX}{name}=… ({excerpt(why, _LONGEST_WHY)})" for name, why in self.missing.items()
            )
            raise InputError(f"{where} does not say all that is needed; give {asked}")
