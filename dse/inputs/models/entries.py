"""The entries of a Hugging Face configuration as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.base.errors import InputError
from dse.base.records import shown

Values = dict[str, Any]


@dataclass
class Entries:
    """The entries of a configuration as they are read: what is missing is collected, to be named at once.

    `where` is how messages call the file; `notes` are what of the configuration the model does not show.
    """

    values: Mapping[str, Any]
    where: str
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, key: str, default: int | None = None) -> int:
        """Return an integer from 0; a missing one without `default` is remembered, and 1 for now.

        Raises:
            InputError: the entry is another value.
        """
        value = self.values.get(key)
        if value is None:
            if default is None:
                self.missing.append(key)
            return 1 if default is None else default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"{self.where}: {key} is {shown(value)}; it must be an integer from 0")
        return value

    def optional(self, key: str) -> int | None:
        """Return an integer from 0, None for null or a missing one.

        Raises:
            InputError: the entry is another value.
        """
        return None if self.values.get(key) is None else self.count(key)

    def switch(self, key: str, default: bool = False) -> bool:
        """Return whether something is on.

        Raises:
            InputError: the entry is neither true nor false.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{self.where}: {key} is {shown(value)}; it must be true or false")
        return value

    def rate(self, *keys: str, default: float = 0.0) -> bool:
        """Return whether any of some probabilities, as of dropout, is above 0; a missing one is `default`.

        Raises:
            InputError: the entry is no probability.
        """
        rates = []
        for key in keys:
            value = default if self.values.get(key) is None else self.values[key]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{self.where}: {key} is {shown(value)}; it must be a number from 0 to 1")
            rates.append(value)
        return any(rates)

    def refuse_unless(self, key: str, allowed: Any, default: Any) -> None:
        """Refuse an entry that says what no model here has.

        Raises:
            InputError: names the entry, and what it may be.
        """
        value = self.values.get(key, default)
        if value != allowed:
            raise InputError(
                f"{self.where}: {key} is {shown(value)}, which no model here can have; it may be "
                f"{shown(allowed)}"
            )

    def over(self, **defaults: Any) -> Entries:
        """Return these entries, with what a family has where the configuration says nothing."""
        stated = {key: value for key, value in self.values.items() if value is not None}
        return Entries({**defaults, **stated}, self.where, self.missing, self.notes)

    def of_text(self, *kinds: str) -> Entries:
        """Return the entries of the text model, one of some `model_type`; a note says what images lose.

        Raises:
            InputError: the text model is of another kind.
        """
        text = self.within("text_config")
        kind = text.values.get("model_type")
        if text is not self and kind is not None and kind not in kinds:
            raise InputError(
                f"{text.where}: model_type is {shown(kind)}; it may be {', '.join(kinds)}: give the "
                "text model as a config.json of its own, with its model_type"
            )
        if "vision_config" in self.values:
            text.notes.append("its image encoder is left out")
        # The whole model may say what its text model leaves open.
        return text.over(tie_word_embeddings=self.values.get("tie_word_embeddings"))

    def within(self, key: str) -> Entries:
        """Return the entries of a group, or these if there is no such group; missing ones are shared.

        Raises:
            InputError: the entry is no group.
        """
        inner = self.values.get(key)
        if inner is None:
            return self
        if not isinstance(inner, Mapping):
            raise InputError(f"{self.where}: {key} is {shown(inner)}; it must be an object")
        return Entries(inner, f"{self.where}: {key}", self.missing, self.notes)
