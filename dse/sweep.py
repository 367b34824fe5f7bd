"""The main job by its promised spelling, `python -m dse.sweep`: the command `dse sweep`."""

if __name__ == "__main__":
    from dse.base.start import begin_command

    begin_command()

    from dse.base.signals import guard

    guard()

    from dse.commands.cli import run
    from dse.commands.sweep import main

    run(main)
