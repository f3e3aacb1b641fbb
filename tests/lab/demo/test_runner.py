"""What the demo runs on if no file is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.lab.demo import runner


@pytest.mark.parametrize("path", runner.LAB_FILES, ids=lambda path: path.name)
def test_each_default_is_the_file_of_a_lab(path: Path) -> None:
    """The example of the checkout and the template of the package."""
    assert load_cluster(path).lab is not None


def test_an_installed_package_uses_its_own_template(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no example lies beside it."""
    monkeypatch.setattr(runner, "LAB_FILES", (tmp_path / "examples" / "cluster.yaml", runner.LAB_FILES[1]))
    assert runner._lab_file() == runner.LAB_FILES[1]


def test_without_a_default_the_error_names_the_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No traceback."""
    monkeypatch.setattr(runner, "LAB_FILES", (tmp_path / "cluster.yaml",))
    with pytest.raises(WrightError, match="does not exist"):
        runner._lab_file()
