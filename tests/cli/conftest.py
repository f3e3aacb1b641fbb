"""Fixtures for tests that run the command line as a user does."""

import subprocess
import sys

import pytest

WRIGHT = (sys.executable, "-m", "clusterwright")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run a command in an empty folder, without a cluster file; keywords are those of subprocess.run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)

    def call(*arguments, **options):
        how = {"capture_output": True, "text": True, "timeout": 60} | options
        return subprocess.run([*WRIGHT, *map(str, arguments)], check=False, **how)

    return call
