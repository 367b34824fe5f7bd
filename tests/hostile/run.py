"""Read mutated files in a process of its own: `python tests/hostile/run.py READER FOLDER SEED COUNT CPU_S`.

Ends after COUNT inputs or CPU_S seconds of CPU time, whichever is first. Prints one JSON object: how many
inputs were read, how many refused, and what else happened. The input that is being read is in FOLDER, so
that one that ends the process is there for the caller.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.mutations import mutated
from hostile.readers import READERS

MOST_CPU_S = 20
MOST_BYTES = 6 * 2**30
MOST_MESSAGE = 2000


class Hang(BaseException):
    """The CPU time of one input is over."""


def _end(_number: int, _frame: object) -> None:
    raise Hang


def _cpu_s() -> float:
    """Return the CPU time of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def main(name: str, folder: Path, seed: int, count: int, cpu_s: float) -> None:
    """Read the inputs; print what happened."""
    from dse.base.errors import DseError

    reader = READERS[name]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        seeds = list(reader.seeds(folder))
    assert seeds
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGPROF, _end)
    rng = random.Random(seed)
    path = folder / f"input{reader.suffix}"
    done: dict[str, Any] = {"read": 0, "refused": 0, "failures": []}
    start = _cpu_s()
    for number in range(count):
        content = rng.choice(seeds) if number == 0 else mutated(rng, rng.choice(seeds))
        path.write_bytes(content)
        failure = ""
        signal.setitimer(signal.ITIMER_PROF, MOST_CPU_S)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                reader.read(path)
            done["read"] += 1
        except DseError as error:
            done["refused"] += 1
            message = str(error).replace(str(folder), "")
            if len(message) > MOST_MESSAGE or "Traceback" in message:
                failure = f"message of {len(message)} characters: {message[:300]}"
        except Hang:
            failure = f"more than {MOST_CPU_S} s of CPU time\n{traceback.format_exc(limit=-4)}"
        except BaseException:
            failure = traceback.format_exc(limit=-5)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if failure:
            kept = folder / f"failure-{name}-{seed}-{number}{reader.suffix}"
            kept.write_bytes(content)
            done["failures"].append([kept.name, failure])
        if _cpu_s() - start > cpu_s:
            break
    print(json.dumps(done))


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
