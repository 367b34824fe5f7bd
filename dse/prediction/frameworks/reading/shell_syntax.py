"""Statements of a shell script: assignments, commands, tests and choices, as data."""

from __future__ import annotations

from typing import NoReturn

from dse.base.errors import excerpt
from dse.prediction.frameworks.reading.shell_changes import globbed
from dse.prediction.frameworks.reading.shell_nodes import (
    Assignment,
    Case,
    Chain,
    Choice,
    Function,
    Loop,
    Node,
    Pipeline,
    Redirected,
    Repeat,
    Simple,
    Subshell,
    Test,
    Word,
)
from dse.prediction.frameworks.reading.shell_parts import assignment, counted, plain
from dse.prediction.frameworks.reading.shell_tokens import Input, Part, Token, Tokens

_MOST_DEPTH = 30
_REDIRECTIONS = frozenset({"<<<", ">", ">>", ">&", ">|", "<", "<&", "<>", "&>", "&>>"})
_UNREAD = frozenset({"select", "}", "do", "done", "esac"})
EXPORTS = frozenset({"export", "declare", "local", "readonly", "typeset"})
_COPIES = ("cat", "tee")  # commands that only copy their input
_TAKERS = (*_COPIES, "read", "mapfile", "readarray", "bash", "sh", "sbatch", "srun", "ssh")
_SPLITS = frozenset({";", "\n", "&"})
SUBSET = (
    "allowed are assignments, arrays, if ... fi with [[ ]], [ ] or (( )), case ... esac, for and while ... "
    "done, functions, && and ||, export, and commands that launch a program"
)


