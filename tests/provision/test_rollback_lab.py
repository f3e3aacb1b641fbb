"""Back to before an apply on real hosts, under a running job."""

import pytest

from clusterwright.provision.rollback import rollback, undoable

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

CHANGE = {
    "slurm.kill_wait": "45s",
    "slurm.ports": [60001, 62000],
    "monitoring": {"node_exporter": False},
    "users.dora": {"uid": 6004, "team": "vision"},
}


def back(site, **options):
    """A rollback of the newest apply."""
    return rollback(site.cluster, str(site.file), site.remote, **options)


def test_hosts_go_back_byte_for_byte_and_jobs_go_on(site):
    """Files, rights and units as before; the account stays and is named; and forth again, by undoing the undo."""
    site.apply()
    job = site.sh("control", "sbatch --parsable -N1 -D /tmp --wrap 'sleep 300'").strip()
    before = {host.host: site.state(host.host) for host in site.apply().hosts}
    changed = site.apply(CHANGE)
    after = {host: site.state(host) for host in before}
    shown = back(site, dry_run=True)
    done = back(site)
    then = {host: site.state(host) for host in before}
    again = back(site)
    forth = {host: site.state(host) for host in before}
    running = site.sh("control", f"squeue --noheader --job {job} --format=%T; scancel {job}").split()

    assert changed.ok
    assert changed.changed > 0
    assert (shown.dry, shown.changed, shown.pending) == (True, 0, done.changed)
    assert (done.ok, again.ok, running) == (True, True, ["RUNNING"])
    assert any("user:dora" in note for _hosts, note in done.notes())
    for host, state in then.items():
        assert state | {"people": 0, "on old files": 0} == before[host] | {"people": 0, "on old files": 0}, (
            host
        )
        assert "dora" in state["people"]
        assert forth[host] | {"on old files": 0} == after[host] | {"on old files": 0}, host


def test_applies_that_can_be_undone_are_told_by_the_hosts(site):
    """The newest first, with its hosts; a rollback is one of them."""
    site.apply({"slurm.kill_wait": "50s"}, only=("control", "gpu-node1"))
    back(site)
    listed = undoable(site.cluster, str(site.file), site.remote)
    newest, last = listed.applies[:2]

    assert listed.failed == ()
    assert (newest.to, newest.hosts) == (last.when, "control,gpu-node1")
    assert (last.to, last.hosts) == ("", "control,gpu-node1")
