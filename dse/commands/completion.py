"""`dse completion bash`: a script by which bash or zsh completes verbs, options, keys and choices."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence

from dse.base.command_lines import HELP, CommandLine
from dse.base.settings import check_choice
from dse.commands.cli import read_arguments
from dse.commands.verbs import verbs

# The registry of each key that names a search; imported when the value of the key is completed.
_SEARCHES = {
    "synthesizer": "dse.collectives.search.synthesizers.registry:SYNTHESIZERS",
    "partitioner": "dse.partition.search.partitioners:PARTITIONERS",
    "planner": "dse.planner.search.planners:PLANNERS",
}

# "$1" is the command that is completed. Readline replaces what follows the last = or : of a word only.
BASH = """\
_dse() {
    local line="${COMP_LINE:0:COMP_POINT}" words word
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word="${words[-1]}"
    mapfile -t COMPREPLY < <("$1" completion words -- "${words[@]:1}" 2> /dev/null)
    if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%=*}="}")
    fi
    if [[ ${COMPREPLY[0]} == *[=.] ]]; then compopt -o nospace; fi
}
complete -o default -F _dse dse
"""
ZSH = """\
#compdef dse
_dse() {
    local -a found
    found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2> /dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        compadd -Q -S '' -a found
    else
        compset -P '*='
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _dse dse
"""
_SCRIPTS = {"bash": BASH, "zsh": ZSH}


COMMAND = CommandLine(
    "completion",
    "Print a script that lets a shell complete the verbs of dse, their options, keys, and choices such as "
    "system=system1; files complete as usual.",
    words={"SHELL": "whose script: bash or zsh"},
    ending='For bash: eval "$(dse completion bash)" in ~/.bashrc; for zsh: eval "$(dse completion zsh)" in '
    "~/.zshrc.",
)


def completions(words: Sequence[str]) -> list[str]:
    """Return what the last of `words`, those after `dse`, can become; nothing where only files can follow."""
    *before, word = words or [""]
    known = verbs()
    if not before:
        return _starting(word, [*known, "--help", "--version"])
    if before[0] not in known:
        return []
    module = known[before[0]].load()
    actions: Mapping[str, CommandLine] = getattr(module, "ACTIONS", {})
    line = actions.get(before[1], module.COMMAND) if len(before) > 1 else module.COMMAND
    option = next((one for name, one in line.options.items() if before[-1] in (name, one.short)), None)
    if option is not None and option.value:
        return []
    if word.startswith("-"):
        shorts = [one.short for one in line.options.values() if one.short]
        return _starting(word, [*line.options, *shorts, *HELP])
    if line.any_key:
        return _keys(before[0], word)
    if not word and line.words and not actions and before != ["completion"]:
        return []  # files
    first = [*actions, *(_SCRIPTS if before == ["completion"] else ())] if len(before) == 1 else []
    return sorted({*_starting(word, first), *_own_keys(line, word)})


def _starting(word: str, candidates: Iterable[str]) -> list[str]:
    return sorted(candidate for candidate in candidates if candidate.startswith(word))


def _own_keys(line: CommandLine, word: str) -> list[str]:
    """Return KEY= of a command that has its own keys, or KEY=CHOICE; files complete as usual."""
    keys = line.meanings
    if "=" not in word:
        return _starting(word, (f"{key}=" for key in keys))
    key = word.partition("=")[0]
    if key in line.choices:
        return _starting(word, (f"{key}={choice}" for choice in line.choices[key]))
    if key in keys and key in _SEARCHES:
        module, _, registry = _SEARCHES[key].partition(":")
        names = getattr(importlib.import_module(module), registry).listed()
        return _starting(word, (f"{key}={name}" for name in names))
    return _keys("point", word) if key in keys and key in ("system", "model", "cluster") else []


def _keys(verb: str, word: str) -> list[str]:
    """Return KEY=, GROUP. for more keys, or GROUP=CHOICE."""
    from dse.base.files import conf_folder
    from dse.studies.config.own_files import GROUPS
    from dse.studies.config.schema import ConfigSchema, entries, use_of

    group, assigned, _ = word.partition("=")
    if assigned:
        folder = conf_folder() / group
        choices = [path.stem for path in folder.glob("*.yaml")] if group.isidentifier() else []
        return _starting(word, (f"{group}={choice}" for choice in choices))
    names = [entry.name.replace(".N.", ".0.") for entry in entries(ConfigSchema)]
    used = [name for name in names if verb in (use_of(name)[0] or (verb,))]
    depth = word.count(".") + 1
    shown = {f"{name}=" if name.count(".") < depth else _first(name, depth) for name in used}
    groups = {f"{path.name}=" for path in conf_folder().iterdir() if path.name in GROUPS}
    return _starting(word, shown | {group for group in groups if verb in (use_of(group[:-1])[0] or (verb,))})


def _first(name: str, parts: int) -> str:
    return ".".join(name.split(".")[:parts]) + "."


def main(argv: Sequence[str]) -> int:
    """Print the script; or, as the script asks, completions of the words after `words --`."""
    if list(argv[:2]) == ["words", "--"]:
        print("".join(f"{word}\n" for word in completions(argv[2:])), end="")
    else:
        arguments = read_arguments(COMMAND, argv)
        if arguments is not None:
            check_choice("SHELL", arguments.words[0], tuple(_SCRIPTS))
            print(_SCRIPTS[arguments.words[0]], end="")
    return 0
