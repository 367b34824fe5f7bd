"""Checks as text and as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dse.base.texts import counted
from dse.base.units import duration_range, format_bytes, format_count, format_duration_ns
from dse.prediction.frameworks.checks.changes import Change
from dse.prediction.frameworks.checks.check import Check
from dse.prediction.frameworks.rules import Breach
from dse.prediction.steps.predict import margin_of

_BY = {
    "framework": "{} refuses it",
    "later": "{} fails while it builds or runs",
    "dse": "a rule of dse: {} says nothing",
}
_SHOWN_MODEL = ("num_layers", "d_model", "num_heads", "seq_len", "batch_size")


def check_text(check: Check) -> str:
    """Return a check as lines for people."""
    reading = check.reading
    lines = [_headline(check)]
    lines += [_breach_line(breach, reading.dialect.name) for breach in reading.broken]
    if reading.unchecked:
        facts = sorted({name for names in reading.unchecked.values() for name in names})
        rules = counted(len(reading.unchecked), "rule")
        lines.append(f"unchecked: {rules}, as nothing says {', '.join(facts)}")
    if check.prediction is not None:
        lines += _prediction_lines(check)
    elif reading.is_legal:
        lines.append(f"no prediction: {check.no_prediction}")
    lines += [f"assumed: {text}" for text in reading.assumed]
    if reading.kept:
        lines.append(f"changes no prediction: {', '.join(reading.kept)}")
    return "\n".join([*lines, *[f"note: {note}" for note in reading.document.notes]])


def _headline(check: Check) -> str:
    reading = check.reading
    version = reading.document.version or reading.dialect.table.version
    npus = reading.facts.get("npus")
    where = f", {counted(npus, 'GPU')}" if npus is not None else ""
    rules = len(reading.dialect.table.rules) - len(reading.unchecked)
    is_legal = f"; the {rules} rules that could be checked hold" if reading.is_legal else ""
    return f"{check.status}: {reading.document.where}, {reading.dialect.name} {version}{where}{is_legal}"


def _breach_line(breach: Breach, framework: str) -> str:
    kind = "warning" if breach.is_warning else "illegal"
    legal = [f"{key} {_or(values)}" for key, values in breach.nearest.items()]
    fix = f"; legal is {', or '.join(legal)}" if legal else ""
    return f"{kind} {breach.rule}: {breach.says}{fix} ({_BY[breach.by].format(framework)})"


def _or(values: tuple[Any, ...]) -> str:
    return " or ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in values)


def _prediction_lines(check: Check) -> list[str]:
    prediction, job, cluster = check.prediction, check.reading.job, check.cluster
    assert prediction is not None
    assert job is not None
    assert cluster is not None
    capacity, margin = cluster.accelerator.memory_bytes, margin_of(job.plan.framework)
    binding = max(prediction.parts_s.items(), key=lambda part: part[1])
    over = prediction.peak_memory_bytes - capacity
    room = f"{format_bytes(abs(over))} {'too much' if over > 0 else 'free'}"
    sizes = " ".join(f"{name}={getattr(job.model, name)}" for name in _SHOWN_MODEL)
    sure = ""
    if prediction.range_s is not None:
        sure = f" (80 %: {duration_range(*[bound * 1e9 for bound in prediction.range_s])})"
    tokens = check.tokens_per_s
    lines = [
        f"model        {job.model.name}: {sizes}",
        f"plan         {job.plan.label()}",
        f"step time    {format_duration_ns(round(prediction.step_s * 1e9))}{sure}",
        f"tokens/s     {format_count(tokens)}, {format_count(tokens / cluster.npus)} per GPU",
        f"MFU          {check.mfu_pct:.1f} % of the 16-bit peak",
        f"peak memory  {format_bytes(prediction.peak_memory_bytes)} of {format_bytes(capacity)}, {room}; "
        f"predicted peaks are off by up to {100 * margin:.3g} %",
        f"binds        {binding[0]}, {100 * binding[1] / prediction.step_s:.1f} % of the step",
    ]
    return [*lines, *_change_lines(check)]


def _change_lines(check: Check) -> list[str]:
    assert check.prediction is not None
    if not check.changes:
        return ["changes      no single legal change is predicted to be faster"]
    fits = check.memory != "does not fit"
    lines = ["changes that gain most:" if fits else "changes that would help:"]
    for change in check.changes:
        gain = 100 * (1 - change.step_s / check.prediction.step_s)
        speed = f"{gain:.1f} % faster" if gain >= 0 else f"{-gain:.1f} % slower"
        time = format_duration_ns(round(change.step_s * 1e9))
        peak = f"{format_bytes(change.peak_memory_bytes)}, {change.verdict}"
        lines.append(f"  {setting_words(change.settings)}: {time}, {speed}; {peak}")
    return lines


def setting_words(settings: Mapping[str, tuple[Any, Any]], *, with_old: bool = False) -> str:
    """Return changed settings as a user writes them; a removed one is `without KEY`.

    With `with_old` each says the value that it replaces.
    """
    words = []
    for key, (before, after) in settings.items():
        is_gone = after is None or (after is False and key.startswith("--"))
        word = f"without {key}" if is_gone else _word(key, after)
        has_old = with_old and not is_gone and before is not None
        words.append(f"{word} instead of {_text(before)}" if has_old else word)
    return (", " if with_old else " ").join(words)


def setting_line(settings: Mapping[str, Any]) -> str:
    """Return settings in one line, quoted for a shell; an option that is off is absent."""
    return " ".join(
        _word(key, value) for key, value in settings.items() if value is not False or not key.startswith("--")
    )


def _word(key: str, value: Any) -> str:
    if value is True and key.startswith("--"):
        return key
    text = shlex.quote(_text(value))
    return f"{key} {text}" if key.startswith("--") else f"{key}={text}"


def _text(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text.lower() if isinstance(value, bool) else text


def check_data(check: Check) -> dict[str, Any]:
    """Return a check as plain data: a document of --json."""
    reading, prediction, job = check.reading, check.prediction, check.reading.job
    found: dict[str, Any] = {
        "status": check.status,
        "framework": reading.dialect.name,
        "version": reading.document.version or reading.dialect.table.version,
        "where": reading.document.where,
        "npus": reading.facts.get("npus"),
        "broken": [asdict(breach) for breach in reading.broken],
        "unchecked": dict(reading.unchecked),
        "assumed": list(reading.assumed),
        "kept": dict(reading.kept),
        "notes": list(reading.document.notes),
        "model": None if job is None else asdict(job.model),
        "plan": None if job is None else asdict(job.plan),
        "no_prediction": check.no_prediction or None,
    }
    if prediction is None or check.cluster is None:
        return found
    low, high = prediction.range_s or (None, None)
    return {
        **found,
        "system": check.cluster.name,
        "step_s": prediction.step_s,
        "step_low_s": low,
        "step_high_s": high,
        "tokens_per_s": check.tokens_per_s,
        "mfu_pct": check.mfu_pct,
        "peak_memory_bytes": prediction.peak_memory_bytes,
        "memory_bytes": check.cluster.accelerator.memory_bytes,
        "parts_s": dict(prediction.parts_s),
        "binds": max(prediction.parts_s, key=lambda name: prediction.parts_s[name]),
        "changes": [_change_data(change, prediction.step_s) for change in check.changes],
        "prediction_notes": list(prediction.notes),
    }


def _change_data(change: Change, step_s: float) -> dict[str, Any]:
    return {
        "settings": {key: {"from": old, "to": new} for key, (old, new) in change.settings.items()},
        "step_s": change.step_s,
        "faster_pct": 100 * (1 - change.step_s / step_s),
        "peak_memory_bytes": change.peak_memory_bytes,
        "memory": change.verdict,
    }
