"""Declarations of settings: keys and their meanings, checks of values, choices by name."""

from dse.base.settings.checks import (
    check_choice,
    check_type,
    checked_path,
    checked_seconds,
    checked_text,
    refuse_foreign,
)
from dse.base.settings.choices import Accepted, Choices
from dse.base.settings.keys import MISSING, group, key, mapping, options

__all__ = [
    "MISSING",
    "Accepted",
    "Choices",
    "check_choice",
    "check_type",
    "checked_path",
    "checked_seconds",
    "checked_text",
    "group",
    "key",
    "mapping",
    "options",
    "refuse_foreign",
]
