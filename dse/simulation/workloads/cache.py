"""Values that were made before, the latest of them up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ByteCache(Generic[Key, Value]):
    """Keeps the values that were used last, as long as they take `most_bytes` together; for all threads.

    A value that takes more alone is not kept. Threads that ask for a new key at the same time each make it.
    """

    def __init__(self, most_bytes: int, size_of: Callable[[Value], int]) -> None:
        """`size_of` says how many bytes a value takes."""
        self._most_bytes = most_bytes
        self._size_of = size_of
        self._lock = Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """Return the number of values that are kept."""
        return len(self._kept)

    @property
    def kept_bytes(self) -> int:
        """The bytes that the kept values take together."""
        return self._bytes

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of `key`: the one that is kept, or that of `make`, which may raise."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        size = self._size_of(value)
        with self._lock:
            if size <= self._most_bytes and key not in self._kept:
                self._kept[key] = value, size
                self._bytes += size
            while self._bytes > self._most_bytes:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= dropped
        return value

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
