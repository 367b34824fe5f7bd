"""Models of PyTorch by name: examples, or a function of a user's own file; needs the extra torch."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.lazy import is_installed, torch
from dse.base.settings import check_choice
from dse.partition.graphs.sources.training_task import TrainingTask

EXAMPLE_NAMES = ("two_branches", "transformer", "mixture")
_INSTALL = "needs PyTorch; pip install 'dse[torch]' (torch==2.13.0)"


def require_torch(what: str) -> None:
    """Check that torch can be imported.

    Raises:
        InputError: it is not installed; says how to get it.
    """
    if not is_installed("torch"):
        raise InputError(f"{what} {_INSTALL}")


def task_named(name: str, seed: int = 0) -> TrainingTask:
    """Return the task of an example, or of FILE.py:FUNCTION, which returns a `TrainingTask` or its fields.

    Parameters are drawn after `torch.manual_seed(seed)`.

    Raises:
        InputError: no such example, file or function, or it fails or returns something else; or torch is
            missing.
    """
    require_torch(f"the model '{name}'")
    torch.manual_seed(seed)
    if ".py" not in name:
        check_choice("the model", name, (*EXAMPLE_NAMES, "FILE.py:FUNCTION"))
        from dse.partition.graphs.sources.torch_examples import EXAMPLES

        return EXAMPLES[name]()
    file, _, function = name.rpartition(":")
    if not file.endswith(".py") or not function.isidentifier():
        raise InputError(f"the model '{excerpt(name)}' must name a function, as in FILE.py:FUNCTION")
    with _running(Path(file)):
        made = _function(Path(file), function)()
    if isinstance(made, tuple) and len(made) == 3:
        made = TrainingTask(*made)
    if not isinstance(made, TrainingTask) or not isinstance(made.module, torch.nn.Module):
        raise InputError(f"{name} returned {excerpt(repr(made))}; it must return (module, sample, loss)")
    return made


@contextmanager
def _running(path: Path) -> Iterator[None]:
    """Run code of a user's file: it may import its neighbours, as a script may, and its errors are named."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(failure_of(error, path)) from error
    finally:
        sys.path.remove(folder)


def failure_of(error: Exception, path: Path | None = None) -> str:
    """Return where code of a user failed, and why, as one line; the place is the last one in `path`."""
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if path and Path(frame.filename).resolve() == path.resolve()
    ]
    line = f"{path}, line {frames[-1].lineno}: " if frames else f"{path}: " if path else ""
    return f"{line}{type(error).__name__}: {excerpt(' '.join(str(error).split()), 300)}"


def _function(path: Path, name: str) -> Callable[[], Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; the model must be FILE.py:FUNCTION or an example")
    spec = importlib.util.spec_from_file_location(f"dse_user_model_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise InputError(f"{path}: has no function {name}")
    return function  # type: ignore[no-any-return]
