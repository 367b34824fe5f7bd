"""Declarations of settings: keys and their meanings, checks of values, choices by name."""

from dse.base.settings.checks import check_choice as check_choice
from dse.base.settings.checks import check_type as check_type
from dse.base.settings.checks import check_whole as check_whole
from dse.base.settings.checks import checked_path as checked_path
from dse.base.settings.checks import checked_seconds as checked_seconds
from dse.base.settings.checks import checked_text as checked_text
from dse.base.settings.checks import refuse_foreign as refuse_foreign
from dse.base.settings.choices import Accepted as Accepted
from dse.base.settings.choices import Choices as Choices
from dse.base.settings.keys import MISSING as MISSING
from dse.base.settings.keys import group as group
from dse.base.settings.keys import key as key
from dse.base.settings.keys import mapping as mapping
from dse.base.settings.keys import options as options
