"""The agent of an apply with input that was damaged or cut off on its way."""

import io
import sys
import zlib
from types import SimpleNamespace

import pytest

from clusterwright.onhost.provision import agent
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import Directory


def unpacked(data):
    """What zlib reads, also behind another valid header; nothing if it is damaged."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_damaged_input_changes_nothing(tmp_path, hostile, monkeypatch, count):
    """The compressed bundle has a checksum; the message says that nothing was changed."""
    intact = bundle(Order("apply", "cluster.yaml", "100", "", str(tmp_path)), [Directory(path="/a")], ())
    for data in hostile(count, intact):
        part = data[: len(intact) // 2] if unpacked(data) == unpacked(intact) else data
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(part)))
        with pytest.raises(SystemExit, match="nothing was changed"):
            agent.main()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("tail", [b"9", b"\0", b"9" * 4_000])
def test_input_with_something_behind_its_end_changes_nothing(tmp_path, monkeypatch, tail):
    """The checksum does not cover it."""
    intact = bundle(Order("apply", "cluster.yaml", "100", "", str(tmp_path)), [Directory(path="/a")], ())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(intact + tail)))

    with pytest.raises(SystemExit, match="nothing was changed"):
        agent.main()
    assert list(tmp_path.iterdir()) == []
