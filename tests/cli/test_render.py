"""`wright render` and `wright export`."""

from pathlib import Path

import pytest

from clusterwright.cli.export import export
from clusterwright.cli.render import render

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below the folder, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "command", [render, lambda cluster, out: export(cluster=cluster, out=out, ansible=True, compose=True)]
)
def test_another_name_of_the_cluster_file_changes_no_file(tmp_path, monkeypatch, command):
    """A file that is renamed changes no host."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("cluster", "renamed"):
        (tmp_path / f"{name}.yaml").write_text(EXAMPLE.read_text())
        assert command(cluster=tmp_path / f"{name}.yaml", out=tmp_path / name) == 0

    assert len(files(tmp_path / "cluster")) > 50
    assert files(tmp_path / "cluster") == files(tmp_path / "renamed")
