"""Commands of a shell that take options or texts apart: getopts, read, mapfile, let and printf -v."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dse.base.errors import InputError, excerpt
from dse.prediction.frameworks.reading.shell_builtins import Builtins
from dse.prediction.frameworks.reading.shell_nodes import Simple
from dse.prediction.frameworks.reading.shell_syntax import Statements
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import OUTPUT, ask, mark, missing_in, readable

INPUTS = frozenset({"getopts", "read", "mapfile", "readarray", "let"})
_CONVERSION = re.compile(r"%(%|[sdi])")
_VALUED = {"read": "adinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc"}


class Inputs(Builtins):
    """Interprets commands that assign parts of a text."""

    def _input(self, name: str, words: Sequence[str], node: Simple) -> int:
        if name == "let":
            return self._let(words, node)
        if name == "getopts":
            return self._getopts(words, node)
        return self._read(name, words, node)

    def _let(self, words: Sequence[str], node: Simple) -> int:
        status = 1
        for word in words:
            if missing_in(word):
                raise ask(word, self._place(node.line), "let")
            status = self.run(Statements(f"(({word}))", self.variables.where, node.line).all())
        return status

    def _getopts(self, words: Sequence[str], node: Simple) -> int:
        """Take the next option off the arguments, those of the script or of the function that runs."""
        if len(words) < 2:
            raise InputError(f"{self._place(node.line)}: getopts needs its letters and a name")
        letters, name = words[:2]
        values = self.variables
        given = list(words[2:] or values.positional)
        values.uses_arguments = values.uses_arguments or not words[2:]
        told = values.values.get("OPTIND", "1")
        place = int(told) if isinstance(told, str) and told.isdecimal() else 1
        rest = self._rest_of_option if self._option_place == place else ""
        word = given[place - 1] if 0 < place <= len(given) else ""
        if not rest and (word in ("", "-", "--") or not word.startswith("-")):
            values.assign(name, "?")
            values.assign("OPTIND", str(place + (word == "--")))
            return 1
        letter, rest = (rest or word[1:])[:1], (rest or word[1:])[1:]
        at = letters.find(letter) if letter != ":" else -1
        values.values.pop("OPTARG", None)
        values.assign(name, letter if at >= 0 else "?")
        if at < 0:
            if letters.startswith(":"):
                values.assign("OPTARG", letter)
        elif letters[at + 1 : at + 2] == ":":
            has_value = bool(rest) or place < len(given)
            if not has_value:
                values.assign(name, ":" if letters.startswith(":") else "?")
            values.assign("OPTARG", rest or (given[place] if has_value else letter))
            place, rest = place + (0 if rest else int(has_value)), ""
        place += not rest
        values.assign("OPTIND", str(place))
        self._option_place, self._rest_of_option = place, rest
        return 0

    def _read(self, name: str, words: Sequence[str], node: Simple) -> int:
        """Read a line, or a whole text for mapfile or with -d '', from behind <<< or <<."""
        values, names, has_array, is_whole = self.variables, list(words), False, name != "read"
        while names and names[0].startswith("-"):
            option = names.pop(0)
            if option[-1] in _VALUED[name]:
                has_array = has_array or option[-1] == "a"
                if option[-1] == "d":
                    is_whole = is_whole or names[:1] == [""]
                if option[-1] != "a" and names:
                    del names[0]
        if node.text is None:
            problem = f"{name} takes what another command or a file gives it, which is not read"
            raise InputError(f"{self._place(node.line)}: {problem}; assign the value")
        text = values.text(node.text.parts)
        own = [values.text(item.word) for item in node.assignments if item.name == "IFS"]
        lines = text.removesuffix("\n").split("\n")
        if name != "read":
            values.assign((names or ["MAPFILE"])[0], lines if text else [])
            return 0
        line = text if is_whole else lines[0]
        if has_array:
            values.assign((names or ["REPLY"])[0], _pieces(line, values, own))
            return int(is_whole)
        if missing_in(line) and len(names) > 1:
            raise ask(line, self._place(node.line), "read")
        names = names or ["REPLY"]
        pieces = (
            _pieces(line, values, own) if len(names) > 1 else [line if own == [""] else line.strip(" \t\n")]
        )
        if len(pieces) > len(names):
            last = line.strip(" \t\n")
            for piece in pieces[: len(names) - 1]:
                last = last[last.index(piece) + len(piece) :].lstrip(" \t\n")
                last = last[1:].lstrip(" \t\n") if own and own[-1].strip(" \t\n") else last
            pieces[len(names) - 1 :] = [last]
        for at, variable in enumerate(names):
            values.assign(variable, pieces[at] if at < len(pieces) else "")
        return int(is_whole)

    def _formatted(self, words: Sequence[str], node: Simple) -> None:
        """Assign what `printf -v NAME FORM WORDS` makes of texts and whole numbers."""
        if not words[2].isidentifier():
            named = excerpt(readable(words[2]))
            raise InputError(f"{self._place(node.line)}: '{named}' is no name of a variable")
        found = printed(words[3:])
        self.variables.assign(words[2], mark(OUTPUT, is_computed=True) if found is None else found)


def echoed(words: Sequence[str]) -> str | None:
    """Return what echo writes of its words; None where signs behind a backslash may stand for others."""
    rest, end = list(words), "\n"
    while rest and rest[0] in ("-n", "-e", "-E", "-ne", "-en"):
        end = "" if "n" in rest[0] else end
        if "e" in rest.pop(0) and any("\\" in word for word in rest):
            return None
    return " ".join(rest) + end


def printed(words: Sequence[str]) -> str | None:
    """Return what printf makes of a form with texts and whole numbers; None for any other form."""
    form, given = "".join(words[:1]).replace("\\n", "\n"), list(words[1:])
    pieces = _CONVERSION.findall(form)
    is_read = form.count("%") == form.count("%%") * 2 + len(pieces) - pieces.count("%")
    if not is_read or "\\" in form or len(given) > len(pieces) - pieces.count("%"):
        return None
    return _CONVERSION.sub(lambda one: "%" if one[1] == "%" else given.pop(0) if given else "", form)


def _pieces(line: str, values: Variables, own: Sequence[str]) -> list[str]:
    """Part a line at blanks, or at the signs that IFS has for one command only."""
    signs = own[-1].strip(" \t\n") if own else ""
    if not signs:
        return [line] if own == [""] else [part for part in values.parted(line) if part]
    pieces = [part.strip(" \t\n") for part in re.split(f"[{re.escape(signs)}]", line.strip("\n"))]
    return pieces[:-1] if pieces[-1] == "" else pieces
