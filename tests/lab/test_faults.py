"""Faults by name."""

import re
from pathlib import Path

import pytest

from clusterwright.errors import WrightError
from clusterwright.lab import faults
from clusterwright.lab.options import falling_percent


def test_every_fault_has_its_undo_and_says_what_it_takes():
    """A file dropped in is held to the same form."""
    found = faults.kinds()

    assert {"kill-host", "reboot-host", "link-down", "slow-link", "fill-disk", "pause-host"} <= set(found)
    for name, kind in found.items():
        assert callable(kind.inject), name
        assert callable(kind.undo), name
        assert isinstance(kind.OPTIONS, tuple), name
        assert isinstance(kind.LASTS, bool), name


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("burn-host", {}, "lab-unknown-fault.*did you mean `pause-host`"),
        ("zzz", {}, "lab-unknown-fault.*name one of these faults: .*link-down"),
        ("kill-host", {"network": "compute"}, "lab-fault-option.*options of this fault: none"),
        ("slow-link", {"speed": "1"}, "--rate, --network"),
        ("clock-skew", {"to": "noon"}, "options of this fault: --by"),
        ("degrading-host", {"per_second": "1"}, "no option --per-second"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_before_any_lab_is_looked_for(kind, options, said):
    """With what there is instead."""
    with pytest.raises(WrightError, match=re.compile(said, re.DOTALL)):
        faults.fault("no-such-lab", kind, "gpu-node1", **options)


@pytest.mark.parametrize("by", ["noon", "--5s", "10"])
def test_a_clock_is_off_by_a_time_with_its_unit(by):
    """What is no duration is refused before anything is noted; a minus is a clock that is behind."""
    skew = faults.kinds()["clock-skew"]

    with pytest.raises(WrightError, match=r"lab-fault-option.*--by"):
        skew.refuse(None, None, {"by": by})
    skew.refuse(None, None, {"by": "-1h30m"})


@pytest.mark.parametrize(
    "kind", ["degrading-host", "degrading-link", "degrading-disk", "memory-leak", "gpu-heating"]
)
def test_a_gradual_fault_has_a_rate_of_change_and_is_in_the_list(kind):
    """Each names how much it changes a minute, and its page has the default."""
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "lab.md").read_text()

    assert "per-minute" in faults.kinds()[kind].OPTIONS
    assert f"| `{kind} HOST" in page


@pytest.mark.parametrize("text", ["0", "101", "-1", "5%", "1.5", "", "x"])
@pytest.mark.parametrize("option", ["per-minute", "percent"])
def test_a_percentage_out_of_its_range_is_refused(option, text):
    """The range is in the fix."""
    with pytest.raises(
        WrightError, match=re.compile(rf"lab-fault-option.*--{option}.*from 1 to 100", re.DOTALL)
    ):
        falling_percent({option: text}, 0)


def test_what_is_left_falls_to_the_lowest():
    """A tenth a minute, to a fifth, unless the options say otherwise."""
    assert falling_percent({}, 0) == (100.0, 20)
    assert falling_percent({}, 2.5)[0] == 75.0
    assert falling_percent({"per-minute": "30", "percent": "50"}, 1)[0] == 70.0
    assert falling_percent({"per-minute": "30", "percent": "50"}, 2)[0] == 50.0


@pytest.mark.parametrize(
    ("option", "text", "fix"),
    [
        ("per-minute", "5", "e.g. --per-minute 256MiB"),
        ("per-minute", "1KiB", "from 1MiB to 8GiB"),
        ("most", "100TiB", "from 16MiB to 64GiB"),
        ("most", "64GiB", "set --most to a smaller size"),
    ],
)
def test_a_leak_that_would_hurt_the_machine_is_refused(option, text, fix, monkeypatch):
    """The machine has 8 GiB left, of which a leak gets a half."""
    leak = faults.kinds()["memory-leak"]
    monkeypatch.setattr(leak, "_available_bytes", lambda: 8 << 30)

    with pytest.raises(WrightError, match=re.compile(f"lab-fault-option.*{fix}", re.DOTALL)):
        leak.refuse(None, None, {option: text})
    leak.refuse(None, None, {})


def test_links_are_those_of_the_network_named_or_all(planned):
    """A network that the host is not on is refused."""
    host = planned.host("gpu-node1")

    assert [link.network for link in faults.links(host, {})] == ["management", "compute"]
    assert [link.network for link in faults.links(host, {"network": "compute"})] == ["compute"]
    with pytest.raises(WrightError, match="lab-unknown-network"):
        faults.links(planned.host("control"), {"network": "compute"})
