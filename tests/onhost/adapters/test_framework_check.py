"""A framework that is missing ends the run before it begins."""

import json

from clusterwright.onhost.adapters import framework_check


def test_a_missing_framework_says_what_installs_it(tmp_path, capfd, monkeypatch):
    """In the run's outcome and in its output, with the Python that lacks it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # whatever is installed here
    code = framework_check.main([str(tmp_path), "lightning"])
    ended = json.loads((tmp_path / "ended.json").read_text())

    assert (code, ended["outcome"], ended["code"]) == (1, "failed", 1)
    assert "lightning is not installed for /" in ended["reason"]
    assert ended["reason"].endswith("pip install lightning")
    assert ended["reason"] in capfd.readouterr().out


def test_what_is_there_is_not_spoken_of(tmp_path):
    """Torch is, and an MPI program needs nothing of Python's."""
    assert framework_check.main([str(tmp_path), "mpi"]) == 0
    assert not (tmp_path / "ended.json").exists()
