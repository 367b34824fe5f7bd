"""The command line that evaluates a stored point again, written with overrides of conf/."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from dse.base.files import conf_file
from dse.inputs.strategies import StrategyFields, shown_axes, strategy_values
from dse.inputs.systems.values import following
from dse.studies.points.inputs import model_json, result_version, system_json
from dse.studies.store import StudyRow

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./+-]*", re.ASCII)
_WORDS = ("null", "true", "false", "nan", "inf")
_NOT_IN_CONF = ("inert", "omitted_keys")  # what files of ASTRA-sim say without any effect


@dataclass(frozen=True)
class Origin:
    """The common part of rows of one scenario: the command line up to the strategy, and a caveat."""

    command: str
    note: str = ""


class Commands:
    """Finds the overrides that lead from conf/ to stored models and systems; composes each base once."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._bases: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {}
        self._origins: dict[tuple[str | None, ...], Origin] = {}

    def origin(self, row: StudyRow) -> Origin:
        """Return the start of the command line of a row; rows of the same inputs have the same one.

        Raises:
            InputError: conf/ cannot be read.
        """
        inputs = (row.model, row.system, row.model_spec, row.system_spec, row.options)
        if inputs not in self._origins:
            self._origins[inputs] = self._new_origin(row)
        return self._origins[inputs]

    def command(self, row: StudyRow) -> str:
        """Return the whole command line of a row, for a shell.

        Raises:
            InputError: conf/ cannot be read.
        """
        return f"{self.origin(row).command} {strategy_overrides(row)}"

    def _new_origin(self, row: StudyRow) -> Origin:
        start = ["python", "-m", "dse", "point"]
        if row.model_spec is None or row.system_spec is None:
            words = [*start, f"system={hydra(row.system)}", f"model={hydra(row.model)}"]
            note = "The study does not say what the model and the system were: those of conf/ are presumed."
            return Origin(shlex.join(words), note)
        model, system = json.loads(row.model_spec), json.loads(row.system_spec)
        options = json.loads(row.options or "{}")
        names = model.get("name", row.model), system.get("name", row.system)
        groups, base_model, base_system = self._base(*names)
        words = [*start, *groups, *_changes(base_system, system, "system")]
        words += _changes(base_model, model, "model")
        notes = []
        if options.get("divisibility", "stage") != "stage" and "predictor" not in options:
            words.append(f"workload.divisibility={hydra(options['divisibility'])}")
        if options.get("simulator", {}).get("name") == "astrasim":
            words += ["simulator=astrasim", "simulator.binary=PATH"]
            notes.append("PATH is the ASTRA-sim that evaluated the point.")
        if options.get("workload", {}).get("name") == "stage":
            words += ["workload=stage", "workload.checkout=PATH"]
            notes.append("PATH of the checkout is that of the STAGE that generated the point.")
        version = options.get("result_version", options.get("engine"))
        if version not in (None, result_version()):
            notes.append(
                f"The point has results of version {version}, and this program has {result_version()}."
            )
        return Origin(shlex.join(words), " ".join(notes))

    def _base(self, model: str, system: str) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """The groups of conf/ with these names, or the default ones, and what they are."""
        from dse.studies.config import compose_config

        chosen = [
            f"{group}={name}"
            for group, name in (("system", system), ("model", model))
            if _BARE.fullmatch(name) and "/" not in name and conf_file(group, name).is_file()
        ]
        key = (model, system)
        if key not in self._bases:
            config = compose_config(chosen)
            self._bases[key] = json.loads(model_json(config.model)), json.loads(system_json(config.system))
        return chosen, *self._bases[key]


def strategy_overrides(strategy: StrategyFields) -> str:
    """Return the axes as overrides, younger ones that have their default aside."""
    axes = shown_axes([strategy_values(strategy)])
    return " ".join(f"strategy.{axis.name}={hydra(getattr(strategy, axis.name))}" for axis in axes)


def hydra(value: Any) -> str:
    """Return a value in the grammar of Hydra's overrides."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        entries = [f"{key}:{hydra(entry)}" for key, entry in value.items() if entry not in (None, [], "")]
        return "{" + ",".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(hydra, value)) + "]"
    if isinstance(value, str):
        if _BARE.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return (
            "'"
            + re.sub(r"(\\*)('|$)", lambda found: found[1] * 2 + "\\" * bool(found[2]) + found[2], value)
            + "'"
        )
    return str(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)


def _changes(base: Any, stored: dict[str, Any], key: str) -> list[str]:
    """The overrides that make `base` what is stored; lists are replaced as a whole."""
    words, follows = [], following(stored)
    for name, value in stored.items():
        before = base.get(name)
        if value == before or name in _NOT_IN_CONF or name in follows:
            continue
        if name == "accelerator":
            if value["name"] != (before or {}).get("name"):
                words.append(f"{key}.{name}={hydra(value['name'])}")
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            words += _changes(before, value, f"{key}.{name}")
            continue
        if isinstance(value, list):
            value = [_without_digests(entry) for entry in value]
        words.append(f"{key}.{name}={hydra(value)}")
    return words


def _without_digests(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    return {name: value for name, value in entry.items() if not name.endswith("_sha256")}
