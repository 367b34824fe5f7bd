"""Expansion of the words of a shell script: variables, arrays, defaults and arithmetic, within bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from dse.base.errors import InputError, excerpt
from dse.prediction.frameworks.reading.arithmetic import calculated
from dse.prediction.frameworks.reading.shell_arrays import Table
from dse.prediction.frameworks.reading.shell_braces import listed
from dse.prediction.frameworks.reading.shell_changes import SIGNS, Operand, changed, globbed
from dse.prediction.frameworks.reading.shell_tokens import MOST_CHARACTERS, Part, Token, Tokens
from dse.prediction.frameworks.reading.values import (
    OUTPUT,
    ask,
    is_open,
    mark,
    missing_in,
    readable,
    without_unset,
)

MOST_EXPANDED = 10_000_000
"""Characters of all expansions of a script together."""

IN_ORDER = "are taken in the order of their assignment, where bash has an order of its own"
"""The end of the note on the items of an associative array."""
_OF_PROCESSES = {"!": mark(OUTPUT, is_computed=True), "$": mark(OUTPUT, is_computed=True)}
"""Numbers of processes are asked for where they matter."""
_HARMLESS_NAMES = """
awk basename bc cat cd cut date dirname echo expr git grep head hostname ls nproc nvidia-smi printf pwd
readlink realpath scontrol sed seq shuf sort tail tee tr uname wc whoami
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
_BLANKS = " \t\n\r"
_JOINTS = re.compile(r"\|\||&&|\$?\(|[|;&\n]")
_BACKQUOTED = re.compile(r"`([^`]*)`")
_READ = re.compile(r"(?<![<\w])<(?![<(])|2>&1|(?:2|&|1)?>\s*/dev/null")
"""Redirections that write nothing."""
_QUOTED = re.compile(r"""("[^"\n]*")|'[^'\n]*'""")
_SIGN_OF_NAME = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?|\$(?=\()", re.ASCII)
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass
class Variables:
    """The variables of a script. `given` stand for its environment, `positional` are its arguments.

    Where `is_function`, they are those of a function: none of them is open. `status` is that of the last
    command, 0 where it is not known.
    """

    where: str
    given: Mapping[str, str]
    positional: tuple[str, ...] = ()
    values: dict[str, str | list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    uses_arguments: bool = False
    is_function: bool = False
    aliases: dict[str, str] = field(default_factory=dict)  # names that stand for others, of declare -n
    numbers: set[str] = field(default_factory=set)  # names that declare -i made numbers
    status: int = 0
    expanded: int = 0
    output_of: Callable[[Part], str | None] = lambda _: None  # of $(...), where it is only echoed

    def fields(self, word: tuple[Part, ...]) -> list[str]:
        """Return the words that a word becomes; unquoted values are parted at blanks.

        Raises:
            InputError: a part is not read, or the script grows beyond bounds.
        """
        found, current = list[str](), list[str]()
        is_open = False
        for part, is_parted in self._opened(word):
            for place, value in enumerate(self._pieces(part)):
                for number, text in enumerate(self.parted(value) if is_parted else [value]):
                    if (place or number) and is_open:
                        found.append("".join(current))
                        current, is_open = [], False
                    if text or not is_parted:
                        current.append(text)
                        is_open = True
        return [*found, "".join(current)] if is_open else found

    def _opened(self, word: tuple[Part, ...]) -> Iterator[tuple[Part, bool]]:
        """Yield the parts of a word with whether each is parted; a default keeps the quotes within it."""
        for part in word:
            is_open = part.kind == "variable" and not part.is_quoted and part.change[-1:] in ("-", "+")
            if is_open and any(piece.is_quoted for piece in part.word):
                value = self._value(part)
                is_set = value is not None and (part.change[:1] != ":" or value not in ("", [], [""]))
                if is_set == (part.change[-1] == "+"):
                    yield from ((piece, not piece.is_quoted) for piece in part.word)
                    continue
            yield part, part.kind != "text" and not part.is_quoted

    def parted(self, value: str) -> list[str]:
        """Return the pieces of a value between blanks, or signs of IFS; the first and last may be empty."""
        signs = self.values.get("IFS", _BLANKS)
        return re.split(f"[{signs}]+", value) if isinstance(signs, str) and signs else [value]

    def text(self, word: tuple[Part, ...]) -> str:
        """Return a word without parting it: what is assigned, or compared in [[ ]].

        Raises:
            InputError: as `fields`.
        """
        return "".join(" ".join(self._pieces(part)) for part in word)

    def assign(self, name: str, value: str | list[str]) -> None:
        """Set a variable; an open value is taken from `given`.

        Raises:
            InputError: the value is too long, or words would be parted at other signs than blanks.
        """
        if name == "IFS" and (not isinstance(value, str) or value.strip(_BLANKS)):
            shown = excerpt(readable(value if isinstance(value, str) else " ".join(value)))
            problem = f"IFS is '{shown}', where only blanks, tabs and line ends part words"
            raise InputError(f"{self.where}: {problem}; write ${{NAME//,/ }} for a text with commas")
        if isinstance(value, str) and missing_in(value):
            named = mark(name, is_computed="\0!" in value) if is_open(value) else value
            value = self.given.get(name, named)
        name = self.aliases.get(name, name)
        texts = ([value] if isinstance(value, str) else value) if name in self.numbers else ()
        for text in texts:
            if not (is_open(text) or _WHOLE.fullmatch(text)):
                problem = (
                    f"declare -i makes {name} a number, which '{excerpt(readable(text))}' is not as it stands"
                )
                raise InputError(f"{self.where}: {problem}; write {name}=$(( ... ))")
        size = len(value) if isinstance(value, str) else sum(map(len, value)) + len(value)
        if size > MOST_CHARACTERS:
            raise InputError(
                f"{self.where}: {name} grows beyond {MOST_CHARACTERS} characters, the most allowed"
            )
        self.grow(size, name)
        self.values[name] = value

    def number(self, text: str, line: int) -> int:
        """Return the number that a text stands for in arithmetic: digits, or the name of a variable."""
        place = f"{self.where}: line {line}"
        if missing_in(text):
            raise ask(text, place, "a comparison of numbers")
        text = text.strip()
        if not _NUMBER.fullmatch(text) or abs(int(text)) >= 2**63:
            raise InputError(
                f"{place}: '{excerpt(text)}' is no whole number, where one is compared or calculated"
            )
        return int(text)

    def _pieces(self, part: Part) -> list[str]:
        if part.kind == "text":
            found = [part.text]
        elif part.kind == "variable":
            found = self._variable(part)
        elif part.kind == "braces":
            found = listed(part.text, f"{self.where}: line {part.line}")
        elif part.kind == "math":
            found = [self._calculated(part)]
        else:
            told = self.output_of(part)
            if told is None:
                _check_command(part, f"{self.where}: line {part.line}")
            found = [mark(OUTPUT, is_computed=True) if told is None else told]
        self.grow(sum(map(len, found)) + len(found), f"line {part.line}")
        return found

    def grow(self, size: int, place: str) -> None:
        """Count what a script expands, or as many steps of a search.

        Raises:
            InputError: all of it together is too much.
        """
        self.expanded += size
        if self.expanded > MOST_EXPANDED:
            raise InputError(
                f"{self.where}: {place}: the variables grow beyond {MOST_EXPANDED} characters in all"
            )

    def _variable(self, part: Part) -> list[str]:
        if part.before == "!" and part.item in ("@", "*"):
            return self._places(part)
        value = self._value(part)
        is_set = value is not None and (part.change[:1] != ":" or value not in ("", [], [""]))
        kind = part.change[-1:]
        if part.before == "#":
            return [self._length(value, part)]
        if kind == "+":
            return [self.text(part.word)] if is_set else [""]
        if kind in ("-", "=") and not is_set:
            default = self.text(part.word)
            if kind == "=":
                self.assign(part.text, default)
            return [default]
        if value is None and part.text in ("@", "*") and part.change == ":":
            value = []
        if value is None:
            is_list = part.text in "@*" or part.item in ("@", "*")
            is_own = self.is_function and part.text.isdigit()
            is_own = is_own or (part.item != "" and isinstance(self.values.get(part.text), list))
            return [] if is_list else [""] if is_own else [mark(part.text)]
        self._note_order(value, part)
        if part.change in SIGNS:
            value = self._changed(value, part)
        if isinstance(value, str):
            return [value]
        is_joined = part.is_quoted and "*" in (part.item, part.text)
        joint = self.values.get("IFS", " ")[:1]
        return [str(joint).join(value)] if is_joined else list(value)

    def _places(self, part: Part) -> list[str]:
        """The places of the items of an array, or their keys."""
        items = self._value(part._replace(before=""))
        items = [items] if isinstance(items, str) else items or []
        self._note_order(items, part)
        if open_items := "".join(filter(missing_in, items)):
            raise ask(open_items, f"{self.where}: line {part.line}", f"${{!{part.text}[{part.item}]}}")
        places = items.keys if isinstance(items, Table) else list(map(str, range(len(items))))
        return [" ".join(places)] if part.is_quoted and part.item == "*" else places

    def _note_order(self, items: str | list[str], part: Part) -> None:
        note = f"line {part.line}: the {len(items)} items of {part.text} {IN_ORDER}"
        is_table = isinstance(items, Table) and part.item in ("@", "*")
        if is_table and len(items) > 1 and note not in self.notes:
            self.notes.append(note)

    def _length(self, value: str | list[str] | None, part: Part) -> str:
        """How many items an array has, or characters a text; those of an open value are asked for."""
        is_list = part.item in ("@", "*") or part.text in ("@", "*")
        items = value or [] if is_list else [value] if isinstance(value, str) else []
        if any(map(missing_in, items)) or (value is None and not part.text.isdigit()):
            return mark(f"#{part.text}", is_computed=True)
        return str(len(items) if is_list else sum(map(len, items)))

    def _changed(self, value: str | list[str], part: Part) -> str | list[str]:
        """A value without a part of it, or with another one; open values stay open."""
        place = f"{self.where}: line {part.line}"
        operand = self._operand(part)
        if part.change == ":" and isinstance(value, list):
            start, _, count = (text.strip() for text in operand.plain.partition(":"))
            first, most = self._index(start, part), self._index(count, part) if count else None
            items = [self.where, *value] if part.text in ("@", "*") else value
            first += len(items) if first < 0 else 0
            if most is not None and most < 0:
                raise InputError(f"{place}: a number of items is at least 0, not {most}")
            return items[first:][:most] if first >= 0 else []
        items = [value] if isinstance(value, str) else value
        found = [
            mark(missing_in(item + operand.plain), is_computed=True)
            if missing_in(item + operand.plain)
            else changed(item, part.change, operand, lambda text: self._index(text, part), place)
            for item in items
        ]
        return found[0] if isinstance(value, str) else found

    def _operand(self, part: Part) -> Operand:
        """Expand a pattern, in which quoted signs stand for themselves, and its new text behind a /."""
        word, new = part.word, ""
        for place, piece in enumerate(word if part.change in ("/", "//") else ()):
            is_slash = place == 0 and piece.text.startswith("/")  # the pattern of ${NAME////_}
            at = piece.text.find("/", int(is_slash))
            if piece.kind == "text" and not piece.is_quoted and at >= 0:
                word = (*part.word[:place], piece._replace(text=piece.text[:at]))
                new = self.text((piece._replace(text=piece.text[at + 1 :]), *part.word[place + 1 :]))
                break
        pieces = [(self.text((piece,)), piece.is_quoted) for piece in word]
        plain = "".join(text for text, _ in pieces)
        return Operand(f"{plain}{new}", globbed(pieces), new)

    def _index(self, text: str, part: Part) -> int:
        """The number of an expression in brackets, or of a place."""
        plain = _SIGN_OF_NAME.sub(r"\1", text.replace('"', ""))
        return calculated(plain, lambda name: self._known(name, part), f"{self.where}: line {part.line}")

    def place_of(self, text: str, line: int) -> int:
        """Return the place in an array that a text stands for, which may calculate."""
        return self._index(text, Part("variable", "", True, line))

    def _key(self, part: Part) -> str:
        """The key in an associative array, in which variables stand with or without quotes."""
        tokens = Tokens(part.item, self.where, part.line)
        words = [token.parts for token in iter(tokens.next, Token("end", tokens.line)) if token.parts]
        key = " ".join(map(self.text, words))
        if missing_in(key):
            raise ask(key, f"{self.where}: line {part.line}", f"the place in {part.text}")
        return key

    def _known(self, name: str, part: Part) -> int:
        (value,) = self._variable(Part("variable", name, True, part.line))[:1] or [""]
        return self.number(value or "0", part.line)

    def _value(self, part: Part) -> str | list[str] | None:
        name = part.text
        if part.before == "!":
            name = without_unset(self.text((part._replace(before="", change="", word=()),)))
            if missing_in(name) or not name.isidentifier():
                raise ask(name or mark(part.text), f"{self.where}: line {part.line}", f"${{!{part.text}}}")
        if name in ("@", "*", "#") or name.isdigit():
            self.uses_arguments = True
            if name == "#":
                return str(len(self.positional))
            if name in ("@", "*"):
                return list(self.positional) if self.positional else None
            place = int(name)
            if place == 0:
                return self.where
            return self.positional[place - 1] if place <= len(self.positional) else self.given.get(name)
        if name == "?":
            return str(self.status)
        if name in _OF_PROCESSES:
            return _OF_PROCESSES[name]
        if not (name[0].isalpha() or name[0] == "_"):
            raise InputError(f"{self.where}: line {part.line}: ${name} is known only to a shell that runs")
        name = self.aliases.get(name, name)
        value = self.values.get(name, self.given.get(name))
        if value is None or part.item in ("@", "*"):
            return [value] if isinstance(value, str) else value
        if isinstance(value, str):
            return value if not part.item or self._index(part.item, part) == 0 else None
        if isinstance(value, Table):
            return value.get(self._key(part) if part.item else "0")
        place = self._index(part.item, part) if part.item else 0
        return value[place] if -len(value) <= place < len(value) else None

    def _calculated(self, part: Part) -> str:
        text, place = self.text(part.word), f"{self.where}: line {part.line}"
        if missing_in(text):
            return mark(missing_in(text), is_computed="\0!" in text)
        open_value = ""

        def value_of(name: str) -> int:
            nonlocal open_value
            (value,) = self._variable(Part("variable", name, True, part.line))[:1] or [""]
            open_value = open_value or value * bool(missing_in(value))
            return 1 if missing_in(value) else self.number(without_unset(value) or "0", part.line)

        result = str(calculated(text, value_of, place))
        return open_value or result


def _first(words: list[str]) -> list[str]:
    """The program of a command; of one on other nodes, the program there."""
    is_elsewhere = words[:1] in (["srun"], ["ssh"])
    return ([word for word in words if word in _HARMLESS] if is_elsewhere else [])[:1] or words[:1]


def _check_command(part: Part, place: str) -> None:
    """Let pass what only looks up a name or a date: it is not run either, and its value stays open."""
    source = part.text
    for inner in _BACKQUOTED.findall(source):
        _check_command(part._replace(text=inner), place)
    source = _READ.sub(" ", _BACKQUOTED.sub("''", source))
    unquoted = _QUOTED.sub(lambda quoted: quoted[1] or "''", source)
    first = [_first(piece.split()) for piece in _JOINTS.split(unquoted)]
    names = {words[0].strip("\"'") for words in first if words and words[0] not in (")", '")"', '"')}
    if not names <= _HARMLESS or any(sign in unquoted for sign in "<>`"):
        source = excerpt(part.text, 40)
        raise InputError(f"{place}: $({source}) would run a command; scripts are only read: write its value")
