"""Words and operators of a shell script, as bash parts them; nothing is expanded or executed here."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from dse.base.errors import InputError, excerpt
from dse.prediction.frameworks.reading.shell_braces import BRACES, is_list
from dse.prediction.frameworks.reading.shell_changes import SIGNS

MOST_CHARACTERS = 1_000_000
MOST_NESTING = 20

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]", re.ASCII)
_BRACED_NAME = re.compile(
    r"([#!]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,3}|[@*#])(?:\[([^][\n]{1,100})\])?", re.ASCII
)
_CHANGE = re.compile(rf":?[-=+?]|{'|'.join(map(re.escape, SIGNS))}")
_PLAIN = re.compile(r"[^ \t\r\n;&|()<>'\"\\$`]+")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_IN_BRACES = re.compile(r"[^}'\"\\$`]+")
_OPERATOR = re.compile(r"\n|&&|\|\||\|&|;;|&>>|&>|>>|>&|>\||<<<|<<-|<<|<&|<>|[;&|()<>]")
_BLANKS = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_ARRAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=", re.ASCII)
_COMMAND = re.compile(r"(?<!\\)(?:\$\((?!\()|`)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_TABS = re.compile(r"^\t+", re.MULTILINE)
_BRACKET = re.compile(r"[()]|'[^']*'")


class Part(NamedTuple):
    """A piece of a word: `text`, a `variable`, arithmetic (`math`), `braces`, or a `command` for its output.

    `text` is the literal text, the name, or the source; `item` is what stands in [ ] after a name, and
    `before` the # or ! of a length or of a name in a variable. `change` is an operator such as :- with its
    word.
    """

    kind: str
    text: str
    is_quoted: bool
    line: int
    item: str = ""
    change: str = ""
    word: tuple[Part, ...] = ()
    before: str = ""


@dataclass
class Input:
    """A text behind <<, which begins after the line that names its `last` line; `parts` once it is read.

    `is_indented` is so behind <<-, which drops the tabs before its lines.
    """

    last: tuple[Part, ...]
    parts: tuple[Part, ...] = ()
    is_indented: bool = False


class Token(NamedTuple):
    """A `word`, an `array` with its items, a `form` behind =~, an `operator`, or the `end`."""

    kind: str
    line: int
    text: str = ""
    parts: tuple[Part, ...] = ()
    items: tuple[tuple[Part, ...], ...] = ()
    descriptor: str = ""


@dataclass
class Tokens:
    """A reader of tokens; `where` is how messages call the script, `line` the number of its first line.

    `inputs` are texts that begin after this line, each the input of a command. `follows` is the last sign of
    the operator before, if no word stands between.
    """

    text: str
    where: str
    line: int = 1
    at: int = 0
    depth: int = 0
    inputs: list[Input] = field(default_factory=list)
    follows: str = ""

    def refuse(self, problem: str, line: int = 0) -> NoReturn:
        """Raise an InputError that names the line."""
        raise InputError(f"{self.where}: line {line or self.line}: {problem}")

    def next(self) -> Token:
        """Return the next token.

        Raises:
            InputError: the text has what is not read; says at which line, and what is allowed.
        """
        while True:
            if blanks := _BLANKS.match(self.text, self.at):
                self._advance(blanks.end())
            if self.at < len(self.text) and self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
                continue
            break
        line = self.line
        if self.at >= len(self.text):
            return Token("end", line)
        if operator := _OPERATOR.match(self.text, self.at):
            if operator[0] in ("<", ">") and self.text.startswith("(", operator.end()):
                if operator[0] == ">" and self.follows == ">":  # where output goes to changes no word
                    self._parenthesis(operator.end())
                    return Token("word", line, parts=(Part("text", ">(...)", True, line),))
                self.refuse(f"{operator[0]}(...) runs a command, which is never done; write a file instead")
            self._advance(operator.end())
            self.follows = operator[0][-1]
            while operator[0] == "\n" and self.inputs:
                self._pass_input(self.inputs.pop(0), line)
            return Token("operator", line, operator[0])
        return self._word(line)

    def _pass_input(self, found: Input, line: int) -> None:
        """Read a text that is the input of a command."""
        parts = found.last
        last = "".join(part.text for part in parts)
        tabs = "\t*" if found.is_indented else ""
        end = re.compile(f"^{tabs}{re.escape(last)}\r?$\n?", re.MULTILINE).search(self.text, self.at)
        if end is None:
            self.refuse(f"<< has no end; close it with the line {excerpt(last)}", line)
        is_expanded = not any(part.is_quoted for part in parts)
        if is_expanded and (command := _COMMAND.search(self.text, self.at, end.start())):
            self.refuse(f"{command[0]} in a text behind << would run a command; scripts are only read", line)
        text = self.text[self.at : end.start()]
        if found.is_indented:
            text = _TABS.sub("", text)
        found.parts = (Part("text", text, True, line),)
        if is_expanded:
            with suppress(InputError):  # it is asked for only where the script starts it
                inner = Tokens(text, self.where, line + 1, depth=self.depth)
                found.parts = tuple(inner._parts("", is_quoted=True))
        self._advance(end.end())

    def _word(self, line: int) -> Token:
        parts: list[Part] = []
        self.follows, start = "", self.at
        if braces := BRACES.match(self.text, self.at):
            self._advance(braces.end())
            return Token("word", line, parts=(Part("braces", braces[1], False, line),))
        while self.at < len(self.text):
            if plain := _PLAIN.match(self.text, self.at):
                self._advance(plain.end())
                parts.append(Part("text", plain[0], False, line))
                if len(parts) == 1 and self.text.startswith("(", self.at) and _ARRAY.fullmatch(plain[0]):
                    self._advance(self.at + 1)
                    return Token("array", line, plain[0], items=self._items(line))
            elif self.text[self.at] in "'\"\\$`":
                self._special(parts, is_quoted=False)
            else:
                break
        signs = "".join(p.text if p.kind == "text" and not p.is_quoted else "$" for p in parts)
        if "{" in signs and is_list(signs):
            source = excerpt(self.text[start : self.at])
            self.refuse(f"{source} is a list in braces; write out its words, or quote it", line)
        is_descriptor = len(parts) == 1 and parts[0].text.isdigit() and not parts[0].is_quoted
        if is_descriptor and self.text.startswith((">", "<"), self.at):
            return self.next()._replace(descriptor=parts[0].text)
        return Token("word", line, parts=tuple(parts))

    def form(self) -> Token:
        """Return the regular expression that stands here, up to a blank outside its parentheses.

        Raises:
            InputError: it has what is not read.
        """
        if blanks := _BLANKS.match(self.text, self.at):
            self._advance(blanks.end())
        line, depth, parts = self.line, 0, list[Part]()
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign in "'\"\\$`":
                self._special(parts, is_quoted=False)
                continue
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if depth < 0 or sign == "\n" or (sign in " \t\r" and depth == 0):
                break
            parts.append(Part("text", sign, False, line))
            self._advance(self.at + 1)
        return Token("form", line, parts=tuple(parts))

    def _items(self, line: int) -> tuple[tuple[Part, ...], ...]:
        items = list[tuple[Part, ...]]()
        self._enter()
        while True:
            token = self.next()
            if token.kind == "word":
                items.append(token.parts)
            elif token.kind == "operator" and token.text == ")":
                self.depth -= 1
                return tuple(items)
            elif token.text != "\n":
                self.refuse("this array has no end; close it with )" if token.kind == "end" else _ITEMS, line)

    def _special(self, parts: list[Part], *, is_quoted: bool) -> None:
        """Read what begins with a quote, a backslash, a dollar or a backquote."""
        line, first = self.line, self.text[self.at]
        if first == "'":
            parts.append(Part("text", self._until("'", self.at + 1), True, line))
        elif first == '"':
            self._advance(self.at + 1)
            parts += self._parts('"', is_quoted=True) or [Part("text", "", True, line)]
        elif first == "`":
            parts.append(Part("command", self._until("`", self.at + 1), is_quoted, line))
        elif first == "\\":
            self._escape(parts, is_quoted)
        else:
            self._dollar(parts, is_quoted)

    def _escape(self, parts: list[Part], is_quoted: bool) -> None:
        line, after = self.line, self.text[self.at + 1 : self.at + 2]
        self._advance(self.at + 2)
        if after != "\n":
            keeps = is_quoted and after not in '$`"\\'
            parts.append(Part("text", "\\" + after if keeps else after, True, line))

    def _parts(self, stop: str, *, is_quoted: bool) -> list[Part]:
        """Read up to a closing quote or brace; "" is the end of the text."""
        self._enter()
        line, parts = self.line, list[Part]()
        while self.at < len(self.text) and (not stop or self.text[self.at] != stop):
            form = _IN_BRACES if stop == "}" else _IN_QUOTES
            if plain := form.match(self.text, self.at):
                parts.append(Part("text", plain[0], is_quoted, self.line))
                self._advance(plain.end())
            elif (self.text[self.at] == "'" and is_quoted) or (self.text[self.at] == '"' and not stop):
                parts.append(Part("text", self.text[self.at], is_quoted, self.line))
                self._advance(self.at + 1)
            elif self.text[self.at] == "}":
                parts.append(Part("text", "}", is_quoted, self.line))
                self._advance(self.at + 1)
            else:
                self._special(parts, is_quoted=is_quoted)
        if stop and self.at >= len(self.text):
            self.refuse(f"{'${' if stop == '}' else stop} has no end; close it with {stop}", line)
        self._advance(self.at + len(stop))
        self.depth -= 1
        return parts

    def _dollar(self, parts: list[Part], is_quoted: bool) -> None:
        line, after = self.line, self.at + 1
        if self.text.startswith("((", after):
            parts.append(self.math(self.at + 1, line, is_quoted=is_quoted))
        elif self.text.startswith("(", after):
            parts.append(Part("command", self._parenthesis(after), is_quoted, line))
        elif self.text.startswith("{", after):
            self._advance(after + 1)
            parts.append(self._braced(line, is_quoted))
        elif self.text.startswith("'", after) and not is_quoted:
            parts.append(Part("text", _unescaped(self._until("'", after + 1)), True, line))
        elif self.text.startswith('"', after) and not is_quoted:
            self._advance(after)
            self._special(parts, is_quoted=False)
        elif name := _NAME.match(self.text, after):
            self._advance(name.end())
            parts.append(Part("variable", name[0], is_quoted, line))
        else:
            self._advance(after)
            parts.append(Part("text", "$", is_quoted, line))

    def _braced(self, line: int, is_quoted: bool) -> Part:
        name = _BRACED_NAME.match(self.text, self.at)
        if name is not None:
            part = Part("variable", name[2], is_quoted, line, name[3] or "", before=name[1])
            change = _CHANGE.match(self.text, name.end())
            if change is not None and name[1] != "#":
                self._advance(change.end())
                is_pattern = change[0][0] in "#%/,^"  # quotes around all of it leave its signs
                word = tuple(self._parts("}", is_quoted=is_quoted and not is_pattern))
                return part._replace(change=change[0], word=word)
            if self.text.startswith("}", name.end()):
                self._advance(name.end() + 1)
                return part
        return self.refuse(
            f"'${{{excerpt(self.text[self.at : self.at + 30])}' is not read; {_EXPANSIONS}", line
        )

    def math(self, start: int, line: int, *, is_quoted: bool) -> Part:
        """Read arithmetic from the first of its parentheses on.

        Raises:
            InputError: it has no end, or what is not read.
        """
        source = self._parenthesis(start)
        if not (source.startswith("(") and source.endswith(")")):
            self.refuse("(( has no end; close it with ))", line)
        return self.math_of(source[1:-1], line, is_quoted=is_quoted)

    def math_of(self, text: str, line: int, *, is_quoted: bool) -> Part:
        """Return arithmetic without its parentheses as a part."""
        inner = Tokens(text, self.where, line, depth=self.depth)
        return Part("math", text, is_quoted, line, word=tuple(inner._parts("", is_quoted=True)))

    def _parenthesis(self, start: int) -> str:
        """Return what stands between a parenthesis and its end."""
        line, depth = self.line, 0
        for bracket in _BRACKET.finditer(self.text, start):
            depth += {"(": 1, ")": -1}.get(bracket[0], 0)
            if depth == 0:
                self._advance(bracket.end())
                return self.text[start + 1 : self.at - 1]
        return self.refuse(
            f"{'$' if self.text[start - 1 : start] == '$' else ''}( has no end; close it with )", line
        )

    def _until(self, stop: str, start: int) -> str:
        end = self.text.find(stop, start)
        if end < 0:
            self.refuse(f"{stop} has no end; close it with {stop}")
        self._advance(end + 1)
        return self.text[start:end]

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MOST_NESTING:
            self.refuse(f"brackets are nested deeper than {MOST_NESTING} levels, the most allowed")

    def _advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.at, end)
        self.at = end


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), text)


_ITEMS = "an array holds words only; quote what has ( ) & | ; < or >"
_EXPANSIONS = (
    "allowed are $NAME, ${NAME}, ${NAME:-DEFAULT} and its kin with = + ? # % / , ^ and :, ${#NAME}, "
    "${!NAME}, ${NAME[@]}, ${NAME[0]}, $((A * B))"
)
