"""Megatron-LM: options of pretrain_gpt.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.prediction.frameworks.dialect import Rendered
from dse.prediction.frameworks.kinds.megatron import Megatron
from dse.prediction.frameworks.writing.script import Blank


class MegatronLM(Megatron):
    """The command line of Megatron-LM."""

    name = "megatron-lm"
    always_written = frozenset({"tp", "pp", "mbs", "gbs"})

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: the options say all of the model."""
        del model
        words: list[str | Blank] = ["pretrain_gpt.py"]
        for key, value in settings.items():
            if value is False:
                continue
            words.append(key)
            if isinstance(value, list):
                words += [str(entry) for entry in value]
            elif value is not True:
                words.append(str(value))
        for key, name in (("--data-path", "DATA_PATH"), ("--tokenizer-model", "TOKENIZER")):
            words += [key, Blank(name)]
        words += ["--tokenizer-type", "HuggingFaceTokenizer", "--train-iters", Blank("TRAIN_STEPS")]
        words += ["--lr", Blank("LEARNING_RATE")]
        return Rendered(words, {}, _BLANKS)


_BLANKS = {
    "DATA_PATH": "tokenised data of Megatron",
    "TOKENIZER": "name or folder of a tokenizer",
    "TRAIN_STEPS": "number of steps",
    "LEARNING_RATE": "learning rate",
}
