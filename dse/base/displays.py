"""Answers that show themselves: the text of their command, a table of pandas, HTML for notebooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import Any

from dse.base.lazy import pd


class Displayed(ABC):
    """An answer of the library. Printed, it is the text of the command that asks the same question."""

    @property
    @abstractmethod
    def notes(self) -> Sequence[str]:
        """Sentences that the command would print on stderr."""

    @abstractmethod
    def text(self) -> str:
        """Return what the command prints."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Return the answer as plain data, as `format=json` of the command prints it."""

    @abstractmethod
    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of the answer as a table."""

    def __str__(self) -> str:
        """Return the text."""
        return self.text()

    def __repr__(self) -> str:
        """Return the type and the first line of the text."""
        return f"<{type(self).__name__}: {self.text().partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"
