"""Whole numbers and exact decimals that texts of users hold, and the largest ones that are read."""

from __future__ import annotations

import re
from fractions import Fraction

from dse.base.errors import InputError, excerpt

MOST_DIGITS = 1000
"""A float written out in full has at most 767 digits that count."""

MOST_EXPONENT = 999

MOST_MAGNITUDE = 10**300
"""Sums and quotients of a few such numbers still fit a float, in which messages and pages show them."""

_WHOLE = re.compile(r"[0-9]{1,19}", re.ASCII)
_DECIMAL = re.compile(
    r"[-+]?(?P<whole>[0-9]*)(?:\.(?P<rest>[0-9]*))?(?:e[-+]?0{0,9}(?P<exponent>[0-9]+))?",
    re.ASCII | re.IGNORECASE,
)


def whole_number(text: str) -> int | None:
    """Return the whole number of at most 19 ASCII digits, which 2^63 has; None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def powers_of_two(most: int) -> list[int]:
    """Return 1, 2, 4 and so on, up to `most`."""
    return [1 << bit for bit in range(most.bit_length())]


def exact_decimal(text: str, *, where: str) -> Fraction:
    """Return the exact value of a decimal such as `12`, `-0.5`, `.5` or `1e-9`.

    Its size is bounded, as `1e99999999` alone would fill the memory.

    Raises:
        InputError: another text, more than `MOST_DIGITS` digits, an exponent that is not from
            -`MOST_EXPONENT` to `MOST_EXPONENT`, or a value beyond `MOST_MAGNITUDE`. It begins with `where`.
    """
    text = text.strip()
    found = _DECIMAL.fullmatch(text)
    digits = 0 if found is None else len(found["whole"]) + len(found["rest"] or "")
    if found is None or not digits:
        raise InputError(f"{where} is '{excerpt(text)}'; it must be a decimal number, such as 0.5 or 1e9")
    if digits > MOST_DIGITS:
        raise InputError(
            f"{where} is '{excerpt(text)}' with {digits} digits; at most {MOST_DIGITS} are allowed"
        )
    if len(found["exponent"] or "") > len(str(MOST_EXPONENT)):
        raise InputError(
            f"{where} is '{excerpt(text)}'; its exponent must be from -{MOST_EXPONENT} to {MOST_EXPONENT}"
        )
    value = Fraction(text)
    if abs(value) > MOST_MAGNITUDE:
        raise InputError(f"{where} is '{excerpt(text)}'; it must be from -1e300 to 1e300")
    return value
