"""Reports: the same change of many hosts is one line."""

from clusterwright.config.field import Cost
from clusterwright.onhost.provision.change import Verb
from clusterwright.provision.report import Change, ChangeReport, HostReport


def report(*hosts):
    """A dry report over these."""
    return ChangeReport(hosts, dry=True)


def change(*verbs, cost=Cost.LIVE, applied=False):
    """One change of one file."""
    return Change("file:/etc/x", "words for a reader", "+a", cost, verbs or (Verb.REWRITE,), applied)


def test_equal_changes_are_folded_and_others_are_not():
    """By what they do, diff and cost."""
    found = report(
        HostReport("a1", (change(),)), HostReport("a2", (change(),)), HostReport("a3", (change(Verb.CREATE),))
    ).actions()

    assert [(action.hosts, action.verbs) for action in found] == [
        ("a[1-2]", (Verb.REWRITE,)),
        ("a3", (Verb.CREATE,)),
    ]


def test_only_what_ran_before_is_a_restart():
    """A first start is none, and neither is a restart that was not made."""
    units = (
        change(Verb.RESTART, applied=True),
        change(Verb.ENABLE, Verb.START, applied=True),
        change(Verb.RESTART),
    )

    assert HostReport("a1", units).restarts == 1


def test_an_enabled_unit_that_restarts_counts():
    """One change may enable and restart."""
    assert HostReport("a1", (change(Verb.ENABLE, Verb.RESTART, applied=True),)).restarts == 1


def test_a_drain_matters_only_where_jobs_run():
    """Hosts without a job can be changed at once."""
    drain = change(cost=Cost.DRAIN)
    found = report(
        HostReport("a1", (drain,), job_steps=2), HostReport("a2", (drain,)), HostReport("a3", job_steps=1)
    )

    assert found.draining() == ("a1",)


def test_a_note_of_many_hosts_is_one():
    """Not one line for each of a thousand."""
    found = report(HostReport("a1", notes=("n",)), HostReport("a2", notes=("n",)))

    assert found.notes() == (("a[1-2]", "n"),)
