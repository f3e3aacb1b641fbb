"""Faults planted one at a time on real hosts: each is found under its own name, on its host and its part.

The faults are data: `campaign/*.toml`, whose fields `campaign/README.md` explains.
"""

import re
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.check import run
from clusterwright.check.registry import all_checks
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster
from clusterwright.lab import kernel_messages, state
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.render.slurm_conf import PROGRAMS

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

TABLES = ("disk", "gpu", "host", "link", "slurm", "time", "version")
KINDS = 40  # what the campaign has promised to hold, at least
CLEAN_HOSTS, CLEAN_LOOKS = 8, 20
PATIENCE_S = 120  # a busy machine, and daemons that have to find each other again
COUNTED = {"link_errors"}  # judged by growth: a boot, as some faults end in, takes the reading before with it
SLOW = {"torch_imports"}  # 2 s of processor a host: asked where it is the point
ALL = tuple(each.id for each in all_checks())
QUICK = tuple(name for name in ALL if name not in SLOW)


@dataclass(frozen=True)
class Fault:
    """One row of a table."""

    host: str
    check: str
    fix: str = ""
    damage: str = ""
    undo: str = ""
    fault: str = ""
    options: dict[str, str] = field(default_factory=dict)
    kernel: str = ""
    reboot: bool = False
    slow: bool = False
    subject: str = ""
    part: str = ""
    status: Status = Status.FAIL
    also: tuple[str, ...] = ()

    @property
    def where(self):
        """What the verdict on it has to say."""
        return self.check, self.subject or self.host, self.part, Status(self.status)

    @property
    def checks(self):
        """The check that names it, and those that may see what follows from it."""
        return {self.check, *(name for name in ALL if self.allows(name))}

    def allows(self, check):
        """Whether a check may see what follows from it, on any host."""
        return any(fnmatch(check, pattern) for pattern in self.also)

    def drains(self, verdict):
        """The health program, which looks every five minutes, may have looked while the fault was there."""
        words = ("drained by the host's health check program", "in spite of a fault")
        return (
            verdict.check == "node_states"
            and verdict.subject == self.host
            and any(w in verdict.observed for w in words)
        )

    def is_all_of(self, found):
        """It is found, and all else that is told follows from it."""
        told = [v for v in found if not self.allows(v.check) and not self.drains(v)]
        own = {(v.check, v.subject) for v in told} - {self.where[:2]}
        return any(at(v) == self.where for v in found) and not own


FAULTS = {
    f"{table}-{name}": Fault(**row)
    for table in TABLES
    for name, row in tomllib.loads((Path(__file__).parent / f"campaign/{table}.toml").read_text()).items()
}


def plant(site, fault):
    """The damage is done."""
    if fault.fault:
        lab.fault(site.cluster.name, fault.fault, fault.host, **fault.options)
    if fault.kernel:
        journal = state.require(site.cluster.name)
        kernel_messages.write_kernel_message(journal, journal.layout.host(fault.host), fault.kernel)
    if fault.damage:
        site.sh(fault.host, fault.damage)


def fix(site, fault):
    """What the fix says is done: the host's own way back, the lab's, or a boot."""
    if fault.undo:
        site.sh(fault.host, fault.undo)
    if fault.fault:
        lab.undo(site.cluster.name, fault.host)
    if fault.kernel or fault.reboot:
        lab.fault(site.cluster.name, "reboot-host", fault.host)
    site.remote.run(fault.host, f"{PROGRAMS}/health", timeout_s=60)  # gives back what it has drained


@contextmanager
def planted(site, fault):
    """The fault is there, and gone after."""
    try:
        plant(site, fault)
        yield
    finally:
        fix(site, fault)


def at(verdict):
    """Where a verdict points to."""
    return verdict.check, verdict.subject, verdict.part, verdict.status


def not_green(verdicts):
    """What needs a look. What timed out is the loaded machine's doing: it is unknown, and no alarm."""
    looked = (v for v in verdicts if v.status not in (Status.OK, Status.SKIPPED))
    return [
        v
        for v in looked
        if not (v.status is Status.UNKNOWN and re.search("exceeded its time limit|timed out", v.observed))
    ]


def look(site, content, only=QUICK):
    """What is not green, as soon as it is what we wait for, or when patience has an end."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found = not_green(run(site.cluster, site.remote, only=only))
        if content(found) or time.monotonic() > end:
            return found
        time.sleep(0.5)


@pytest.fixture(scope="module")
def calm(lab_cluster):
    """A lab on which every check is green, and whose counters have been read before."""
    assert look(lab_cluster, lambda found: not found) == []
    return lab_cluster


def test_the_campaign_is_as_large_as_promised():
    """Rows that differ in nothing but their name would count twice."""
    different = {repr(fault) for fault in FAULTS.values()}

    assert len(different) == len(FAULTS) >= KINDS


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_under_its_own_name(calm, name):
    """Host, part and severity are right, nothing else is told but its consequences, and its fix makes it well."""
    fault = FAULTS[name]
    if fault.check in COUNTED:
        assert look(calm, lambda found: not found, only=COUNTED) == []
    with planted(calm, fault):
        found = look(calm, fault.is_all_of, only=ALL if fault.slow else QUICK)
    after = look(calm, lambda found: not found, only=fault.checks)

    assert fault.is_all_of(found), found
    assert fault.fix in next(v.fix for v in found if at(v) == fault.where)
    assert after == []


@pytest.fixture(scope="module")
def clean(tmp_path_factory, lab_cluster):
    """Eight hosts in a lab of their own, applied; gone at the end."""
    file = tmp_path_factory.mktemp("clean") / "cluster.yaml"
    ours, theirs = lab_cluster.cluster.name, lab_cluster.file.read_text()
    text = theirs.replace("10.16", "10.17").replace(
        "[1-4]", f"[1-{CLEAN_HOSTS - 1}]"
    )  # beside tests/conftest.py's
    file.write_text(text.replace(f"name: {ours}\n", f"name: {ours}-clean\n"))
    cluster = load_cluster(file)
    try:
        lab.up(cluster)
        remote = remote_of(cluster)
        assert not apply(cluster, str(file), remote).failed
        yield type(lab_cluster)(file, cluster, remote)
    finally:
        assert lab.down(cluster.name) == []


@pytest.mark.timeout(1800)  # two minutes where nothing else runs
@pytest.mark.long
def test_a_clean_lab_of_eight_hosts_raises_no_alarm(clean):
    """Twenty looks, and nothing to be told in any of them."""
    assert len(clean.cluster.hosts()) == CLEAN_HOSTS
    assert look(clean, lambda found: not found) == []

    found = [not_green(run(clean.cluster, clean.remote, only=QUICK)) for _ in range(CLEAN_LOOKS)]

    assert [each for each in found if each] == []
