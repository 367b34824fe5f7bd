"""The native solvers of schedules, plans and partitions, imported from here: `make sweep` leaves them out.

Raises:
    InputError: they are not built.
"""

from dse.base.errors import InputError

try:
    from dse.native._solvers import *  # noqa: F403
except ModuleNotFoundError as error:
    raise InputError(
        "the solvers of schedules, plans and partitions are not built; write make install"
    ) from error
