"""From the words of a command that launches a program to a document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.base.files import is_file
from dse.prediction.frameworks.job import Document
from dse.prediction.frameworks.reading.configurations import document_of_file, settings_of, trainer_document
from dse.prediction.frameworks.reading.detection import detected
from dse.prediction.frameworks.reading.dotted_options import override_settings, section_settings
from dse.prediction.frameworks.reading.files import Folder, data_of, text_of
from dse.prediction.frameworks.reading.host_slots import hosted_npus
from dse.prediction.frameworks.reading.launchers import Launch, launch_of
from dse.prediction.frameworks.reading.nemo import from_nemo, is_nemo
from dse.prediction.frameworks.reading.options import grouped, megatron_settings, trainer_settings
from dse.prediction.frameworks.reading.recipes import read_recipe
from dse.prediction.frameworks.reading.trainer_files import (
    TrainerFile,
    is_trainer,
    is_trainer_program,
    trainer_file,
)
from dse.prediction.frameworks.reading.values import ask, missing_in, readable

_OVERRIDE = re.compile(r"(?:\+\+|\+|~)?([A-Za-z_][A-Za-z0-9_.]*)=", re.ASCII)
_OTHER_PROGRAM = re.compile(r"pretrain_(?:bert|hybrid|ict|mamba|retro|t5|vision|vlm)[a-z_]*\.py$")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_COLON = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):", re.ASCII)
_CONFIG = "--config"
_ACCELERATE = (
    "num_processes",
    "num_machines",
    "mixed_precision",
    "machine_rank",
    "gradient_accumulation_steps",
)


def document_of_command(
    words: Sequence[str],
    framework: str = "",
    *,
    where: str = "the command line",
    folder: Folder | None = None,
    slurm: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Document:
    """Return the document of a command: launchers, a program, and its options.

    Args:
        words: of the command; those of options alone will do.
        framework: whose options they are; empty: the one that knows most of them.
        where: how messages call the command.
        folder: where files that the options name are looked for; where the command runs by default.
        slurm: counts that the lines for Slurm ask for.
        environment: variables set for the command.

    Raises:
        InputError: an option is unknown or lacks a value that matters, or the framework is unclear.
    """
    folder = folder or Folder()
    if words and not words[0].startswith("-") and not _OVERRIDE.match(words[0]):
        launch = launch_of(words, where, slurm, environment)
    else:
        launch = Launch(words=list(words), environment=dict(environment or {}))
    launch.words = _with_environment(launch)
    if launch.npus is None:
        launch.npus = launch_npus(launch.environment) or hosted_npus(launch.options, folder)
    notes: list[str] = []
    if framework in ("", "accelerate", "deepspeed"):
        file = _trainer_file(launch, where, folder, notes)
        if file is not None or is_trainer_program(launch.program):
            return _trainer(launch, framework or "accelerate", where, folder, notes, file)
    framework = framework or detected(keys_of(launch), where, launch.program)
    if framework == "megatron-lm":
        settings = megatron_settings(launch.words, where, notes)
        if "--deepspeed" in settings:
            settings |= _zero_stage(settings, folder, notes)
        if _OTHER_PROGRAM.search(launch.program):
            notes.append(
                f"{readable(launch.program)} is read as pretrain_gpt.py: its model may be another one"
            )
        return Document(settings, framework, npus=launch.npus, where=where, notes=tuple(notes))
    if framework == "torchtitan":
        return _torchtitan(launch, where, folder, notes)
    if framework in ("maxtext", "megatron-bridge"):
        return _overrides(launch, framework, where, folder, notes)
    return _trainer(launch, framework, where, folder, notes)


def launch_npus(environment: Mapping[str, str]) -> int | None:
    """Return the number of accelerators that variables of a script for torchtitan say."""
    number = environment.get("NGPU", "")
    return int(number) if re.fullmatch(r"[1-9][0-9]{0,6}", number, re.ASCII) else None


def keys_of(launch: Launch) -> list[str]:
    """Return the keys that the words of a program set, in all the ways that frameworks write them."""
    found = []
    for name, _ in grouped(launch.words, "the command line"):
        plain = name.lstrip("-").replace("-", "_")
        found += (
            [name, "--" + plain] if name.startswith("--") and "_" in plain and "-" not in name[2:] else [name]
        )
        found += (
            [plain]
            if name.startswith("--") and ("." in plain or plain in ("module", "config", "recipe"))
            else []
        )
    for word in launch.words:
        override = _OVERRIDE.match(word) or _COLON.fullmatch(word)
        found += [override[1]] if override else []
        found += ["activation_checkpoint"] if word.startswith("activation-checkpoint:") else []
    found += ["num_processes"] if launch.launcher == "accelerate" else []
    found += ["zero_optimization"] if launch.launcher == "deepspeed" else []
    return list(dict.fromkeys(found))


def _zero_stage(settings: Mapping[str, Any], folder: Folder, notes: list[str]) -> dict[str, Any]:
    """The stage of ZeRO of Megatron-DeepSpeed: of DeepSpeed's file, which decides, or of --zero-stage."""
    file = settings.get("--deepspeed_config")
    path = folder.find(file) if isinstance(file, str) else None
    if path is None or not folder.has(path):
        if "--zero-stage" not in settings:
            notes.append("ZeRO stage 0 is taken: no file of DeepSpeed and no --zero-stage say another")
        return {}
    stage = document_of_file(path, "deepspeed", text=folder.text(path)).settings.get(
        "zero_optimization.stage", 0
    )
    if settings.get("--zero-stage", stage) != stage:
        notes.append(f"{readable(str(path))} says ZeRO stage {stage}, and --zero-stage counts for nothing")
    return {"--zero-stage": stage}


