"""Signals: which places of a function handlers of exceptions guard."""

import dis
import queue
import sys
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any

import pytest

from dse.base.signals import _blocks


@pytest.mark.skipif(sys.version_info < (3, 11), reason="functions have no table of exceptions")
@pytest.mark.parametrize("function", [futures.wait, threading.Condition.wait, queue.Queue.get])
def test_blocks_of_functions_are_those_of_the_disassembler(function: Callable[..., Any]) -> None:
    entries: list[Any] = dis.Bytecode(function).exception_entries  # type: ignore[attr-defined]
    assert len(entries) > 1
    blocks = [(entry.start, entry.end, entry.target) for entry in entries]
    assert _blocks(function.__code__.co_exceptiontable) == blocks  # type: ignore[attr-defined]
