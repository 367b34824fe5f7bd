"""A row of a study by the first digits of its key."""

from __future__ import annotations

import re

from dse.base.errors import InputError
from dse.base.lazy import pc
from dse.studies.store.row import Row
from dse.studies.store.store import StudyStore

KEY_DIGITS = 32
"""Hexadecimal digits of a key: 128 bits, so that 10^9 points collide with a probability of about 10^-21."""

_FEWEST_DIGITS = 4
_SHOWN_MATCHES = 5


def row_of_key(store: StudyStore[Row], key: str) -> Row:
    """Return the row of a study whose key begins with `key`.

    Raises:
        InputError: fewer than 4 digits, no hexadecimal number, no such key, or several (names some); or the
            study cannot be read.
    """
    prefix = key.lower()
    if not re.fullmatch(f"[0-9a-f]{{{_FEWEST_DIGITS},{KEY_DIGITS}}}", prefix):
        raise InputError(
            f"key '{key}' is not one of {_FEWEST_DIGITS} to {KEY_DIGITS} hexadecimal digits; "
            "python -m dse best STUDY --json shows keys"
        )
    return store.reading(lambda: _row_of_prefix(store, key, prefix))


def _row_of_prefix(store: StudyStore[Row], key: str, prefix: str) -> Row:
    name = store.record.key
    snapshot = store.snapshot((name,))
    all_keys = snapshot.table[name]
    found = snapshot.table.filter(pc.fill_null(pc.starts_with(all_keys, prefix), False))
    if found.num_rows == 1:
        return snapshot.rows(found)[0]
    if found.num_rows == 0:
        if all_keys.null_count:
            raise InputError(
                f"{store.folder} has rows of schema version 1, which have no keys: "
                "sweep again under another name (study=NAME)"
            )
        raise InputError(f"{store.folder} has no {store.record.name} whose key begins with {key}")
    keys = sorted(found[name].to_pylist())
    more = ", …" if len(keys) > _SHOWN_MATCHES else ""
    raise InputError(
        f"{len(keys)} {store.record.name}s have keys that begin with {key}: "
        f"{', '.join(keys[:_SHOWN_MATCHES])}{more}; write more digits"
    )
