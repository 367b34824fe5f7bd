"""Conditions and costs over the columns of a study: `tp <= 8 and status = 'ok'`."""

from __future__ import annotations

from dse.base.expressions import ColumnExpression
from dse.studies.store.columns import column


class RowExpression(ColumnExpression):
    """An expression over columns of a study and dotted fields of its models and systems."""

    def __init__(self, text: str, key: str) -> None:
        """Parse the text; `key` is how messages call it, such as `where`.

        Raises:
            InputError: anything outside the language.
        """
        super().__init__(text, key, column)
