"""An apply that is killed, at any moment and on either side: the next one ends as if nothing had been."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.lab import state

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

# Each brings files, a unit, an account and a restart that the other has not.
ONE = {}
OTHER = {
    "slurm.ports": [60001, 62000],
    "slurm.kill_wait": "45s",
    "monitoring": {"node_exporter": False},
    "users.carol": {"uid": 6003, "team": "vision"},
}
HOSTS = ("control", "gpu-node1", "gpu-node2")
SEED = int(os.environ.get("WRIGHT_TEST_SEED", "4"))

# What `wright apply` does, on some hosts alone.
APPLY = """
import sys
from pathlib import Path
from clusterwright.provision.apply import apply, remote_of
from clusterwright.config.load import load_cluster
cluster = load_cluster(Path(sys.argv[1]))
print("begin", flush=True)
apply(cluster, sys.argv[1], remote_of(cluster), only=sys.argv[2:])
"""


@pytest.fixture(scope="module")
def told():
    """What was done when, for the message of a failure."""
    lines = [f"seed {SEED}"]
    yield lines
    sys.stderr.write("\n".join(lines) + "\n")


def begin(site, changes):
    """An apply in a process of its own, once it has read the file."""
    site.write(changes)
    process = subprocess.Popen(
        [sys.executable, "-c", APPLY, str(site.file), *HOSTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process.stdout:
        assert process.stdout.readline() == b"begin\n"
    return process


def parents():
    """The parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def kill_here(process):
    """The apply and every ssh that it started; what runs on the hosts goes on."""
    family, tree = {process.pid}, parents()
    while more := {pid for pid, parent in tree.items() if parent in family} - family:
        family |= more
    end(family)
    process.wait()


def kill_there(site):
    """The agents on the hosts, as the kernel would that is out of memory; here ssh sees them gone."""
    spaces = {
        Path(f"/run/netns/{host.namespace}").stat().st_ino for host in state.require(site.name).layout.hosts
    }
    found = set()
    for pid in parents():
        try:
            ours = Path(f"/proc/{pid}/ns/net").stat().st_ino in spaces
            words = Path(f"/proc/{pid}/cmdline").read_bytes() if ours else b""
        except OSError:  # gone, or the kernel's own
            continue
        program, _, rest = words.partition(b"\0")
        if b"python" in program and b"types.ModuleType" in rest:
            found.add(pid)
    end(found)


def end(pids):
    """SIGKILL, to those that are still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def states(site):
    """What is on the hosts now."""
    return {host: site.state(host) for host in HOSTS}


def undisturbed(site):
    """How each of the two files looks on the hosts when nothing goes wrong, and how long an apply takes."""
    found, seconds = [], []
    for changes in (OTHER, ONE):
        report = site.apply(changes, only=HOSTS)
        assert report.ok, report
        seconds.append(report.seconds)
        found.append((changes, states(site)))
    return found, max(seconds)


@pytest.mark.parametrize(("kills", "cuts"), [(4, 1), pytest.param(20, 2, marks=pytest.mark.long)])
def test_the_next_apply_ends_in_the_same_state(site, told, kills, cuts):
    """Kills of the apply with its ssh or of the agents, and hosts cut off in the middle: byte for byte."""
    chance = random.Random(SEED)
    wanted, seconds = undisturbed(site)
    ways = ["here", "there"] * (kills // 2) + ["cut"] * cuts
    chance.shuffle(ways)
    for number, way in enumerate(ways):
        changes, expected = wanted[number % 2]
        moment = chance.uniform(0, seconds)
        told.append(f"{number}: {way} after {moment:.2f} s of {seconds:.1f}")
        process = begin(site, changes)
        time.sleep(moment)
        if way == "here":
            kill_here(process)
        elif way == "there":
            kill_there(site)
            process.wait(timeout=120)
        else:
            lab.fault(site.name, "link-down", "gpu-node1")
            process.wait(timeout=120)
            lab.undo(site.name, "gpu-node1")
        report = site.apply(changes, only=HOSTS)

        assert report.ok, (told, [host.error for host in report.hosts])
        assert states(site) == expected, told
    assert site.apply(changes, only=HOSTS, dry_run=True).pending == 0, told
