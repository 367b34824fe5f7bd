"""The main job by its promised spelling, `python -m dse.sweep`: the command `dse sweep`."""

from dse.base import signals

if __name__ == "__main__":
    signals.guard()  # before anything else is loaded

    from dse.commands.cli import run
    from dse.commands.sweep import main

    run(main)
