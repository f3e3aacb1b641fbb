"""Hosts with troubles of their own: each named with its fix, the rest of the cluster finished, all fixed after."""

import pytest

from clusterwright import lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

CHANGE = {"slurm.kill_wait": "55s"}

# A virtual host has its machine's clock, and the machine one Python: what our own program sees of them is changed.
PYTHON = """cat > /usr/local/bin/python3 <<'END'
#!/bin/sh
[ "$1" = -c ] || exec /usr/bin/python3 "$@"
text=$2
shift 2
exec /usr/bin/python3 -c "{prelude}
$text" "$@"
END
chmod +x /usr/local/bin/python3"""
PYTHON_AS_IT_WAS = "rm -f /usr/local/bin/python3"
AHEAD = "import time; ours = time.time; time.time = lambda: ours() + 600"
OLD = "import sys; sys.version_info = (3, 5, 2)"

BUSY = (
    "setsid flock -x /var/lib/clusterwright/lock sleep 60 </dev/null >/dev/null 2>&1 & sleep 0.3",
    "pkill -x sleep || true",
)
ANOTHER_SYSTEM = (
    "printf 'ID=ubuntu\\nVERSION_ID=20.04\\n' > /run/system && mount --bind /run/system /usr/lib/os-release",
    "umount /usr/lib/os-release",
)
READ_ONLY = ("mount --bind /etc /etc && mount -o remount,bind,ro /etc", "umount /etc")


def kill_wait(site):
    """What each host's slurm.conf says."""
    hosts = [host.name for host in site.cluster.hosts()]
    return {host: site.sh(host, "grep ^KillWait= /etc/slurm/slurm.conf").strip()[9:] for host in hosts}


@pytest.fixture
def troubled(site):
    """Brings troubles over hosts, and takes all of them back."""
    undo = []

    def trouble(host, there, back):
        undo.append((host, back))
        site.sh(host, there)

    yield trouble
    for host, back in undo:
        site.sh(host, back)
    lab.undo(site.name)


def test_each_trouble_is_named_and_the_others_are_finished(site, troubled):
    """A lock, a full disk, another system, a read-only file system: four hosts of five, and the fifth is done."""
    site.apply()
    troubled("gpu-node1", *BUSY)
    lab.fault(site.name, "fill-disk", "gpu-node2")
    troubled("gpu-node3", *ANOTHER_SYSTEM)
    troubled("gpu-node4", *READ_ONLY)
    report = site.apply(CHANGE)
    said = {host.host: host.error for host in report.hosts if host.error}
    values = kill_wait(site)

    assert not report.ok
    assert sorted(said) == ["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]
    assert "another apply is running on this host" in said["gpu-node1"]
    assert "full" in said["gpu-node2"]
    assert "df -h" in said["gpu-node2"]
    assert (
        "the host runs ubuntu-20.04, the cluster file declares debian-12: nothing was changed"
        in said["gpu-node3"]
    )
    assert "Read-only file system" in said["gpu-node4"]
    assert {host.fault_domain for host in report.failed} == {"host"}
    assert values == {"control": "55"} | dict.fromkeys(said, "30")


def test_an_old_python_and_a_wrong_clock_are_named(site, troubled):
    """Nothing is done where our program cannot run; a clock off by ten minutes is an error of its host alone."""
    site.apply()
    troubled("gpu-node1", PYTHON.format(prelude=AHEAD), PYTHON_AS_IT_WAS)
    troubled("gpu-node2", PYTHON.format(prelude=OLD), PYTHON_AS_IT_WAS)
    report = site.apply(CHANGE)
    said = {host.host: host.error for host in report.hosts if host.error}
    values = kill_wait(site)

    assert sorted(said) == ["gpu-node1", "gpu-node2"]
    assert said["gpu-node1"].startswith(
        "the host's clock is 10 min ahead; munge rejects offsets above 5 minutes"
    )
    assert "python3 is older than 3.6 here" in said["gpu-node2"]
    assert values == dict.fromkeys(values, "55") | {"gpu-node2": "30"}


def test_what_was_left_undone_is_done_when_the_trouble_is_over(site):
    """The same command again, on that host alone."""
    site.apply()
    lab.fault(site.name, "fill-disk", "gpu-node2")
    first = site.apply(CHANGE)
    lab.undo(site.name)
    second = site.apply(CHANGE)

    assert [host.host for host in first.failed] == ["gpu-node2"]
    assert ([host.host for host in second.hosts if host.changes], second.ok) == (["gpu-node2"], True)
    assert site.apply(CHANGE, dry_run=True).pending == 0
