"""Combinations of keys with lists, such as `chunk_bytes=[64KiB,1MiB]`: every list is an axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping

from dse.base.errors import InputError
from dse.base.settings.values import listed

_MOST = 10**6


def combinations(values: Mapping[str, str], *, whole: Collection[str] = ()) -> list[dict[str, str]]:
    """Return the values of all combinations of lists, the last key varying fastest.

    The value of a key in `whole` is one value, whatever brackets it has.

    Raises:
        InputError: a wrong list, or too many combinations.
    """
    axes = {key: [text] if key in whole else listed(key, text) for key, text in values.items()}
    count = math.prod(map(len, axes.values()))
    if count > _MOST:
        raise InputError(f"the lists make {count} combinations; at most {_MOST} are one study")
    return [dict(zip(axes, chosen, strict=True)) for chosen in itertools.product(*axes.values())]
