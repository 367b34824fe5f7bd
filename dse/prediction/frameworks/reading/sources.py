"""From what somebody has, a file or a command line, to a document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import is_file, is_folder
from dse.base.texts import is_whole
from dse.prediction.frameworks.job import Document
from dse.prediction.frameworks.reading.commands import document_of_command, keys_of
from dse.prediction.frameworks.reading.configurations import document_of_file
from dse.prediction.frameworks.reading.detection import checked_framework, detected
from dse.prediction.frameworks.reading.dotted_options import override_settings, section_settings
from dse.prediction.frameworks.reading.files import SUFFIXES, Folder, text_of
from dse.prediction.frameworks.reading.hosts import hosts_of
from dse.prediction.frameworks.reading.launchers import launch_of, started_at, variables_passed
from dse.prediction.frameworks.reading.manifests import Manifest, read_manifest
from dse.prediction.frameworks.reading.options import megatron_settings, trainer_settings
from dse.prediction.frameworks.reading.recipes import read_recipe
from dse.prediction.frameworks.reading.shell import read_script
from dse.prediction.frameworks.reading.shell_processes import Command

_SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")
SCHEDULE_FILE = "parallelism.pipeline_parallel_schedule_csv"
_MOST_NOTES = 100
_MOST_DEPTH = 3  # scripts that start scripts
_SHEBANG = re.compile(rb"#!.*\b(?:bash|sh)\b")


def read_document(
    words: Sequence[str], framework: str = "", given: Mapping[str, str] | None = None
) -> Document:
    """Return the document of a file with overrides, or of a command line.

    Args:
        words: a file (a shell script, JSON, YAML, TOML, or a recipe in Python, whose function may follow)
            and settings that override it; or the words of a command.
        framework: one of `FRAMEWORKS`; empty: the one that knows most of the keys.
        given: values of variables that a script leaves open.

    Raises:
        InputError: something is not read; names the file and the line or key, and what is allowed.
    """
    words = [_word(word) for word in words]
    if framework:
        checked_framework(framework)
    if not words:
        raise InputError("nothing to read; write FILE, or the words of a command")
    found = _read(words, framework, given or {})
    schedule = _schedule(found, Path(words[0]))
    return replace(found, notes=tuple(dict.fromkeys(found.notes))[:_MOST_NOTES], schedule=schedule)


def _schedule(document: Document, path: Path) -> str | None:
    """The text of the file that says the pipeline's schedule: where the job's file is, or where it runs."""
    name = document.settings.get(SCHEDULE_FILE)
    if document.framework != "torchtitan" or not isinstance(name, str) or not name or "\0" in name:
        return None
    for file in (path.parent / name, Path(name)):
        if is_file(file):
            return text_of(file)
    return None


def _read(words: list[str], framework: str, given: Mapping[str, str]) -> Document:
    path, overrides = Path(words[0]), words[1:]
    suffix, text = path.suffix.lower(), None
    if suffix in (".yaml", ".yml") and is_file(path):
        text = text_of(path)
        manifest = read_manifest(text, str(path))
        if manifest is not None:
            return _script(path, overrides, framework, given, manifest=manifest)
    if suffix in SUFFIXES:
        return _overridden(document_of_file(path, framework, text=text), overrides)
    is_script = suffix in _SCRIPTS or (is_file(path) and _has_shebang(path))
    if is_script and (is_file(path) or not overrides):
        return _script(path, overrides, framework, given)
    if (
        suffix == ".py"
        and not any(word.startswith("-") for word in overrides)
        and (is_file(path) or not overrides)
    ):
        return _recipe(path, overrides, framework)
    if len(words) == 1 and not words[0].startswith("-") and "=" not in words[0]:
        missing = "is a folder" if is_folder(path) else "no such file"
        problem = "its name does not say what it holds" if is_file(path) else missing
        kinds = ", ".join((*_SCRIPTS, *SUFFIXES, ".py"))
        raise InputError(
            f"{excerpt(words[0], 200)}: {problem}; write a file of {kinds}, or a whole command line"
        )
    return document_of_command(words, framework)


def _word(word: str) -> str:
    if "\0" in word or not is_whole(word):
        raise InputError(f"'{excerpt(word)}' holds NUL or half a character, which no command line can")
    return word


def _has_shebang(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return bool(_SHEBANG.match(file.read(100)))
    except OSError:
        return False


def _script(
    path: Path,
    arguments: list[str],
    framework: str,
    given: Mapping[str, str],
    depth: int = 0,
    slurm: Mapping[str, int] | None = None,
    manifest: Manifest | None = None,
    written: Mapping[str, str] | None = None,
) -> Document:
    """The last program of a framework in a script, with arguments that the script does not take.

    A script that it starts, as in `srun bash train.sh`, is read in its place, with the counts of `slurm`. The
    script may be that of a `manifest`; `written` are files of the scripts that start it.
    """
    where = str(path)
    if manifest is None:
        text = text_of(path)
    else:
        where, text = f"{where}: {manifest.name}", manifest.script
        given = {**manifest.environment, **given}
    script = read_script(text, where, given, arguments, path.parent)
    slurm = {**(slurm or {}), **script.slurm}
    hosts = hosts_of(text, path.parent)
    if not script.commands:
        ends = f", and the script ends at line {script.end_line}" if script.end_line else ""
        raise InputError(
            f"{where}: launches no program; torchrun, srun, python and such are looked for{ends}"
        )
    command = next(filter(_is_clear, script.commands[::-1]), script.commands[-1])
    started = _started(command, path.parent)
    if started is not None and depth < _MOST_DEPTH:
        file, further = started
        passed = variables_passed(command.words[: len(command.words) - len(further)])
        values, files = {**given, **command.environment, **passed}, {**(written or {}), **script.files}
        read = _script(file, further, framework, values, depth + 1, slurm, written=files)
        notes = (*script.notes, f"line {command.line} starts {file.name}, which is read", *read.notes)
        return replace(read, where=where, notes=notes, hosts=hosts or read.hosts)
    words = (*command.words, *(() if script.uses_arguments else arguments))
    found = document_of_command(
        words,
        framework,
        where=f"{where}: line {command.line}",
        folder=Folder(path.parent, {**(written or {}), **script.files}),
        slurm=slurm,
        environment={**given, **command.environment},
    )
    several = f"launches {len(script.commands)} programs; the one of line {command.line} is read"
    notes = (*script.notes, *([several] if len(script.commands) > 1 else []), *found.notes)
    return replace(found, where=where, notes=notes, hosts=hosts)


def _started(command: Command, folder: Path) -> tuple[Path, list[str]] | None:
    """A script in the folder that a command starts by a shell, with its arguments."""
    words = list(command.words)
    first = started_at(words, "")
    if words[first].endswith(_SCRIPTS) and "\0" not in words[first] and is_file(folder / words[first]):
        return folder / words[first], words[first + 1 :]
    for place, word in enumerate(words[:-1]):
        file = folder / words[place + 1]
        if word in ("bash", "sh") and not words[place + 1].startswith("-") and is_file(file):
            return file, words[place + 2 :]
    return None


def _is_clear(command: Command) -> bool:
    """Whether the command is one of a framework."""
    try:
        launch = launch_of(command.words, "")
        return bool(detected(keys_of(launch), "", launch.program))
    except InputError:
        return False


def _recipe(path: Path, overrides: list[str], framework: str) -> Document:
    function = overrides.pop(0) if overrides and "=" not in overrides[0] else ""
    recipe = read_recipe(text_of(path), str(path), function)
    framework = framework or detected(recipe.settings, str(path), among=("megatron-bridge", "torchtitan"))
    notes = (f"function {recipe.name} is read", *recipe.notes)
    found = Document(recipe.settings, framework, "", recipe.name, recipe.npus, str(path), notes)
    return _overridden(found, overrides)


def _overridden(document: Document, words: Sequence[str]) -> Document:
    """A document with settings of the command line in place of its own."""
    if not words:
        return document
    notes: list[str] = []
    where = "the command line"
    settings: dict[str, Any]
    if not any(word.startswith("--") for word in words):
        settings = override_settings(words, where, notes)
    elif document.framework == "megatron-lm":
        settings = megatron_settings(words, where, notes)
    elif document.framework == "torchtitan":
        settings = section_settings(words, where, notes)
    else:
        settings = trainer_settings(words, where, notes)
    kept = {key: value for key, value in document.settings.items() if key not in settings}
    return replace(document, settings={**kept, **settings}, notes=(*document.notes, *notes))