def _with_environment(launch: Launch) -> list[str]:
    """A script for torchtitan reads its module, its function and its file from variables."""
    if not launch.program.endswith(".sh"):
        return launch.words
    names = {"MODULE": "--module", "CONFIG": "--config", "CONFIG_FILE": "--job.config_file"}
    return [
        word
        for name, option in names.items()
        if name in launch.environment
        for word in (option, launch.environment[name])
    ] + launch.words


def _torchtitan(launch: Launch, where: str, folder: Folder, notes: list[str]) -> Document:
    settings = section_settings(launch.words, where, notes)
    file = settings.pop("job.config_file", None)
    model = str(settings.get("config", ""))
    if isinstance(file, str):
        path = folder.find(file)
        base = document_of_file(path, "torchtitan", text=folder.text(path))
        settings, model = {**base.settings, **settings}, base.model
        notes += base.notes
    module = str(settings.get("module", ""))
    path = folder.path / f"{module}.py"
    if _MODULE.fullmatch(module) and is_file(path):  # of the user, next to the script
        recipe = read_recipe(text_of(path), str(path), model)
        settings = {**recipe.settings, **settings}
        notes += [f"{path.name}: {note}" for note in recipe.notes]
    return Document(settings, "torchtitan", model=model, npus=launch.npus, where=where, notes=tuple(notes))


def _overrides(launch: Launch, framework: str, where: str, folder: Folder, notes: list[str]) -> Document:
    """Files come first, then key=value; --recipe NAME names a recipe."""
    words, settings, model = list(launch.words), dict[str, Any](), ""
    while words and words[0].endswith((".yml", ".yaml")):
        path = folder.find(words.pop(0))
        if folder.has(path):
            settings |= document_of_file(path, framework, text=folder.text(path)).settings
        else:
            notes.append(f"{readable(str(path))} is not there; the defaults of {framework} are taken")
    rest = list[str]()
    while words:
        word = words.pop(0)
        option, has_value, value = word.partition("=")
        if option in ("--recipe", "--recipe_name", "--recipe-name", "recipe_name"):
            model = value if has_value else words.pop(0) if words else ""
        elif word.startswith("--") and not has_value:
            taken = (
                words.pop(0)
                if words and not _OVERRIDE.match(words[0]) and not words[0].startswith("-")
                else "true"
            )
            notes.append(f"{readable(word)} {readable(taken)} is an option of the program and is passed over")
        else:
            rest.append(word)
    settings |= override_settings(rest, where, notes)
    npus = launch.npus
    if framework == "megatron-bridge" and is_nemo(settings):
        settings, devices = from_nemo(settings, notes)
        npus = npus or devices
    name = settings.get("model_name") if framework == "maxtext" else None
    model = name if isinstance(name, str) else model
    return Document(settings, framework, model=model, npus=npus, where=where, notes=tuple(notes))


def _trainer_file(launch: Launch, where: str, folder: Folder, notes: list[str]) -> TrainerFile | None:
    """Take the file with arguments of a Trainer off the words: the first of them, or behind --config."""
    words, is_known = launch.words, is_trainer_program(launch.program)
    at = next((at for at, word in enumerate(words) if word.partition("=")[0] == _CONFIG), 0)
    option, has_value, name = "".join(words[at : at + 1]).partition("=")
    size = 1
    if option != _CONFIG:
        name = option + has_value + name
    elif not has_value:
        name, size = "".join(words[at + 1 : at + 2]), 2
    if not name.endswith((".yaml", ".yml", ".json")) and not (is_known and option == _CONFIG):
        return None
    if is_known and missing_in(name):
        raise ask(name, where, option if option == _CONFIG else "its file")
    path = folder.find(name)
    if not is_known and not folder.has(path):
        return None
    found: list[str] = []
    settings = settings_of(data_of(path, folder.text(path)), str(path), found)
    if not is_known and not is_trainer(settings):
        return None
    rest = words[:at] + words[at + size :]
    launch.words = [f"--{word}" if _OVERRIDE.match(word) else word for word in rest]
    notes += found
    return trainer_file(settings, str(path))


def _trainer(
    launch: Launch,
    framework: str,
    where: str,
    folder: Folder,
    notes: list[str],
    file: TrainerFile | None = None,
) -> Document:
    """Arguments of a Trainer, options of accelerate, and the files that they name."""
    settings, of_file, spelled = file or TrainerFile({}, {}, {})
    told = launch.options.get("accelerate", {})
    npus = launch.npus
    if "--config-file" in told:
        path = folder.find(told["--config-file"])
        base = document_of_file(path, "accelerate", text=folder.text(path))
        settings |= base.settings
        npus = npus or base.npus
    for option, value in told.items():
        name = option.lstrip("-").replace("-", "_")
        group = next((g for g in ("fsdp", "parallelism_config") if name.startswith(f"{g}_")), "")
        key = (
            f"fsdp_config.{name}"
            if group == "fsdp"
            else f"{group}.{name[len(group) + 1 :]}"
            if group
            else name
        )
        if group or name in _ACCELERATE:
            settings |= trainer_settings([f"--{key}={value}"], where, notes)
    settings = {key.lstrip("-"): value for key, value in settings.items()}
    told_last = trainer_settings(launch.words, where, notes)
    spelled = {key: name for key, name in spelled.items() if key not in told_last}
    found = trainer_document(settings, of_file | told_last, framework, where, folder)
    return replace(found, npus=npus or found.npus, notes=(*notes, *found.notes), spelled=spelled)
