"""`wright cancel`."""

import pytest

from clusterwright.cli.cancel import cancel
from clusterwright.errors import WrightError


def test_a_local_run_is_marked(tmp_path):
    """Its supervisor reads the mark and ends it."""
    (tmp_path / "job.json").write_text('{"local": true}')

    assert cancel(str(tmp_path)) == 0
    assert (tmp_path / "cancelled").exists()


def test_a_run_that_has_ended_is_not_marked(tmp_path, capsys):
    """A mark would make a later start of the run end at once; the message gives the outcome."""
    (tmp_path / "job.json").write_text('{"local": true}')
    (tmp_path / "ended.json").write_text('{"outcome": "finished"}')

    assert cancel(str(tmp_path)) == 0
    assert not (tmp_path / "cancelled").exists()
    assert "has ended (finished): there is nothing to cancel" in "".join(capsys.readouterr())


def test_a_job_needs_a_cluster(tmp_path, monkeypatch):
    """The error names where its file was looked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)

    with pytest.raises(WrightError, match=r"tried cluster\.yaml"):
        cancel("123")


def test_root_creates_nothing_behind_a_link(tmp_path):
    """A user's link to /etc/nologin would lock everybody out."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "job.json").write_text("{}")
    (tmp_path / "run" / "cancelled").symlink_to(tmp_path / "nologin")

    with pytest.raises(WrightError, match="cancelled"):
        cancel(str(tmp_path / "run"))

    assert not (tmp_path / "nologin").exists()
