"""The user's own rows: the file named, else those that lie where such files lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own


def own_rows(catalog: Path | None) -> Own | None:
    """Rows of `catalog`; without it, of ./catalog.toml, else of ~/.config/clusterwright/catalog.toml; else None.

    Raises:
        WrightError: what is wrong with the file, all at once.
    """
    file = catalog or next((each for each in _places() if each.is_file()), None)
    if file is None:
        return None
    from clusterwright.catalog.own_file import load

    return load(file)


def _places() -> tuple[Path, ...]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path("catalog.toml"), config / "clusterwright" / "catalog.toml"
