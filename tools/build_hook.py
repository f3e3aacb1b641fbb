"""Compile the message catalog when the package is built, and write a bill of materials beside the wheel."""

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.utils import get_reproducible_timestamp


class MessagesHook(BuildHookInterface):
    """Hatchling's build hook: runs `tools/messages --compile` before the build and `tools/sbom.py` after it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (Hatch's signature)
        """Write locale/zh/LC_MESSAGES/clusterwright.mo."""
        _program("messages").compile_catalog()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 (same)
        """Write clusterwright-VERSION.cdx.json beside the wheel; an editable install has none."""
        if self.target_name != "wheel" or version != "standard":
            return
        project, release = self.metadata.core_raw_metadata, self.metadata.version
        text = _program("sbom.py").bill_of_materials(project, release, get_reproducible_timestamp())
        Path(artifact_path).with_name(f"{project['name']}-{release}.cdx.json").write_text(
            text, encoding="utf-8"
        )


def _program(name: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(
        name.removesuffix(".py"), str(Path(__file__).with_name(name))
    )
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
