"""What a look at the hosts found, folded."""

from clusterwright.config.field import Cost
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.change.drift import drift
from clusterwright.provision.report import Change, ChangeReport, HostReport


def change(name, cause, cost=Cost.LIVE, diff=""):
    """One change of that cause."""
    return Change(name, "rewrite", diff, cost, (Verb.REWRITE,), drift=cause)


EDITED = change("file:/etc/a", "edited", Cost.RESTART, "-a\n+b")
FILE = change("file:/etc/b", "changed", Cost.RECONFIGURE)


def of(**hosts):
    """A look at hosts with these changes; None was not reached, a text failed."""
    reports = [
        HostReport(name, reached=False, error="no route")
        if found is None
        else HostReport(name, error=found)
        if isinstance(found, str)
        else HostReport(name, tuple(found))
        for name, found in hosts.items()
    ]
    return drift(ChangeReport(tuple(reports), dry=True))


def test_hosts_with_the_same_difference_are_one_row():
    """What somebody did by hand comes first; another diff is another row."""
    other = change("file:/etc/a", "edited", Cost.RESTART, "-a\n+c")
    found = of(a1=[FILE, EDITED], a2=[FILE, EDITED], a3=[other], a4=[])

    assert [(row.hosts, row.id, row.cause) for row in found.rows] == [
        ("a[1-2]", "file:/etc/a", "edited"),
        ("a3", "file:/etc/a", "edited"),
        ("a[1-2]", "file:/etc/b", "changed"),
    ]
    assert (found.in_sync, found.changed_manually, found.changed_in_file) == ("a4", "a[1-3]", "a[1-2]")
    assert (found.cost, found.differs) == (Cost.RESTART, True)


def test_a_host_that_was_not_seen_is_neither_as_wanted_nor_different():
    """It is named; nothing is claimed about it."""
    found = of(a1=None, a2="disk full", a3=[])

    assert (found.in_sync, found.unreached, found.failed) == ("a3", "a1", (("a2", "disk full"),))
    assert not found.differs


def test_the_cost_is_the_dearest_of_all():
    """And live when there is nothing to do."""
    assert of(a1=[]).cost is Cost.LIVE
    assert of(a1=[EDITED], a2=[change("file:/etc/c", "new", Cost.DRAIN)]).cost is Cost.DRAIN
