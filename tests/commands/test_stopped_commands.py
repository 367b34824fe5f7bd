"""Ctrl-C and SIGTERM: what commands answer, and that a program which uses dse as a library keeps its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_lines import TINY

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
# Stands for code that swallows Ctrl-C: a finaliser, and a library that catches everything.
PROGRAM = """
import contextlib, os, signal, sys, time
from dse.base import signals
from dse.commands.cli import run
signals.guard()

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.01)

def main(arguments):
    with signals.putting_away("interrupted; put away") if {careful} else contextlib.nullcontext():
        swallows = Swallows()
        del swallows
        try:
            {check}
        except BaseException:
            pass
        print("the block goes on", flush=True)
    print("not reached", flush=True)
    return 0

run(main)
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_nothing_swallows_a_signal_where_nothing_is_at_stake(number: signal.Signals, code: int) -> None:
    done = ended(PROGRAM.format(name=number.name, careful=False, check="pass"))
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "interrupted\n")


@pytest.mark.parametrize("check", ["pass", "signals.raise_if_signalled()"])
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_swallowed_signal_ends_the_process_after_its_block(
    number: signal.Signals, code: int, check: str
) -> None:
    done = ended(PROGRAM.format(name=number.name, careful=True, check=check))
    assert (done.returncode, done.stderr) == (code, "interrupted; put away\n")
    assert done.stdout == "the block goes on\n"


def test_a_signal_that_became_another_error_is_no_error() -> None:
    done = ended(
        """
import os, signal
from dse.base import signals
from dse.commands.cli import run
from dse.base.errors import InputError
signals.guard()
def main(arguments):
    block = signals.putting_away()
    block.__enter__()
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
    except KeyboardInterrupt:
        raise InputError("unknown key defaults")
run(main)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_signal_after_the_answer_is_still_one_line() -> None:
    done = ended(
        """
import atexit, os, signal, time
from dse.base import signals
from dse.commands.cli import run
signals.guard()
atexit.register(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(5)))
run(lambda arguments: 0)
"""
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_a_second_signal_much_later_ends_what_takes_its_time() -> None:
    done = ended(
        """
import os, signal, time
from dse.base import signals
from dse.commands.cli import run
signals.guard()
def main(arguments):
    with signals.putting_away("interrupted; slowly"):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGINT)  # the same Ctrl-C, from a wrapper
            time.sleep(1.2)
            print("still here", flush=True)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
run(main)
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "still here\n", "interrupted; slowly\n")


def test_importing_dse_leaves_signals_and_garbage_alone() -> None:
    program = """
import gc, signal, sys
threshold = gc.get_threshold()
import dse, dse.__main__, dse.sweep, dse.commands.sweep, dse.commands.cli
assert gc.get_threshold() == threshold
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
assert sys.unraisablehook is sys.__unraisablehook__
"""
    assert ended(program).stderr == ""


@pytest.mark.parametrize(
    "verb", ["-m dse.sweep", "-m dse explain", "-mdse best", "-X dev -m dse point", "-m dse best"]
)
def test_commands_handle_signals_before_they_load_anything(verb: str, tmp_path: Path) -> None:
    """`-X importtime` reports modules in the order in which their import ends."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *verb.split(), "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line]
    ours = [name for name in modules if name.split(".")[0] in ("dse", "numpy", "yaml", "hydra", "omegaconf")]
    assert ours[:4] == ["dse", "dse.base", "dse.base.start", "dse.base.signals"]
    # An editable installation has loaded __future__ before.
    first = modules[modules.index("runpy") + 1 : modules.index("dse.base.start")]
    assert [name for name in first if name != "__future__"] == ["dse", "dse.base"]


def test_a_short_command_collects_hardly_any_garbage(tmp_path: Path) -> None:
    """Without a threshold of its own, more than 100 times."""
    say = (
        "import gc, os\n"
        "gc.callbacks.append(lambda phase, info: os.write(2, b'+') if phase == 'start' else None)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(say, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dse", "point", "strategy.dp=64"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("+") < 10


def running(arguments: Sequence[str], folder: Path, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-m", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_job_that_ignores_ctrl_c_goes_on_ignoring_it(tmp_path: Path) -> None:
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    command = running(["dse", "sweep", *TINY, "space.sp=[1]"], tmp_path, **ignore)
    while command.poll() is None:
        os.kill(command.pid, signal.SIGINT)
        time.sleep(0.02)
    assert command.returncode == 0


# The signal comes while the named module is about to be loaded for the first time.
NOT_PLAIN = ('study="s"',)  # Hydra reads the quotes
SIGNALS_ITSELF = """
import os, sys

def signals_itself(event, arguments):
    if event == "import" and arguments[0] == "{module}" and "dse" in sys.modules:
        os.kill(os.getpid(), {number})

sys.addaudithook(signals_itself)
"""


@pytest.mark.parametrize(
    "module", ["signal", "typing", "dse.base.signals", "dse.base.errors", "hydra", "pyarrow"]
)
@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("is_script", [True, False])
def test_a_signal_while_a_command_is_loading_is_one_line(
    tmp_path: Path, module: str, number: signal.Signals, code: int, is_script: bool
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SIGNALS_ITSELF.format(module=module, number=int(number)))
    script = tmp_path / "dse"  # as pip writes it for a console script
    script.write_text("import sys\nfrom dse.__main__ import main\nsys.exit(main())\n")
    done = subprocess.run(
        [sys.executable, *([str(script), "sweep"] if is_script else ["-m", "dse.sweep"]), *TINY, *NOT_PLAIN],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("interrupted")


# Stands for native code that swallows a signal and then waits with Python's lock in its hands.
WAITS = """
import ctypes, time
from dse.base import signals
from dse.commands.cli import run
signals.guard()

def main(arguments):
    with signals.putting_away("interrupted; put away"):
        with signals.ending_within({seconds}):
            try:
                print("waits", flush=True)
                time.sleep(60)
            except KeyboardInterrupt:
                pass
            ctypes.PyDLL(None).sleep({waits})
        signals.raise_if_signalled()
    print("not reached", flush=True)
    return 0

run(main)
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such helper")
@pytest.mark.parametrize(("seconds", "waits"), [(1, 60), (60, 0)])
@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_wait_that_answers_no_signal_ends_in_time(
    number: signal.Signals, code: int, seconds: int, waits: int
) -> None:
    """From outside by the same signal; or by the command itself, where the block is left before."""
    program = WAITS.format(seconds=seconds, waits=waits)
    with subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(number)
        assert process.wait(30) == (-number if waits else code)
        assert (process.stdout.read(), process.stderr.read()) == ("", "interrupted; put away\n")
