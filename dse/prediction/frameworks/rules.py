"""Rules of a framework as formulas over facts: which hold, which are broken, and the nearest legal values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dse.base.errors import InputError
from dse.base.expressions import Expression, parse
from dse.base.expressions.tree import names

Facts = Mapping[str, Any]
Derive = Callable[[Facts], Facts]
"""Completes stated facts with those that follow."""

_TRIED = 256  # values on each side of a broken one
_SHOWN = 2  # legal values that a message names


@dataclass(frozen=True)
class Rule:
    """A formula over facts that legal configurations satisfy.

    It is checked where `when` holds and all of its facts are known. `says` is the message, with facts in
    braces. `change` are facts whose nearest legal values the message names. `by` tells who refuses: the
    `framework` when it reads its arguments, `later` the framework while it builds or runs, or `dse` alone:
    the setting has no effect or loses work. `is_warning`: the job runs.
    """

    id: str
    holds: str
    says: str
    when: str = ""
    change: tuple[str, ...] = ()
    by: Literal["framework", "later", "dse"] = "framework"
    is_warning: bool = False

    def broken(self, facts: Facts) -> bool | None:
        """Whether facts break the rule; None where one of them is unknown."""
        if self.when:
            applies = _value(self.when, facts)
            if not applies:
                return None if applies is None else False
        found = _value(self.holds, facts)
        return None if found is None else not found

    def message(self, facts: Facts) -> str:
        """Return what the rule says of facts that break it; unknown ones are question marks."""
        return self.says.format_map(_Shown(facts))


class _Shown(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


@dataclass(frozen=True)
class Breach:
    """A broken rule: its id, who refuses, the message, and what would be legal, by the framework's key."""

    rule: str
    by: str
    says: str
    is_warning: bool
    nearest: Mapping[str, tuple[Any, ...]]


def breaches(
    rules: Iterable[Rule], facts: Facts, derive: Derive
) -> Iterator[tuple[Rule, dict[str, tuple[Any, ...]]]]:
    """Yield the broken rules, each with the nearest values of its facts that break nothing else.

    `derive` completes changed facts.
    """
    listed = list(rules)
    full = derive(facts)
    for rule in listed:
        if rule.broken(full):
            yield rule, {name: tuple(_legal(rule, name, listed, facts, derive)) for name in rule.change}


def unchecked(rules: Iterable[Rule], facts: Facts) -> dict[str, list[str]]:
    """Return the rules that could not be checked, each with the facts that nothing states."""
    found = {}
    for rule in rules:
        if rule.broken(facts) is None:
            text = rule.holds if not rule.when or _value(rule.when, facts) else rule.when
            if lacking := [name for name in _names(text) if facts.get(name) is None]:
                found[rule.id] = lacking
    return found


def _legal(rule: Rule, name: str, rules: list[Rule], facts: Facts, derive: Derive) -> Iterator[Any]:
    """Yield the nearest values of a fact under which the rule holds, and those that held do, too."""
    held = [other for other in rules if other.broken(derive(facts)) is False]
    count = 0
    for value in _candidates(facts.get(name, derive(facts).get(name))):
        changed = derive({**facts, name: value})
        if rule.broken(changed) is False and not any(other.broken(changed) for other in held):
            yield value
            count += 1
            if count == _SHOWN:
                return


def _candidates(value: Any) -> Iterator[Any]:
    if isinstance(value, bool) or value is None:
        yield not value
        return
    if not isinstance(value, int):
        return
    for step in range(1, _TRIED + 1):
        if value - step > 0:
            yield value - step
        yield value + step
    power = 1 << value.bit_length()
    yield from (far for far in (power, 2 * power) if far > value + _TRIED)


@functools.cache
def _expression(text: str) -> Expression:
    return Expression(text, _names(text), "rule")


@functools.cache
def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node.name for node in names(parse(text, "rule"))))


def _value(text: str, facts: Facts) -> Any:
    """The value of a formula; None where a fact is unknown, False where it cannot be computed."""
    if any(facts.get(name) is None for name in _names(text)):
        return None
    try:
        return _expression(text).evaluate(facts)
    except InputError:  # a division by zero: degrees of 0
        return False
