"""From texts of keys to a synthesizer and how hard it may try."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.settings.values import Values, number, whole
from dse.collectives.search.synthesizers.base import Effort, Synthesizer
from dse.collectives.search.synthesizers.registry import SYNTHESIZERS, make_synthesizer

# BEAN TACOS's names: what is meant, the number of runs, and the fitness of a beam.
_ALIASES: dict[str, tuple[str, int | None, str]] = {
    "naive": ("greedy", 1, ""),
    "tacos": ("greedy", 1, ""),
    "greedy_tacos": ("arrival", 1, ""),
    "multiple_tacos": ("restarts", None, ""),
    "beam_chunk": ("beam", None, "chunk_count"),
    "beam_shortest": ("beam", None, "shortest_path"),
    "ilp": ("exact", None, ""),
}
_BEAM_KEYS = ("num_beams", "fitness", "temperature")
_WITHOUT_TRIALS = ("exact",)


def effort_of(values: Values) -> Effort:
    """Return the effort of trials, time_limit_s and seed.

    Raises:
        InputError: a wrong value, or trials of a synthesizer that has none.
    """
    name, trials, _ = _named(values)
    if "trials" in values:
        if name in _WITHOUT_TRIALS:
            raise InputError(f"trials={values['trials']} has no effect on synthesizer={name}; leave it out")
        trials = whole(values, "trials", None, least=1, most=10**9)
    limit = number(values, "time_limit_s", None, above=0)
    seed = whole(values, "seed", 0, most=(1 << 63) - 1)
    return Effort(seed=seed, trials=trials or Effort.trials, time_limit_s=limit)


def synthesizer_of(values: Values) -> Synthesizer:
    """Return the synthesizer of a name, ours or BEAN TACOS's, with its own keys.

    Raises:
        InputError: no such synthesizer, or keys that it does not have.
    """
    name, _, fitness = _named(values)
    if name != "beam":
        for key in _BEAM_KEYS:
            if key in values:
                raise InputError(
                    f"{key}={values[key]} has no effect on synthesizer={name}; write synthesizer=beam too"
                )
        return make_synthesizer(name)
    own: dict[str, object] = {}
    if fitness and "fitness" in values:
        raise InputError(
            f"fitness={values['fitness']} has no effect on {values['synthesizer']}; leave it out"
        )
    if fitness or "fitness" in values:
        own["fitness"] = fitness or values["fitness"]
        check_choice("fitness", str(own["fitness"]), ("chunk_count", "shortest_path"))
    if "num_beams" in values:
        own["beams"] = whole(values, "num_beams", None, least=1, most=10**6)
    if "temperature" in values:
        own["temperature"] = number(values, "temperature", None)
    made: Synthesizer = SYNTHESIZERS.load(name)(**own)
    return made


def name_of(values: Values) -> str:
    """Return the name of the synthesizer that is asked for, which must need no keys of its own.

    Raises:
        InputError: no such synthesizer, or one of BEAN TACOS's names that chooses more than that.
    """
    name, _, fitness = _named(values)
    if fitness:
        raise InputError(f"synthesizer is {values['synthesizer']}; a study takes beam, without its keys")
    return name


def notes_of(values: Values) -> list[str]:
    """Return a line that says what a synthesizer is whose name no help lists; nothing for others."""
    asked = values.get("synthesizer", "auto")
    if asked not in _ALIASES:
        return SYNTHESIZERS.notes(asked)
    name, trials, fitness = _ALIASES[asked]
    keys = [f"synthesizer={name}", *([f"trials={trials}"] if trials else [])]
    keys += [f"fitness={fitness}"] if fitness else []
    return [f"synthesizer={asked} is BEAN TACOS's name for {' '.join(keys)}"]


def _named(values: Values) -> tuple[str, int | None, str]:
    """The name of a built-in synthesizer, the runs and the fitness that the user's name means."""
    name = values.get("synthesizer", "auto")
    if name in _ALIASES:
        return _ALIASES[name]
    SYNTHESIZERS.check(name)
    return name, None, ""
