"""Where the time of an apply goes on a host."""

import time

import pytest

from clusterwright.onhost.provision import timings
from clusterwright.onhost.provision.timings import rows, step


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    """No step of another test's."""
    monkeypatch.setattr(timings, "_seconds", {})
    monkeypatch.setattr(timings, "_inner", [0.0])


@step("unit:slow.service")
def fail_slowly():
    """After more than a moment."""
    time.sleep(0.06)
    raise OSError("slow")


def test_a_step_inside_another_is_counted_once():
    """All rows together are the time that passed."""
    began = time.monotonic()
    with step("outer"):
        time.sleep(0.1)
        with step("inner"):
            time.sleep(0.2)
    whole = time.monotonic() - began

    found = rows()
    assert found["inner"] >= 0.2
    assert 0.1 <= found["outer"] < whole - 0.199
    assert sum(found.values()) == pytest.approx(whole, abs=0.01)


def test_a_resource_has_a_row_of_its_own_only_when_it_took_long():
    """The others of its kind share one; a step that fails is timed too."""
    for name in ("file:/etc/one", "file:/etc/two"):
        with step(name):
            pass
    with pytest.raises(OSError, match="slow"):
        fail_slowly()

    assert list(rows()) == ["file resources", "unit:slow.service"]
