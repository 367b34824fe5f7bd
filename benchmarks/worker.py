"""The other end of `measure.in_fresh_process`: a call on stdin, its result on stdout."""

from __future__ import annotations

import pickle
import sys


def main() -> None:
    """Read a pickled call of our own parent process, make it, write the pickled result."""
    function, args, kwargs = pickle.load(sys.stdin.buffer)
    pickle.dump(function(*args, **kwargs), sys.stdout.buffer)


if __name__ == "__main__":
    main()
