"""Graphs of networkx's generators, made in a process of their own, which has bounds of memory and time.

What a generator needs depends on its arguments in ways that only it knows: `complete_graph(200000)` would
fill any memory. The process ends when its parent does.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from dse.base.cancellation import Deadline
from dse.base.errors import InputError, excerpt
from dse.base.lazy import NDArray, is_installed, np
from dse.base.orphans import not_left_behind

MOST_NODES = 1 << 20
MOST_LINKS = 1 << 26
MOST_BYTES = 4 << 30
MOST_SECONDS = 60.0
_ORPHANED = 3
_MAIN = (
    "import json, sys; sys.path = json.loads(sys.argv[1]); "
    "from dse.inputs.networks.generated import main; main()"
)


def generated_pairs(
    name: str, generator: str, arguments: Mapping[str, str], deadline: Deadline
) -> tuple[int, NDArray[np.int64]]:
    """Return the number of nodes of a graph, and its edges as sorted pairs of nodes, shape (edges, 2).

    Raises:
        InputError: networkx is not installed or has no such generator; an argument is wrong or too large; the
            graph is directed or too large, or not made by the deadline or within `MOST_SECONDS`.
    """
    if not is_installed("networkx"):
        raise InputError(f"topology '{name}' needs networkx; pip install 'dse[synthesis]'")
    values = {key: _value(text) for key, text in arguments.items()}
    for key, value in values.items():
        if isinstance(value, int) and value > MOST_NODES and key != "seed":
            raise InputError(
                f"topology '{name}': {key} is {excerpt(value)}; at most {MOST_NODES} are allowed"
            )
    if generator == "complete_graph" and isinstance(nodes := values.get("n"), int):
        check_links(name, nodes * (nodes - 1))
    left_s = deadline.left_s
    seconds = MOST_SECONDS if left_s is None else min(left_s, MOST_SECONDS)
    output = _output_of(name, [generator, dict(arguments), MOST_BYTES], seconds)
    first, _, rest = output.partition(b"\n")
    try:
        answer = json.loads(first)
    except ValueError:
        raise InputError(
            f"topology '{name}' needs more than {MOST_BYTES >> 30} GiB to be made; take smaller arguments"
        ) from None
    if "error" in answer:
        raise InputError(f"topology '{name}'{answer['error']}")
    return answer["nodes"], np.frombuffer(rest, dtype=np.int64).reshape(-1, 2)


def check_links(name: str, links: int) -> None:
    """Refuse a network before it is made.

    Raises:
        InputError: it may have more than `MOST_LINKS`.
    """
    if links > MOST_LINKS:
        raise InputError(f"topology '{name}' has up to {links} links; at most {MOST_LINKS} are allowed")


def _output_of(name: str, question: Any, seconds: float) -> bytes:
    """The output of the process. It is nothing, or less than a line, if it needs too much memory."""
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread would reserve memory
    )
    with not_left_behind(process.pid), process:
        try:
            return _read(process, json.dumps(question).encode() + b"\n", seconds)
        except TimeoutError:
            raise InputError(
                f"topology '{name}' is not made after {seconds:.3g} s; take smaller arguments, or a larger "
                "time_limit_s"
            ) from None
        finally:
            process.kill()


def _read(process: subprocess.Popen[bytes], question: bytes, seconds: float) -> bytes:
    found: list[bytes] = []
    assert process.stdin is not None
    assert process.stdout is not None
    reader = threading.Thread(target=lambda out: found.append(out.read()), args=[process.stdout], daemon=True)
    reader.start()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(question)
        process.stdin.flush()
    reader.join(seconds)
    if reader.is_alive():
        process.kill()
        reader.join()
        raise TimeoutError
    return found[0]


def main() -> None:
    """Answer the question in the first line of the input: a line of JSON, then the pairs, 8 bytes a node."""
    import resource

    generator, arguments, most_bytes = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (int(MOST_SECONDS), int(MOST_SECONDS)))
    try:
        nodes, pairs = _pairs(generator, {key: _value(text) for key, text in arguments.items()})
        answer: dict[str, Any] = {"nodes": nodes}
    except InputError as error:
        answer, pairs = {"error": str(error)}, b""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + pairs)
    sys.stdout.buffer.flush()
    os._exit(0)


def _end_with_parent() -> None:
    """End this process when its input ends, which its parent keeps open until it has the answer."""
    sys.stdin.buffer.read()
    os._exit(_ORPHANED)


def _pairs(generator: str, values: Mapping[str, Any]) -> tuple[int, bytes]:
    import networkx

    make = None if generator.startswith("_") else getattr(networkx.generators, generator, None)
    make = make or (None if generator.startswith("_") else getattr(networkx, generator, None))
    if not callable(make) or not getattr(make, "__module__", "").startswith("networkx.generators"):
        raise InputError(f": networkx has no graph generator '{excerpt(generator)}'")
    try:
        graph = make(**values)
        nodes = graph.number_of_nodes()
    except MemoryError:
        os._exit(1)
    except Exception as error:  # whatever a generator raises for a wrong argument
        raise InputError(f": networkx says: {excerpt(' '.join(str(error).split()), 200)}") from None
    if graph.is_directed():
        raise InputError(" has directed links; only graphs that are not directed are read")
    if not 2 <= nodes <= MOST_NODES:
        raise InputError(f" has {nodes} nodes; it must have 2 to {MOST_NODES}")
    if 2 * graph.number_of_edges() > MOST_LINKS:
        raise InputError(f" has {2 * graph.number_of_edges()} links; at most {MOST_LINKS} are allowed")
    number = {node: place for place, node in enumerate(graph)}
    flat = (number[node] for edge in graph.edges() for node in edge)
    ends = np.sort(np.fromiter(flat, dtype=np.int64).reshape(-1, 2), axis=1)
    codes = np.unique(ends[ends[:, 0] < ends[:, 1]] @ np.array([nodes, 1]))
    return nodes, np.stack([codes // nodes, codes % nodes], axis=1).tobytes()


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
