"""A user's own checkout of STAGE as a generator of workloads (docs/workload.md)."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.base.files import read_bytes
from dse.base.programs import (
    ProgramRunner,
    ended_with,
    found_program,
    private_folder,
    tail,
    where_log_is,
)
from dse.inputs.models import ModelSpec, refuse_untraceable
from dse.inputs.strategies import Divisibility, Strategy
from dse.simulation.workloads.generators import WorkloadGenerator, fractional
from dse.simulation.workloads.settings import WorkloadSettings
from dse.simulation.workloads.stage_options import (
    OUTPUT_NAME,
    check_known,
    groups_file,
    listed_options,
    point_options,
)
from dse.simulation.workloads.traces import GROUPS_FILE, ImportedWorkload, read_groups, workload_of

_PREFIX = "dse-stage-"  # of its temporary files
_NO_MODULE = re.compile(r"^(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)", re.MULTILINE)


def make(settings: WorkloadSettings) -> WorkloadGenerator:
    """Return the generator that `workload=stage` names.

    Raises:
        InputError: there is no such checkout.
    """
    if settings.checkout is None:
        raise InputError(
            "workload.checkout is null; workload=stage needs the folder of your STAGE: workload.checkout=PATH"
        )
    assert settings.entry is not None
    assert settings.timeout_s is not None
    return StageGenerator(
        settings.checkout, settings.entry, settings.python, settings.timeout_s, settings.options
    )


@dataclass(frozen=True)
class StageGenerator(WorkloadGenerator):
    """Runs `<python> <checkout>/<entry> --dp …` and reads the traces and groups that it writes.

    `python` None is the interpreter that runs this. `options` are written as they are, besides those of the
    point. The program runs in a private folder which has a link to each entry of the checkout, so that paths
    relative to either work. It is asked once for its --help, which says what its version knows.
    """

    checkout: Path
    entry: str = "main.py"
    python: str | None = None
    timeout_s: float = 3600
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    is_external = True
    _known: dict[str, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)
    _programs: ProgramRunner = field(default_factory=ProgramRunner, repr=False, compare=False)

    def generate(self, model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> ImportedWorkload:
        """See `WorkloadGenerator.generate`; its crash or missing files are a `SimulationError`."""
        if not model.is_reference:
            raise InputError(
                "model.fidelity: a checkout of STAGE generates no repairs; use model.fidelity=stage"
            )
        refuse_untraceable(model)
        is_fractional = fractional(model, strategy, divisibility)
        checkout = self._found_checkout()
        python = self._found_python()
        with private_folder(_PREFIX) as folder:
            work, output, log = folder / "work", folder / "output", folder / "stage.log"
            work.mkdir()
            output.mkdir()
            for path in checkout.iterdir():
                if path.name != ".git":
                    (work / path.name).symlink_to(path)
            try:
                known = self._known_options(python, checkout, work, log)
                groups = groups_file(known, GROUPS_FILE)
                words = point_options(known, model, strategy, output, groups, self.options)
                self._run([str(python), str(checkout / self.entry), *words], work, log)
                return _read(output, groups, strategy.npus, is_fractional)
            except SimulationTimeout as error:
                raise SimulationTimeout(
                    f"STAGE {error} (workload.timeout_s); {where_log_is(log, _PREFIX)}"
                ) from None
            except SimulationError as error:
                raise SimulationError(f"STAGE {error}; {where_log_is(log, _PREFIX)}") from None

    def _run(self, command: list[str], work: Path, log: Path) -> None:
        status = self._programs.run(
            command,
            folder=work,
            log=log,
            timeout_s=self.timeout_s,
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
        )
        if status != 0:
            self._check_modules(log)
            raise SimulationError(ended_with(status, log))

    def _known_options(self, python: Path, checkout: Path, work: Path, log: Path) -> frozenset[str]:
        """Return the options that the entry file lists, asked once.

        Raises:
            InputError: it lacks one that every version has; or as `_check_modules`.
        """
        if self.entry not in self._known:
            self._run([str(python), str(checkout / self.entry), "--help"], work, log)
            known = listed_options(log.read_text(encoding="utf-8", errors="replace"))
            check_known(known, f"workload.entry is '{self.entry}'")
            self._known[self.entry] = known
        return self._known[self.entry]

    def identity(self) -> Mapping[str, str]:
        """See `WorkloadGenerator.identity`: the digest of the checkout's Python files, and the entry."""
        digest = hashlib.sha256()
        checkout = self._found_checkout()
        for path in sorted(checkout.rglob("*.py")):
            digest.update(f"{path.relative_to(checkout)}\n".encode() + read_bytes(path))
        found = {"name": "stage", "entry": self.entry, "checkout_sha256": digest.hexdigest()}
        return found | {f"options.{name}": str(value) for name, value in sorted(self.options.items())}

    def stop(self) -> None:
        """See `WorkloadGenerator.stop`."""
        self._programs.stop()

    def _found_checkout(self) -> Path:
        checkout = self.checkout.expanduser().absolute()
        if not checkout.is_dir():
            raise InputError(f"workload.checkout is '{self.checkout}'; there is no such folder")
        if not (checkout / self.entry).is_file():
            raise InputError(f"workload.entry is '{self.entry}'; {self.checkout} has no such file")
        return checkout

    def _check_modules(self, log: Path) -> None:
        """Refuse an interpreter without what the checkout imports: no point can be generated with it."""
        missing = _NO_MODULE.findall(tail(log))
        if missing:
            python = f"'{self.python}'" if self.python else f"null, so {sys.executable} ran"
            raise InputError(
                f"workload.python is {python}, which has no module '{missing[-1]}' that {self.entry} of the "
                "checkout imports; set it to an interpreter that has the checkout's packages"
            )

    def _found_python(self) -> Path:
        if self.python is None:
            return Path(sys.executable)
        return found_program(shutil.which(self.python) or self.python, "workload.python")


def _read(output: Path, groups_name: str, ranks: int, is_fractional: bool) -> ImportedWorkload:
    """Read what STAGE wrote; the traces stay in memory, because their folder will be removed."""
    traces = [output / f"{OUTPUT_NAME}.{rank}.et" for rank in range(ranks)]
    missing = [path.name for path in (*traces, output / groups_name) if not path.is_file()]
    if missing:
        written = sorted(path.name for path in output.iterdir())
        raise SimulationError(
            f"ended with exit status 0 but wrote no {missing[0]} ({len(missing)} of {ranks + 1} files are "
            f"missing; it wrote {', '.join(written[:3]) or 'nothing'}{', ...' if len(written) > 3 else ''})"
        )
    try:
        groups = read_groups(output / groups_name)
        return workload_of([read_bytes(path) for path in traces], groups, is_fractional=is_fractional)
    except InputError as error:
        raise SimulationError(f"wrote what cannot be read: {error}".replace(f"{output}/", "")) from None
