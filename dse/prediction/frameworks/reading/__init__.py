"""Files and command lines of frameworks, read into flat settings."""

from dse.prediction.frameworks.reading.shell import read_script
from dse.prediction.frameworks.reading.sources import read_document

__all__ = ["read_document", "read_script"]
