"""Frameworks: what the program that runs a step adds to the hardware: launches, and what it overlaps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.files import conf_file, conf_names
from dse.base.record_files import yaml_record
from dse.prediction.steps.framework_memory import FrameworkMemory

MOST_LAUNCH_US = 1000.0
MOST_ELEMENTWISE = 10.0


@dataclass(frozen=True)
class Framework:
    """A file of conf/framework.

    `launch_us` is what the CPU needs to launch a kernel: where that is longer than the kernels, it bounds a
    pass. `elementwise` is how many times the bytes that elementwise kernels have to move those of the
    framework move: for each operation of its own kernel, and each copy. The CPU launches as many operations.
    These two numbers are fitted; `calibration` says on what, `uncertainty` how well.
    `gradient_bytes` per weight are reduced over data-parallel ranks and summed over micro-batches.
    `attention_factor` multiplies the accelerator's efficiency of fused attention where the framework brings
    kernels of an older generation; `attention_factor_8bit` on accelerators with 8-bit products (Hopper and
    later), whose matrix units older kernels use badly. `tp_overlap` is the share of
    tensor-parallel collectives that hides when a plan overlaps them. `memory` is what it keeps in memory.
    `sources` gives for figures where they are from.

    Raises:
        InputError: a number is impossible.
    """

    name: str
    launch_us: float
    gradient_bytes: int
    attention_factor: float = 1.0
    attention_factor_8bit: float = 1.0
    tp_overlap: float = 0.5
    elementwise: float = 1.0
    memory: FrameworkMemory = field(default_factory=FrameworkMemory)
    calibration: str = ""
    uncertainty: Mapping[str, float] = field(default_factory=dict, hash=False)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 < self.launch_us <= MOST_LAUNCH_US:
            raise InputError(
                f"framework.launch_us is {self.launch_us}; it must be above 0 and at most {MOST_LAUNCH_US:g}"
            )
        if self.gradient_bytes not in (2, 4):
            raise InputError(f"framework.gradient_bytes is {self.gradient_bytes}; it must be 2 or 4")
        for key in ("attention_factor", "attention_factor_8bit"):
            if not 0 < getattr(self, key) < 10:
                raise InputError(f"framework.{key} is {getattr(self, key)}; it must be above 0 and below 10")
        if not 0 < self.elementwise <= MOST_ELEMENTWISE:
            raise InputError(
                f"framework.elementwise is {self.elementwise}; it must be above 0 and at most "
                f"{MOST_ELEMENTWISE:g}"
            )
        if not 0 <= self.tp_overlap <= 1:
            raise InputError(f"framework.tp_overlap is {self.tp_overlap}; it must be from 0 to 1")

    @property
    def adam_bytes(self) -> float:
        """Per parameter: gradient, master weight and two moments read; these three and 16 bit written."""
        return 26.0 + self.gradient_bytes

    @property
    def scale_bytes(self) -> float:
        """Per gradient: read for its norm, and half the time read and written to be scaled."""
        return 2.0 * self.gradient_bytes


@functools.cache
def framework_named(name: str) -> Framework:
    """Return a framework of conf/framework, or that of a YAML file like those.

    Raises:
        InputError: there is none of this name, or the file has an unknown, missing or impossible key.
    """
    if name in framework_names():
        return yaml_record(conf_file("framework", name), Framework, "framework")
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = Path(name).expanduser()
        if path.is_file():
            return yaml_record(path, Framework, "framework")
        raise InputError(f"framework is '{excerpt(name)}'; there is no such file")
    names = ", ".join(framework_names())
    nearest = did_you_mean(name, framework_names())
    raise InputError(f"framework is '{excerpt(name)}'; allowed are {names}, or a file{nearest}")


def framework_names() -> tuple[str, ...]:
    """The names of the files of conf/framework."""
    return conf_names("framework")
