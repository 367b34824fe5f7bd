"""The configuration of a command line: conf/ and overrides in, frozen specifications out."""

from dse.studies.config.compose import compose_config as compose_config
from dse.studies.config.compose import compose_configs as compose_configs
from dse.studies.config.settings import Config as Config
from dse.studies.config.settings import resolved_yaml as resolved_yaml
