"""Models from configurations of the Hugging Face Hub: `model.file=config.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean
from dse.base.plain_data import json_data
from dse.base.records import shown
from dse.inputs.models.entries import Entries, Values
from dse.inputs.models.families import ARCHITECTURES, FAMILIES, LACKING

_MAX_BYTES = 10_000_000
_BATCH_SIZE = 512
_SIZES = ("vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers")


@dataclass(frozen=True)
class ModelFile:
    """Keys of a model as a file of conf/model has them; `notes` are what a user should know.

    `assumed` says the same of keys that the configuration does not have, or has for inference: no one needs
    to know who sets them.
    """

    values: Values
    notes: tuple[str, ...]
    assumed: dict[str, str]


def read_model(path: Path, where: str) -> ModelFile:
    """Return the model that a Hugging Face configuration describes; `where` is how messages call the file.

    Raises:
        InputError: no such file; no JSON object; as `model_of_configuration`.
    """
    return model_of_configuration(_read(path, where), name_of_file(path), where)


def model_of_configuration(content: object, name: str, where: str) -> ModelFile:
    """Return the model that the JSON of a configuration describes; an empty `name` is that of its family.

    Raises:
        InputError: no object; an architecture that no model here can be, or that is not known, which names
            those that are; entries that are missing or of another type.
    """
    if not isinstance(content, dict):
        raise InputError(f"{where}: must hold a JSON object with model_type and sizes, as a config.json does")
    read = Entries(content, where)
    family = _family(content, where)
    values = FAMILIES[family](read)
    if read.missing:
        missing = list(dict.fromkeys(read.missing))
        lacks = f"lacks {', '.join(missing)}, which a configuration of model_type {family} has"
        raise InputError(f"{where}: {lacks}; give the config.json of the whole model")
    values = {
        "name": name or family,
        "batch_size": _BATCH_SIZE,
        "fidelity": "realistic",
        **values,
    }
    return ModelFile(
        values={key: value for key, value in values.items() if value is not None},
        notes=tuple([f"{where}: {note}" for note in read.notes]),
        assumed={
            "seq_len": f"{where}: sequences have {values['seq_len']} tokens, the longest that the model "
            "takes; training may have used fewer: model.seq_len=…",
            "batch_size": f"{where}: the batch has {_BATCH_SIZE} sequences, which no such file says: "
            "model.batch_size=…",
        },
    )


def name_of_file(path: Path) -> str:
    """Return what a model from a file is called: as the file, or as the folder of one called config.json."""
    return path.resolve().parent.name if path.name == "config.json" else path.stem


def _read(path: Path, where: str) -> object:
    try:
        if not path.is_file():
            problem = "is a folder" if path.is_dir() else "is no file" if path.exists() else "no such file"
            raise InputError(f"{where}: {problem}; give the config.json of a model of the Hugging Face Hub")
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{where}: has more than {_MAX_BYTES} bytes, too many for a config.json")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{where}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text (byte {error.start})") from None
    return json_data(text, where, is_finite=False)  # some have an Infinity among entries that are not read


def _family(content: dict[str, Any], where: str) -> str:
    """Return the family whose entries the configuration has: by `model_type`, else by `architectures`."""
    model_type, architectures = content.get("model_type"), content.get("architectures")
    if isinstance(model_type, str) and model_type in FAMILIES:
        return model_type
    listed = (
        [entry for entry in architectures if isinstance(entry, str)]
        if isinstance(architectures, list)
        else []
    )
    for architecture in listed:
        if architecture in ARCHITECTURES and str(model_type) not in LACKING:
            return ARCHITECTURES[architecture]
    known = f"known model types are {', '.join(sorted(FAMILIES))}"
    if model_type is None and not listed:
        raise InputError(
            f"{where}: has neither model_type nor architectures, so its architecture is unknown; {known}"
        )
    named = f"architecture {shown(listed[0])}" if listed else f"model_type {shown(model_type)}"
    if listed and model_type is not None:
        named += f" (model_type {shown(model_type)})"
    if isinstance(model_type, str) and model_type in LACKING:
        raise InputError(
            f"{where}: {named} is not modelled: {LACKING[model_type]} are missing here; {known}, or describe "
            "the nearest model by the keys of conf/model"
        )
    absent = [key for key in _SIZES if key not in content]
    lacks = f", and the file lacks {', '.join(absent)}" if absent else ""
    raise InputError(
        f"{where}: {named} is unknown: what reads its entries is missing{lacks}; {known}"
        f"{did_you_mean(str(model_type), FAMILIES)}; or describe it by the keys of conf/model"
    )
