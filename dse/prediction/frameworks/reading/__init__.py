"""Files and command lines of frameworks, read into flat settings."""

from dse.prediction.frameworks.reading.shell import read_script as read_script
from dse.prediction.frameworks.reading.sources import read_document as read_document
