"""The systems of conf/system, all at once."""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.records import converted
from dse.base.settings.group_files import files_of_group
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.settings import SystemSchema, complete_cluster, complete_types


def systems_of_conf() -> Iterator[tuple[str, SystemSpec]]:
    """Yield the systems of conf/system by the names of their files.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in files_of_group("system", SystemSchema):
        complete_cluster(values)
        complete_types(values)
        yield name, converted(values, SystemSpec, "system")
