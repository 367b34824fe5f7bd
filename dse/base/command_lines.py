"""Command lines: the keys, options and words that a command takes, read into texts, and shown by --help."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.base.errors import InputError, did_you_mean, excerpt

HELP = ("-h", "--help")
MANY = 10**6  # words of a command line that takes any number of them
_ASSIGNMENT = re.compile(r"[+~]*(?P<key>[A-Za-z_][\w.]*)=(?P<value>.*)", re.DOTALL)
_WIDTH = 98


@dataclass(frozen=True)
class Option:
    """An option such as `--output DIR`: `value` names what follows it, `short` is another spelling."""

    meaning: str
    value: str = ""
    short: str = ""


@dataclass(frozen=True)
class Arguments:
    """A command line: texts by key, overrides of groups, texts by option ("" without a value), and words.

    `notes` are for people: which older spellings were used.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    overrides: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class CommandLine:
    """The arguments of `dse VERB`. The parser, --help and completion follow from it.

    `keys` are meanings by key, under titles. `words` are meanings of what is neither key nor option, by name:
    at least `least` and at most `most` of them, by default one for each name. `groups` are keys with
    overrides, such as system.nodes=8; with `any_key` every KEY=VALUE is an override, as Hydra reads it.
    `choices` are the values that some keys allow. Of the keys and options in a row of `exclusive` a user may
    write one. `older` maps options of other programs or former releases to keys; `--key VALUE` is taken for
    `key=VALUE` without being listed, several times for keys in `repeated`. `example` is a key for messages.
    """

    verb: str
    about: str
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None
    groups: Sequence[str] = ()
    any_key: bool = False
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    exclusive: Sequence[Sequence[str]] = ()
    older: Mapping[str, str] = field(default_factory=dict)
    repeated: Collection[str] = ()
    example: str = ""
    synopsis: Sequence[str] = ()
    ending: str = ""

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of every key."""
        return {key: text for keys in self.keys.values() for key, text in keys.items()}

    def parse(self, argv: Sequence[str]) -> Arguments:
        """Read a command line that does not ask for help.

        Raises:
            InputError: an unknown, repeated or empty key, an unknown option or word, or one that is missing.
        """
        return _Reader(self).read(argv)

    def usage(self, program: str) -> str:
        """Return the text of --help for a command that was called as `program`."""
        synopsis = self.synopsis or (self._synopsis(),)
        calls = "\n       ".join(f"{program} {line}".rstrip() for line in synopsis)
        options = {_spelled(name, option): option.meaning for name, option in self.options.items()}
        sections = {"": self.words, **self.keys, "options": {**options, ", ".join(HELP): "this text"}}
        longest = max((len(name) for part in sections.values() for name in part), default=0)
        width = min(longest + 4, 28)
        blocks = [
            (f"{title}:\n" if title else "") + lines_of(part, width)
            for title, part in sections.items()
            if part
        ]
        return "\n\n".join([f"usage: {calls}", *_wrapped(self.about), *blocks, *_wrapped(self.ending)])

    def _synopsis(self) -> str:
        words = list(self.words)
        if words and self.most is not None and self.most > len(words):
            words[-1] += " ..."
        needed = len(words) if self.least is None else self.least
        shown = [word if place < needed else f"[{word}]" for place, word in enumerate(words)]
        keys = ["[KEY=VALUE ...]"] if self.keys or self.any_key else []
        return " ".join([*shown, *keys, "[OPTION ...]"])


class _Reader:
    """Reads one command line."""

    def __init__(self, line: CommandLine) -> None:
        self.line, self.keys = line, line.meanings
        self.values: dict[str, str] = {}
        self.overrides: list[str] = []
        self.options: dict[str, str] = {}
        self.words: list[str] = []
        self.notes: list[str] = []
        self.names = {option.short: name for name, option in line.options.items() if option.short}
        self.names |= {name: name for name in line.options}
        spellings = {f"--{key}": key for key in self.keys}
        self.older = {name.replace("_", "-"): key for name, key in spellings.items()} | spellings
        self.older |= line.older

    def read(self, argv: Sequence[str]) -> Arguments:
        rest = iter(argv)
        for word in rest:
            found = _ASSIGNMENT.fullmatch(word)
            if word.startswith("-") and len(word) > 1:
                self._option(word, rest)
            elif self.line.any_key:
                self.overrides.append(word)
            elif found is None:
                self._word(word)
            elif self._is_override(found["key"]):
                self.overrides.append(word)
            else:
                self._set(word.partition("=")[0], found["value"])
        self._check()
        return Arguments(self.values, self.overrides, self.options, self.words, tuple(self.notes))

    def _is_override(self, key: str) -> bool:
        group, dot, _ = key.partition(".")
        return group in self.line.groups and (group in self.keys or bool(dot))

    def _option(self, word: str, rest: Iterator[str]) -> None:
        name, assigned, value = word.partition("=")
        key = None if name in self.names else self.older.get(name)
        if name not in self.names and key is None:
            shown = [*(["KEY=VALUE"] if self.keys or self.line.any_key else []), "--help", *self.line.options]
            hint = did_you_mean(name, self.line.options) or did_you_mean(
                name.lstrip("-").replace("-", "_"), self.keys
            )
            raise InputError(f"unknown option {excerpt(name)}; allowed are {', '.join(shown)}{hint}")
        shown_value = "VALUE" if key is not None else self.line.options[self.names[name]].value
        if assigned and not shown_value:
            raise InputError(f"{name} takes no value, but got '{excerpt(value)}'")
        text = value if assigned or not shown_value else next(rest, None)
        if text is None:
            raise InputError(f"{name} lacks its value; write {name} {shown_value}")
        if key is not None:
            self.notes.append(f"{name} is an older spelling; write {key}={excerpt(text)}")
            if key in self.line.repeated and key in self.values:
                text = f"{self.values.pop(key)},{text}"
            self._set(key, text)
            return
        if shown_value and not text:
            raise InputError(f"{name} is empty; write {name} {shown_value}")
        if self.names[name] in self.options:
            raise InputError(f"{name} occurs twice; write it once")
        self.options[self.names[name]] = text

    def _word(self, word: str) -> None:
        most = len(self.line.words) if self.line.most is None else self.line.most
        if len(self.words) < most:
            self.words.append(word)
        elif self.keys:
            example = self.line.example or f"{next(iter(self.keys))}=…"
            raise InputError(f"'{excerpt(word)}' is no key; write KEY=VALUE, such as {example}")
        else:
            raise InputError(f"'{excerpt(word)}' is one word too many; see dse {self.line.verb} --help")

    def _set(self, key: str, value: str) -> None:
        if key not in self.keys:
            allowed = ", ".join(self.keys) or "none"
            raise InputError(
                f"unknown key {excerpt(key)}; allowed are {allowed}{did_you_mean(key, self.keys)}"
            )
        if key in self.values:
            raise InputError(
                f"{key} occurs twice, as '{excerpt(self.values[key])}' and '{excerpt(value)}'; write it once"
            )
        if not value:
            raise InputError(f"{key} is empty; write {key}=VALUE, or leave it out")
        allowed_values = self.line.choices.get(key, (value,))
        if value not in allowed_values:
            hint = did_you_mean(value, allowed_values)
            raise InputError(f"{key} is '{excerpt(value)}'; allowed are {', '.join(allowed_values)}{hint}")
        self.values[key] = value

    def _check(self) -> None:
        needed = len(self.line.words) if self.line.least is None else self.line.least
        if len(self.words) < needed:
            name = list(self.line.words)[len(self.words)]
            raise InputError(
                f"{name} is missing; write dse {self.line.verb} {' '.join(self.line.words)}, "
                f"{self.line.words[name]}"
            )
        for row in self.line.exclusive:
            given = [f"{key}={excerpt(self.values[key])}" for key in row if key in self.values]
            given += [name for name in row if name in self.options]
            if len(given) > 1:
                raise InputError(f"{given[0]} and {given[1]} exclude each other; write one of them")


def asks_for_help(argv: Sequence[str]) -> bool:
    """Whether a command line has -h or --help."""
    return any(word in HELP for word in argv)


def lines_of(meanings: Mapping[str, str], width: int = 18) -> str:
    """Return lines of names and their meanings, which begin at column `width`."""
    import textwrap

    lines = []
    for name, meaning in meanings.items():
        wrapped = textwrap.wrap(meaning, _WIDTH - width, break_on_hyphens=False)
        if len(name) > width - 4:
            wrapped.insert(0, "")
        first, *more = wrapped
        lines += [f"  {name:<{width - 2}}{first}".rstrip(), *(" " * width + line for line in more)]
    return "\n".join(lines)


def _spelled(name: str, option: Option) -> str:
    names = f"{option.short}, {name}" if option.short else name
    return f"{names} {option.value}".rstrip()


def _wrapped(text: str) -> list[str]:
    """The paragraphs of a text; lines that begin with a blank stay as they are."""
    import textwrap

    found = []
    for paragraph in filter(None, text.split("\n\n")):
        is_shaped = "\n" in paragraph or paragraph.startswith(" ")
        found.append(paragraph if is_shaped else textwrap.fill(paragraph, _WIDTH, break_on_hyphens=False))
    return found
