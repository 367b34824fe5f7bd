"""What every command line does with errors."""

import io
import sys
from collections.abc import Sequence

import pytest

from dse.base.errors import InputError
from dse.commands.cli import run


def _exit_code(exception: BaseException | None, code: int = 0) -> object:
    def main(_arguments: Sequence[str]) -> int:
        if exception is not None:
            raise exception
        return code

    with pytest.raises(SystemExit) as caught:
        run(main)
    return caught.value.code


def test_a_user_error_is_one_line_on_stderr_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert _exit_code(InputError("model.d_ff is 0;\n  it must be positive")) == 2
    captured = capsys.readouterr()
    assert captured.err == "error: model.d_ff is 0; it must be positive\n"
    assert captured.out == ""


def test_an_interrupt_exits_with_130() -> None:
    assert _exit_code(KeyboardInterrupt()) == 130


def test_the_code_of_main_is_the_exit_code() -> None:
    assert _exit_code(None) == 0
    assert _exit_code(None, 1) == 1


def test_a_bug_stays_a_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        run(lambda _arguments: 1 // 0)


def test_characters_that_the_output_cannot_encode_are_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))

    def main(_arguments: Sequence[str]) -> int:
        print("1.74 µs")
        return 0

    with pytest.raises(SystemExit) as caught:
        run(main)
    assert caught.value.code == 0
    assert written.getvalue() == b"1.74 ?s\n"
