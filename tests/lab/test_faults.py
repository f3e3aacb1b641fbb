"""Faults by name."""

import re

import pytest

from clusterwright.errors import WrightError
from clusterwright.lab import faults


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
        ("zzz", {}, "lab-unknown-fault.*name one of: .*link-down"),
        ("kill-host", {"network": "compute"}, "lab-fault-option.*options of this fault: none"),
        ("slow-link", {"speed": "1"}, "--rate, --network"),
        ("clock-skew", {"to": "noon"}, "options of this fault: --by"),
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


def test_links_are_those_of_the_network_named_or_all(planned):
    """A network that the host is not on is refused."""
    host = planned.host("gpu-node1")

    assert [link.network for link in faults.links(host, {})] == ["management", "compute"]
    assert [link.network for link in faults.links(host, {"network": "compute"})] == ["compute"]
    with pytest.raises(WrightError, match="lab-unknown-network"):
        faults.links(planned.host("control"), {"network": "compute"})
