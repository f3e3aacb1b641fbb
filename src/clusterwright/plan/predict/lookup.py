"""Catalog lookup of the GPU and model names in a table; each name is looked up once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.models import architecture, resembling
from clusterwright.catalog.records import Gpu
from clusterwright.errors import WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.catalog.user_catalog import UserCatalog
    from clusterwright.plan.predict.cells import Cells

NO_GPU = Gpu("unknown", {"bf16": 1.0}, 1.0, 1.0)  # placeholder while the row's other problems are collected


@dataclass(slots=True)
class CatalogLookup:
    """The catalog with the user's entries, and a cache of results."""

    user_catalog: UserCatalog | None = None
    _gpus: dict[str, Gpu | WrightError] = field(default_factory=dict)
    models: dict[str, Architecture | None] = field(default_factory=dict)

    def gpu(self, cells: Cells) -> Gpu:
        """Return the GPU of a row; for a missing or unknown name `NO_GPU`, with a problem added to the row.

        Each name is searched once.
        """
        name = cells.text("gpu_type")
        if not name:
            cells.wrong("predict-no-gpu", _("the row names no GPU"), _("fill gpu_type"))
            return NO_GPU
        if name not in self._gpus:
            self._gpus[name] = self._find_gpu(name)
        result = self._gpus[name]
        if isinstance(result, WrightError):
            cells.problems.extend(result.findings)
            return NO_GPU
        return result

    def architecture(self, name: str) -> Architecture | None:
        """Return the model with this name, or the one that it is a reduced version of; None if unknown.

        Searched once.
        """
        if name not in self.models:
            self.models[name] = self._find_model(name)
        return self.models[name]

    def _find_gpu(self, name: str) -> Gpu | WrightError:
        try:
            return gpu(name, self.user_catalog)
        except WrightError as error:
            return error

    def _find_model(self, name: str) -> Architecture | None:
        try:
            return architecture(name, self.user_catalog)
        except WrightError:
            return resembling(name)