class Statements:
    """A reader of statements."""

    def __init__(self, text: str, where: str, line: int = 1) -> None:
        self._tokens = Tokens(text, where, line)
        self._token = self._tokens.next()
        self._depth = 0
        self._text: Input | None = None
        self._target: Word = ()
        self._adds = False
        self._streams = list[tuple[str, Word]]()

    def all(self) -> tuple[Node, ...]:
        """Return the statements of the whole script.

        Raises:
            InputError: something is not read; says at which line, and what is allowed.
        """
        return self._list(frozenset())

    def _list(self, stops: frozenset[str]) -> tuple[Node, ...]:
        found = list[Node]()
        while True:
            while self._token.kind == "operator" and self._token.text in _SPLITS:
                self._move()
            word = self._reserved()
            if self._token.kind == "end":
                if stops:
                    self._refuse(f"a block has no end; close it with {' or '.join(sorted(stops))}")
                return tuple(found)
            if word in stops or (self._token.kind == "operator" and self._token.text in stops):
                return tuple(found)
            found.append(self._chain())
            if self._token.text in stops:
                return tuple(found)
            if self._token.kind == "operator" and self._token.text in (")", "(", ";;"):
                self._refuse(
                    f"'{self._token.text}' is not read here; {SUBSET}; quote a text with parentheses"
                )

    def _chain(self) -> Node:
        line, first, others = self._token.line, self._pipeline(), list[tuple[str, Node]]()
        while operator := self._joint("&&", "||"):
            others.append((operator, self._pipeline()))
        return Chain(first, tuple(others), line) if others else first

    def _pipeline(self) -> Node:
        line, is_negated = self._token.line, False
        while self._reserved() == "!":
            self._move()
            is_negated = not is_negated
        commands = [self._command()]
        while self._joint("|", "|&"):
            commands.append(self._command())
        is_single = len(commands) == 1 and not is_negated
        return commands[0] if is_single else Pipeline(tuple(commands), is_negated, line)

    def _joint(self, *operators: str) -> str:
        """Read one of the operators, behind which lines may end; an empty text stands for none of them."""
        if self._token.kind != "operator" or self._token.text not in operators:
            return ""
        operator = self._move().text
        while self._token.text == "\n":
            self._move()
        return operator

    def _command(self) -> Node:
        word, line = self._reserved(), self._token.line
        if word == "if":
            return self._choice()
        if word == "[[":
            return self._test()
        if word == "for":
            return self._block(self._loop())
        if word in ("while", "until"):
            return self._block(self._repeat())
        if word == "case":
            return self._case()
        if word == "{":
            return self._block(Choice((((), self._group()),), line))
        if word == "function":
            self._move()
            return self._function(plain(self._move().parts), line)
        if self._token.text == "(" and self._tokens.text.startswith("(", self._tokens.at):
            return counted(self._header(line))
        if self._token.kind == "operator" and self._token.text == "(":
            return self._block(self._subshell())
        if word in _UNREAD:
            self._refuse(f"'{word}' is not read; {SUBSET}")
        if word in ("then", "elif", "else", "fi"):
            self._refuse(f"'{word}' has no if before it")
        assignments, words, exported = list[Assignment](), list[Word](), list[Assignment]()
        self._text, self._target, self._adds, self._streams = None, (), False, []
        while self._token.kind != "end":
            if self._token.kind == "operator":
                if self._token.text == "(" and len(words) == 1 and word and not assignments:
                    return self._function(word, line)
                if not self._redirected(plain(words[0]) if words else ""):
                    break
                continue
            assigned = assignment(self._token)
            if assigned is not None and not words:
                assignments.append(assigned)
            elif assigned is not None and plain(words[0]) in EXPORTS:
                exported.append(assigned)
            elif self._token.kind == "array":
                self._refuse("an array must be assigned; write NAME=( ... )")
            else:
                words.append(self._token.parts)
            self._move()
        if not assignments and not words:
            self._refuse(
                f"'{excerpt(self._token.text)}' has no command before it"
                if self._token.text.strip()
                else "a command is missing here"
            )
        return Simple(
            tuple(assignments),
            tuple(words),
            line,
            tuple(exported),
            self._text,
            self._target,
            self._adds,
            tuple(self._streams),
        )

    def _redirected(self, command: str) -> bool:
        """Pass over a redirection; nothing is read or written."""
        is_input = self._token.text in ("<<", "<<-")
        if is_input and command not in _TAKERS:
            self._refuse(f"'{self._token.text}' gives a command its input, which is not read; write a file")
        if not is_input and self._token.text not in _REDIRECTIONS:
            return False
        descriptor, operator = self._token.descriptor or "1", self._move().text
        if self._token.kind != "word":
            self._refuse("a redirection needs the name of a file")
        if is_input:
            self._text = Input(self._token.parts, is_indented=operator == "<<-")
            self._tokens.inputs.append(self._text)
        elif operator == "<<<" and command in _TAKERS:
            end = Part("text", "\n", True, self._token.line)
            self._text = Input((), (*(part._replace(is_quoted=True) for part in self._token.parts), end))
        elif operator in (">", ">>", ">|", ">&", "&>", "&>>"):
            sign = Part("text", "&", True, self._token.line)
            target = (sign, *self._token.parts) if operator == ">&" else self._token.parts
            self._streams.append((descriptor, target))
            if operator.startswith("&"):
                self._streams.append(("2", (sign, sign._replace(text="1"))))
            if descriptor == "1":
                self._target, self._adds = target, operator == ">>"
        self._move()
        return True

    def _header(self, line: int) -> Part:
        """Read what stands between (( and )); the first ( is read."""
        part = self._tokens.math(self._tokens.at - 1, line, is_quoted=True)
        self._move()
        return part

    def _subshell(self) -> Node:
        self._enter()
        line = self._move().line
        body = self._list(frozenset({")"}))
        self._end_block()
        return Subshell(body, line)

    def _repeat(self) -> Node:
        self._enter()
        is_until = self._reserved() == "until"
        line = self._move().line
        condition = self._list(frozenset({"do"}))
        if not condition:
            self._refuse("a condition is missing before do")
        return Repeat((), condition, (), self._done(), is_until, line)

    def _counting(self) -> Node:
        """Read a loop from its (( on, where three expressions stand."""
        line = self._token.line
        parts = self._header(line).text.split(";")
        while self._token.kind == "operator" and self._token.text in (";", "\n"):
            self._move()
        if len(parts) != 3 or self._reserved() != "do":
            self._refuse("this for is not read; write for ((I=0; I<N; I++)); do ... done", line)
        counts = [self._tokens.math_of(part, line, is_quoted=True) for part in parts]
        before, condition, after = [(counted(part),) if part.text.strip() else () for part in counts]
        return Repeat(before, condition, after, self._done(), False, line)

    def _done(self) -> tuple[Node, ...]:
        """Read the body of a loop from its do on."""
        self._move()
        body = self._list(frozenset({"done"}))
        self._end_block()
        return body

    def _block(self, node: Node) -> Node:
        """A block whose end was read last, with the redirections behind it."""
        return Redirected(node, tuple(self._streams), node.line) if self._streams else node

    def _end_block(self) -> None:
        """Read the end of a block, and the redirections behind it."""
        self._move()
        self._streams = []
        while self._token.kind == "operator" and self._redirected(""):
            pass
        self._depth -= 1

    def _function(self, name: str, line: int) -> Node:
        """Read a function from behind its name on."""
        while self._token.text in ("(", ")", "\n"):
            self._move()
        if not name or self._reserved() != "{":
            self._refuse(
                "this ( is not read; quote a text with parentheses, write a function as NAME() { ... }", line
            )
        return Function(name, (self._block(Choice((((), self._group()),), line)),), line)

    def _group(self) -> tuple[Node, ...]:
        """Read statements in braces, with what is done with their output."""
        self._enter()
        self._move()
        body = self._list(frozenset({"}"}))
        self._end_block()
        return body

    def _test(self) -> Node:
        line, tokens = self._move().line, list[Token]()
        while self._reserved() != "]]":
            if self._token.kind in ("end", "array") or self._token.text in (";", "\n", "&", "|", "<", ">"):
                self._refuse(f"this [[ is not read; {CONDITIONS}", line)
            if self._reserved() == "=~":
                tokens.append(self._token)
                self._token = self._tokens.form()
            tokens.append(self._move())
        self._move()
        return Test(tuple(tokens), line)

    def _loop(self) -> Node:
        self._enter()
        self._move()
        if self._token.text == "(" and self._tokens.text.startswith("(", self._tokens.at):
            return self._counting()
        line, name, words = self._token.line, self._reserved(), list[Word]()
        self._move()
        has_words = self._reserved() == "in"
        if has_words:
            self._move()
            while self._token.kind == "word":
                words.append(self._move().parts)
        while self._token.kind == "operator" and self._token.text in (";", "\n"):
            self._move()
        if not name.isidentifier() or self._reserved() != "do":
            self._refuse("this for is not read; write for NAME in WORDS; do ... done", line)
        return Loop(name, tuple(words) if has_words else None, self._done(), line)

    def _case(self) -> Node:
        self._enter()
        line, branches = self._move().line, list[tuple[tuple[str, ...], tuple[Node, ...]]]()
        text = self._move().parts
        if not text or self._reserved() != "in":
            self._refuse("this case is not read; write case WORD in PATTERN) ... ;; esac", line)
        self._move()
        while True:
            while self._token.text in ("\n", "("):
                self._move()
            if self._reserved() == "esac":
                break
            patterns = [self._pattern()]
            while self._token.text == "|":
                self._move()
                patterns.append(self._pattern())
            if self._move().text != ")":
                self._refuse(_PATTERNS, line)
            branches.append((tuple(patterns), self._list(frozenset({";;", "esac"}))))
            if self._token.text == ";;":
                self._move()
        self._move()
        self._depth -= 1
        return Case(text, tuple(branches), line)

    def _pattern(self) -> str:
        parts = self._token.parts
        if not parts or any(p.kind != "text" for p in parts):
            self._refuse(_PATTERNS)
        return globbed((part.text, part.is_quoted) for part in self._move().parts)

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            self._refuse(f"blocks are nested deeper than {_MOST_DEPTH} levels, the most allowed")

    def _choice(self) -> Node:
        self._enter()
        line, branches = self._token.line, list[tuple[tuple[Node, ...], tuple[Node, ...]]]()
        word = "if"
        while word in ("if", "elif"):
            self._move()
            condition = self._list(frozenset({"then"}))
            if not condition:
                self._refuse("a condition is missing before then")
            self._move()
            branches.append((condition, self._list(frozenset({"elif", "else", "fi"}))))
            word = self._reserved()
        if word == "else":
            self._move()
            branches.append(((), self._list(frozenset({"fi"}))))
        self._move()
        self._depth -= 1
        return Choice(tuple(branches), line)

    def _reserved(self) -> str:
        """The word here, if it is plain."""
        return plain(self._token.parts) if self._token.kind == "word" else ""

    def _move(self) -> Token:
        token, self._token = self._token, self._tokens.next()
        return token

    def _refuse(self, problem: str, line: int = 0) -> NoReturn:
        self._tokens.refuse(problem, line or self._token.line)


_PATTERNS = "this pattern is not read; write texts with *, ? and [ ], joined by |, and )"
CONDITIONS = (
    "allowed are texts with == = !=, a form behind =~, numbers with -eq -ne -gt -ge -lt -le, -z, -n, -v, !, "
    "&& and ||"
)
