"""File systems that answer, and one that holds whoever asks it."""

import os
import time
from pathlib import Path

import pytest

from clusterwright.onhost.exporter.collectors import file_systems


@pytest.fixture
def held(monkeypatch):
    """A folder that holds whoever asks how full it is, as that of a server that is gone does."""
    real = os.statvfs

    def statvfs(path):
        if path == "/gone":
            time.sleep(600)
        return real(path)

    monkeypatch.setattr(file_systems.os, "statvfs", statvfs)
    monkeypatch.setattr(file_systems, "LIMIT_S", 0.7)
    before = _children()
    yield
    for pid in _children() - before:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_those_that_answer_say_how_soon(settings, samples, tmp_path):
    """And one that is not there does not answer."""
    missing = str(tmp_path / "none")
    found = samples(file_systems.collect(settings(paths=["/", missing]), {}))

    assert found["file_system_answers", ("path", "/")] == 1
    assert 0 <= found["file_system_answer_seconds", ("path", "/")] < 5
    assert found["file_system_answers", ("path", missing)] == 0
    assert ("file_system_answer_seconds", ("path", missing)) not in found


def test_one_that_is_held_keeps_no_other_waiting(settings, samples, held):
    """It is asked by a process that may wait for ever."""
    began = time.monotonic()
    found = samples(file_systems.collect(settings(paths=["/gone", "/"]), {}))

    assert found["file_system_answers", ("path", "/gone")] == 0
    assert found["file_system_answers", ("path", "/")] == 1
    assert time.monotonic() - began < 20


def test_one_that_is_held_is_not_asked_again(settings, held):
    """Else a process would be added each round; the first one's lock says that it still waits."""
    told = settings(paths=["/gone"])
    before = _children()
    for _ in range(3):
        assert file_systems.probe_all(told.paths, told.run) == {"/gone": None}

    assert len(_children() - before) == 1


def _children():
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
