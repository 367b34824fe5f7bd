"""The whole configuration as YAML, for storing with a study and for --cfg."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.studies.config.settings import Config


def resolved_yaml(config: Config) -> str:
    """Return the whole configuration as YAML."""
    return as_yaml(config.resolved)


def as_yaml(values: Mapping[str, Any]) -> str:
    """Return values as OmegaConf writes them: texts that a program may take for others stand in quotes."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text_node(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if _is_quoted(text) else None)

    Dumper.add_representer(str, text_node)
    written: str = yaml.dump(values, allow_unicode=True, sort_keys=False, Dumper=Dumper)
    return written


def _is_quoted(text: str) -> bool:
    """Whether a text looks like a number, or like yes or no in a letter."""
    if text in ("y", "Y", "n", "N"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
