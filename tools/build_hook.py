"""Compile the message catalog when the package is built or installed."""

import importlib.machinery
import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_MESSAGES = str(Path(__file__).with_name("messages"))


class MessagesHook(BuildHookInterface):
    """`tools/messages --compile` before the files of the package are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (Hatch's signature)
        """Write locale/zh/LC_MESSAGES/clusterwright.mo."""
        loader = importlib.machinery.SourceFileLoader("messages", _MESSAGES)
        spec = importlib.util.spec_from_loader("messages", loader)
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        module.compile_catalog()
