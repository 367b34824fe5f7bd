"""Keys of the commands about schedules: `KEY=VALUE`, and BEAN TACOS's options that mean the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean

NETWORK_KEYS = {
    "topology": "a CSV file, or a name such as torus__dim=[4,4]__alpha=500__beta=50",
    "npus": "nodes of a CSV file from here on are switches (default: none)",
    "system": "a system instead, such as torus_4x4 or mine.yaml; system.KEY=VALUE changes it",
    "dimensions": "of the system's network, such as [0] or [0,1] (default: all)",
    "switches": "unrolled: links between all ports of a switch (default); nodes: it stores and forwards",
}
PROBLEM_KEYS = {
    "collective": "all_gather (default), broadcast, scatter, gather, all_to_all, reduce, reduce_scatter, "
    "all_reduce, or a JSON file of pre- and postconditions",
    "root": "of broadcast, scatter, gather, reduce (default 0); scatter_3 says it too",
    "chunks_per_npu": "chunks that an NPU has at first; of broadcast and reduce: in all (default 1); "
    "auto cuts operation_bytes into as many as take least time",
    "chunk_bytes": "bytes of a chunk (default 1048576)",
    "operation_bytes": "instead: bytes of the operation as a training simulator means it; rounded up",
    "gb": "a GB/s is 1e9 (default) or gib = 2^30 bytes per second (default of a system)",
    "occupancy": "a link is held until arrival: total (default), or while bytes enter: bandwidth",
    "clock": "times are floored to ps (default) or ns",
    "forwarding": "switches (npus, or switches=nodes) send a chunk on when all of it is there: stored "
    "(default), or while it arrives: cut_through",
}
SEARCH_KEYS = {
    "synthesizer": "auto (default), greedy, arrival, restarts, beam, exact, symmetric, improve, trees",
    "trials": "runs of a search at most (default 20)",
    "time_limit_s": "seconds after which the best so far is the answer; the making of the network and the "
    "bounds count too (default: none)",
    "seed": "of everything random (default 0)",
    "num_beams": "states that a beam keeps (synthesizer=beam)",
    "fitness": "of a beam: chunk_count or shortest_path (synthesizer=beam)",
    "temperature": "above 0 a beam draws its states by fitness (synthesizer=beam)",
}
ROBUST_KEYS = {
    "failed_links": "links that fail, such as 3-7,8-9 (both directions) or 3>7 (one); repaired",
    "failed_npus": "NPUs that fail, with all their links, such as 2,5",
    "failed_at_us": "when they fail; sends that have arrived by then are facts (default 0)",
    "variance": "how links vary, such as cv=0.1,straggler_share=0.01,straggler_slowdown=4: mean, percentiles "
    "and critical links over many draws; also draws (1000), correlation (none, node, dimension), jitter_cv, "
    "spike_share, spike_ns",
    "select": "of the fastest schedule and one per trial the one with the least: p95, mean, cvar95 … "
    "(with variance)",
}
OUTPUT_KEYS = {
    "export": "more files in DIR, such as [msccl,chakra,trace]",
    "format": "table (default) or json: print the summary as JSON",
}
# Options of BEAN TACOS, and the key of each.
OPTION_KEYS = {
    "--topology": "topology",
    "--collective": "collective",
    "--synthesizer": "synthesizer",
    "--num_beams": "num_beams",
    "--temperature": "temperature",
    "--num_trials": "trials",
    "--seed": "seed",
}
# Options with a dash for keys with an underscore.
ROBUST_OPTIONS = {
    "--failed-links": "failed_links",
    "--failed-npus": "failed_npus",
    "--failed-at": "failed_at_us",
    "--variance": "variance",
    "--select": "select",
}
_POINTLESS = ("--gen_video", "--show")


@dataclass(frozen=True)
class Arguments:
    """Values by key as texts, overrides of groups, options by name, and all that is neither."""

    values: Mapping[str, str]
    overrides: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    others: Sequence[str] = ()


def parse_arguments(
    argv: Sequence[str],
    keys: Mapping[str, str],
    options: Mapping[str, bool],
    others: int = 0,
    *,
    groups: Sequence[str] = ("system",),
    example: str = "topology=FILE.csv",
) -> Arguments:
    """Return the arguments of a command line.

    `options` are those besides the aliases of keys, each with whether a value follows; up to `others`
    arguments may be neither. `groups` have overrides, such as system.nodes=8; `example` is a key
    for messages.

    Raises:
        InputError: an unknown or repeated key or option, or one without its value.
    """
    values: dict[str, str] = {}
    overrides: list[str] = []
    found: dict[str, str] = {}
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        name, assigned, value = word.partition("=")
        if word.startswith("-") and len(word) > 1:
            _take_option(name, value if assigned else None, words, keys, options, values, found)
        elif name.removeprefix("+").partition(".")[0] in groups:
            if name.removeprefix("+").partition(".")[0] not in keys:
                raise InputError(f"unknown key {name}; allowed are {', '.join(keys)}")
            overrides.append(word)
        elif not assigned and len(rest) < others:
            rest.append(word)
        elif not assigned:
            raise InputError(f"'{word}' is no key; write KEY=VALUE, such as {example}")
        elif name not in keys:
            raise InputError(f"unknown key {name}; allowed are {', '.join(keys)}{did_you_mean(name, keys)}")
        else:
            _set(values, name, value)
    return Arguments(values, overrides, found, rest)


def _take_option(
    name: str,
    value: str | None,
    words: Iterator[str],
    keys: Mapping[str, str],
    options: Mapping[str, bool],
    values: dict[str, str],
    found: dict[str, str],
) -> None:
    key = (OPTION_KEYS | ROBUST_OPTIONS).get(name)
    if name in _POINTLESS:
        raise InputError(f"{name} has no effect; the page in DIR shows the schedule: leave {name} out")
    if name not in options:
        raise InputError(
            f"unknown option {name}; allowed are KEY=VALUE, {', '.join(options)}{did_you_mean(name, options)}"
        )
    takes_value = key in keys or options[name]
    if not takes_value and value is not None:
        raise InputError(f"{name} takes no value, but got '{value}'")
    text = next(words, None) if takes_value and value is None else value or ""
    if text is None:
        raise InputError(f"{name} lacks its value; write {name} VALUE")
    if key is not None:
        _set(values, key, text)
    elif name in found:
        raise InputError(f"{name} occurs twice; write it once")
    else:
        found[name] = text


def _set(values: dict[str, str], key: str, value: str) -> None:
    if key in values:
        raise InputError(f"{key} occurs twice, as '{values[key]}' and '{value}'; write it once")
    if not value:
        raise InputError(f"{key} is empty; write {key}=VALUE, or leave it out")
    values[key] = value


def usage_lines(keys: Mapping[str, str], width: int = 18) -> str:
    """Return the lines of a usage text for some keys."""
    import textwrap

    lines = []
    for key, meaning in keys.items():
        first, *more = textwrap.wrap(meaning, 98 - width)
        lines += [f"  {key:<{width - 2}}{first}", *(" " * width + line for line in more)]
    return "\n".join(lines)
