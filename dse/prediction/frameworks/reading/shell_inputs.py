"""Commands of a shell that take options or texts apart: getopts, read, mapfile, let and printf -v."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dse.base.errors import InputError, excerpt
from dse.prediction.frameworks.reading.shell_builtins import Builtins
from dse.prediction.frameworks.reading.shell_nodes import Simple
from dse.prediction.frameworks.reading.shell_syntax import Statements
from dse.prediction.frameworks.reading.values import OUTPUT, ask, mark, missing_in, readable

INPUTS = frozenset({"getopts", "read", "mapfile", "readarray", "let"})
_CONVERSION = re.compile(r"%(%|[sdi])")
_VALUED = {"read": "adinNptu", "mapfile": "dnOsuCc", "readarray": "dnOsuCc"}
_ALLOWED = {"read": "aeprst", "mapfile": "t", "readarray": "t"}
_BLANKS = " \t\n"


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
        values = self.variables
        options, names = self._options(name, words, node)
        if node.text is None:
            problem = f"{name} takes what another command or a file gives it, which is not read"
            raise InputError(f"{self._place(node.line)}: {problem}; assign the value")
        text = values.text(node.text.parts)
        if name != "read":
            lines = re.findall(r"[^\n]*\n|[^\n]+", text)
            lines = [line.removesuffix("\n") for line in lines] if "t" in options else lines
            values.assign((names or ["MAPFILE"])[0], lines)
            return 0
        is_whole = "d" in options
        line = text if is_whole else text.partition("\n")[0]
        if "\\" in line and "r" not in options:
            problem = "read without -r changes what stands behind a backslash, which is not read"
            raise InputError(f"{self._place(node.line)}: {problem}; write read -r")
        own = [values.text(item.word) for item in node.assignments if item.name == "IFS"]
        signs = own[-1] if own else str(values.values.get("IFS", _BLANKS))
        if missing_in(signs) or (missing_in(line) and len(names) > 1):
            raise ask(signs if missing_in(signs) else line, self._place(node.line), "read")
        if "a" in options:
            values.assign(options["a"], _pieces(line, signs))
            return int(is_whole)
        names = names or ["REPLY"]
        pieces = _pieces(line, signs, len(names))
        for at, variable in enumerate(names):
            values.assign(variable, pieces[at] if at < len(pieces) else "")
        return int(is_whole)

    def _options(self, name: str, words: Sequence[str], node: Simple) -> tuple[dict[str, str], list[str]]:
        """Part the words behind read or mapfile into options with their values, and names.

        Raises:
            InputError: an option changes which part of a text is taken.
        """
        found, rest = dict[str, str](), list(words)
        while rest and rest[0].startswith("-") and rest[0] != "-":
            word = rest.pop(0)
            if word == "--":
                break
            for at, letter in enumerate(word[1:], 2):
                found[letter] = ""
                if letter in _VALUED[name]:
                    found[letter] = word[at:] or (rest.pop(0) if rest else "")
                    break
        for letter, value in found.items():
            is_whole = (name, letter, value) == ("read", "d", "")
            if letter not in _ALLOWED[name] and not is_whole:
                allowed = ", ".join(f"-{each}" for each in _ALLOWED[name])
                allowed += " and -d ''" if name == "read" else ""
                problem = f"{name} -{excerpt(readable(letter))} is not read, but {allowed}"
                raise InputError(f"{self._place(node.line)}: {problem}; assign the value")
        return found, rest

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


def _pieces(line: str, signs: str, most: int = 0) -> list[str]:
    """Part a line as read does: blanks among the signs count together, each other sign ends a piece.

    The last of `most` pieces is the whole rest, without a sign that only ends it.
    """
    if not signs:
        return [line] if line else []
    blanks = "".join(sign for sign in signs if sign in _BLANKS)
    others = "".join(sign for sign in signs if sign not in _BLANKS)
    blank, other = (f"[{re.escape(each)}]" if each else "(?!)" for each in (blanks, others))
    joint = re.compile(f"(?:{blank})*{other}(?:{blank})*|(?:{blank})+")
    found, rest, at = list[str](), line.strip(blanks), 0
    while at < len(rest):
        end = joint.search(rest, at)
        is_last = len(found) == most - 1 and (end is None or end.end() < len(rest))
        if end is None or is_last:
            return [*found, rest[at:]]
        found.append(rest[at : end.start()])
        at = end.end()
    return found
