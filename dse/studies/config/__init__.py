"""The configuration of a command line: conf/ and overrides in, frozen specifications out."""

from dse.studies.config.compose import compose_config, compose_configs
from dse.studies.config.settings import Config, resolved_yaml

__all__ = ["Config", "compose_config", "compose_configs", "resolved_yaml"]
