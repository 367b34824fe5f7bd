"""The folder of --config-dir as Hydra reads it: its files are checked as those that a choice names."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.config_source import ConfigResult
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader

from dse.base.files import conf_folder, read_text
from dse.studies.config.own_files import check_own_file


class CheckedFiles(FileConfigSource):
    """Files of a folder; those that are not of conf/ are others' and may be hostile."""

    @staticmethod
    def scheme() -> str:
        """How an entry of the search path names this class."""
        return "dse"

    def load_config(self, config_path: str) -> ConfigResult:
        """Check the file, and read it as Hydra does, with libyaml where it is well-formed.

        Raises:
            InputError: as `check_own_file`.
        """
        path = (Path(self.path) / self._normalize_file_name(config_path)).resolve()
        if not path.is_file():
            return super().load_config(config_path)  # says what is wrong
        text = read_text(path)
        if not path.is_relative_to(conf_folder()):
            check_own_file(text, str(path))
        try:
            values = yaml.load(text, _loader())
        except yaml.YAMLError:
            return super().load_config(config_path)
        return ConfigResult(
            config=OmegaConf.create({} if values is None else values),
            path=f"{self.scheme()}://{self.path}",
            provider=self.provider,
            header=self._get_header_dict(text[:512]),
        )


@functools.cache
def _loader() -> Any:
    """OmegaConf's loader of YAML, on the parser of libyaml."""
    of_omegaconf: Any = get_yaml_loader()
    if not hasattr(yaml, "CSafeLoader"):
        return of_omegaconf

    parser: Any = vars(yaml.cyaml)["CParser"]

    class Loader(parser, of_omegaconf):  # type: ignore[misc]
        def __init__(self, stream: str) -> None:
            parser.__init__(self, stream)
            yaml.constructor.SafeConstructor.__init__(self)
            yaml.resolver.Resolver.__init__(self)

    return Loader


def check_search_path(search_path: ConfigSearchPath, folder: Path | None) -> None:
    """Let all files be checked, those of `folder` first; a file of conf/ may name others by `../`."""
    SourcesRegistry.instance().register(CheckedFiles)
    if folder is not None:
        search_path.prepend("the user", str(folder))
    for entry in search_path.get_path():
        if entry.path is not None and "://" not in entry.path:
            entry.path = f"{CheckedFiles.scheme()}://{entry.path}"
