"""Where the time of runs of traces goes: of simulations and of replays, as text, timeline and page."""

from __future__ import annotations

from dse.answers.runs.parts import Parts as Parts
from dse.studies.recorded import Case
from dse.studies.recorded.run import recorded_run, replay_of


def parts_of(case: Case) -> Parts:
    """Return where the time of a case goes.

    Raises:
        InputError: it deadlocks, or another program than the engine simulated it.
    """
    if case.traces.is_recorded:
        from dse.answers.runs.replayed import parts_of_replay

        return parts_of_replay(replay_of(case))
    from dse.answers.runs.simulated import parts_of_recording

    return parts_of_recording(recorded_run(case))
