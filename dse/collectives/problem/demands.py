"""All-to-alls whose pairs of NPUs send unequal sizes, and groups of NPUs."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.base.settings.values import Values, listed, whole
from dse.base.units import parse_bytes
from dse.collectives.problem.collective import CUSTOM, MOST_CHUNKS, Collective

_PIECES = 8
"""Into so many chunks the largest size of a demand is cut where chunk_bytes is not given."""


class Pair(NamedTuple):
    """One sender and one receiver, and how much goes between them."""

    source: int
    destination: int
    size_bytes: int


def read_demand(path: Path, npus: int) -> list[Pair]:
    """Read a CSV file: a row for each sender, a column for each receiver, sizes in bytes or with a unit.

    Sizes from an NPU to itself do not count.

    Raises:
        InputError: names the file, the row and the column of what is wrong.
    """
    try:
        rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
    except csv.Error as error:
        raise InputError(f"{path}: malformed CSV: {error}") from None
    if len(rows) != npus:
        raise InputError(f"{path}: has {len(rows)} rows; it must have one for each of the {npus} NPUs")
    pairs = []
    for source, row in enumerate(rows):
        if len(row) != npus:
            raise InputError(f"{path}, row {source + 1}: has {len(row)} sizes; it must have {npus}")
        for destination, text in enumerate(row):
            size = _size_bytes(text.strip(), f"{path}, row {source + 1}, column {destination + 1}")
            if size and source != destination:
                pairs.append(Pair(source, destination, size))
    if not pairs:
        raise InputError(f"{path}: every size is 0; at least one NPU must send something to another")
    return pairs


def _size_bytes(text: str, where: str) -> int:
    if re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return int(text)
    if re.search(r"[A-Za-z]$", text):
        return parse_bytes(text, where)
    raise InputError(f"{where}: is '{excerpt(text)}'; it must be a number of bytes, such as 1048576 or 1MiB")


def demanded(pairs: Sequence[Pair], npus: int, chunk_bytes: Fraction | None) -> tuple[Collective, Fraction]:
    """Return the collective of a demand and the bytes of a chunk; each size is rounded up to whole chunks.

    Raises:
        InputError: there are too many chunks.
    """
    size = chunk_bytes or Fraction(-(-max(pair.size_bytes for pair in pairs) // _PIECES))
    counts = [-(-pair.size_bytes // size) for pair in pairs]
    firsts = [0, *accumulate(counts)]
    if firsts[-1] >= MOST_CHUNKS >> 4:
        raise InputError(
            f"chunk_bytes is {float(size):g}, which makes {firsts[-1]} chunks of the demand; take larger ones"
        )
    spans = [range(first, last) for first, last in pairwise(firsts)]
    holders, wanters = (
        tuple([(pair[end], chunk) for pair, span in zip(pairs, spans, strict=True) for chunk in span])
        for end in (0, 1)
    )
    return Collective(CUSTOM, npus, preconditions=holders, postconditions=wanters), size


def padding_bytes(pairs: Sequence[Pair], chunk_bytes: Fraction) -> int:
    """Return how many bytes are sent in excess, because sizes are rounded up to whole chunks."""
    sent = sum(-(-pair.size_bytes // chunk_bytes) for pair in pairs) * chunk_bytes
    return int(sent) - sum(pair.size_bytes for pair in pairs)


def group_of(values: Values, npus: int) -> tuple[int, ...]:
    """Return the NPUs among which a collective is; the others relay. Empty without the key.

    Raises:
        InputError: an entry is no NPU, or there are fewer than two.
    """
    if "group" not in values:
        return ()
    why = f"the network has {npus} NPUs"
    texts = listed("group", values["group"])
    return checked_group([whole({"group": text}, "group", 0, most=npus - 1, why=why) for text in texts])


def checked_group(npus: Sequence[int], where: str = "") -> tuple[int, ...]:
    """Return the NPUs of a group.

    Raises:
        InputError: one occurs twice, or there are fewer than two; the message begins with `where`.
    """
    if len(set(npus)) != len(npus):
        raise InputError(f"{where}group lists an NPU twice: {list(npus)}; write each once")
    if len(npus) < 2:
        raise InputError(f"{where}group has {len(npus)} NPU; a collective is among at least 2")
    return tuple(npus)
