"""Megatron-LM: options of pretrain_gpt.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.prediction.frameworks.dialect import Rendered
from dse.prediction.frameworks.kinds.megatron import Megatron


class MegatronLM(Megatron):
    """The command line of Megatron-LM."""

    name = "megatron-lm"
    always_written = frozenset({"tp", "pp", "mbs", "gbs"})

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: the options say all of the model."""
        del model
        words = ["pretrain_gpt.py"]
        for key, value in settings.items():
            if value is False:
                continue
            words.append(key)
            if isinstance(value, list):
                words += [str(entry) for entry in value]
            elif value is not True:
                words.append(str(value))
        return Rendered(words, {})
