"""The driver of eight hosts is upgraded under a queue of jobs, from a repository by real apt, with real reboots."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.cli.apply import boot_checker
from clusterwright.config.load import load_cluster
from clusterwright.lab import state
from clusterwright.lab.able import able
from clusterwright.lab.packages import lab as served
from clusterwright.lab.packages import repository
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.carry import DisruptionPolicy

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-nvidia", "10.221."
MISSING = able()
OLD, NEW, WITHOUT_FABRIC = "580.65.06", "580.95.05", "580.105.08"
SOFTWARE = {
    "driver": OLD,
    "cuda": "12.8.0",
    "cudnn": "9.8.0",
    "nccl": "2.26.2",
    "nvidia": {"fabric_manager": "always", "dcgm": "4.4.1", "container_toolkit": "1.17.8"},
}
HOSTS = [f"gpu-node{number}" for number in range(1, 9)]
UNITS = ("nvidia-persistenced", "nvidia-fabricmanager", "nvidia-dcgm", "clusterwright-cdi")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """Eight hosts of two simulated GPUs each, and their file."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.software = SOFTWARE
        self.write()
        self.remote = remote_of(self.cluster)

    def write(self, **software):
        """The file has this software beside, or in place of, what it had at first; other values by name."""
        text = EXAMPLE.read_text().replace("10.77.", SUBNETS).replace("name: lab\n", f"name: {NAME}\n")
        text = text.replace("gpu-node[1-4]", "gpu-node[1-8]").replace(
            "model: a100, count: 4", "model: a100, count: 2"
        )
        yaml = YAML()
        document = yaml.load(text)
        document["system"] = {"journal": software.pop("journal", "1GiB")}
        document["software"] = self.software | software
        yaml.dump(document, self.file)
        self.cluster = load_cluster(self.file)

    def apply(self, **options):
        """With these options of `DisruptionPolicy`, on all hosts or `only` some."""
        only = options.pop("only", None)
        said = options.setdefault("on_progress", lambda _words: None)
        care = DisruptionPolicy(
            **{"health_check": boot_checker(self.cluster, self.remote), "wait_s": 300, "on_progress": said}
            | options
        )
        return apply(self.cluster, str(self.file), self.remote, only=only, policy=care)

    def sh(self, host, command, *, timeout_s=60):
        """What a command on a host printed; fails with what it said when it failed."""
        done = self.remote.run(host, command, timeout_s=timeout_s)
        assert done.ok, f"{host}: {command}: {done.code}: {done.last_lines(20)}"
        return done.out

    def versions(self, package="nvidia-driver-cuda", hosts=HOSTS):
        """What is installed where, as NVIDIA counts."""
        form = f"dpkg-query --show --showformat '${{Version}}' {package}"
        return {host: self.sh(host, form).partition("-")[0] for host in hosts}

    def states(self):
        """Hosts with what Slurm says of them, and why."""
        rows = self.sh("control", "sinfo --noheader --Node --format='%N|%T|%E'").splitlines()
        return {row.split("|")[0]: (row.split("|")[1], row.split("|")[2]) for row in rows}

    def out(self):
        """Hosts that take no jobs at this moment."""
        return {
            host
            for host, (state_, _why) in self.states().items()
            if state_.rstrip("*").startswith(("drain", "down", "inval"))
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Up and applied; on one host somebody has put an NCCL of his own before, and held it. Gone at the end."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            own = "libnccl2=2.26.2-1+cuda12.8"
            site.sh(
                "gpu-node8", f"apt-get update >/dev/null; apt-get install -y {own}; apt-mark hold libnccl2"
            )
            report = site.apply()
            assert report.ok, [(host.host, host.error) for host in report.hosts if not host.ok]
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@contextmanager
def watched(site):
    """How many hosts took no jobs, several times a second, while something goes on."""
    seen, over = [], threading.Event()

    def watch():
        while not over.is_set():
            seen.append(site.out())
            time.sleep(0.3)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


JOB = "echo start >> /shared/ran/$SLURM_JOB_ID; sleep {s}; echo end >> /shared/ran/$SLURM_JOB_ID"


def submit(site, number, hosts, seconds, requeue):
    """Ids of so many jobs."""
    words = f"sbatch --parsable -N{hosts} --gres=gpu:2 --{requeue} -D /shared -o /dev/null -t 30"
    line = f"{words} --wrap '{JOB.format(s=seconds)}'"
    return site.sh("control", f"for i in $(seq {number}); do {line}; done").split()


@dataclass(frozen=True)
class Upgrade:
    """One that was made under a queue, and what was seen of it."""

    report: object
    again: object
    said: list
    out: list
    jobs: dict
    runs: dict
    boots: tuple


@pytest.fixture(scope="module")
def upgraded(site):
    """Twenty jobs, more than fit at once; half of them may be requeued. Then a second apply."""
    site.write()
    assert site.apply(reboot=True).ok
    site.sh("control", "rm -rf /shared/ran; mkdir -m 1777 /shared/ran")
    jobs = submit(site, 5, 2, 12, "requeue") + submit(site, 5, 2, 12, "no-requeue")
    jobs += submit(site, 5, 1, 8, "no-requeue") + submit(site, 5, 1, 8, "requeue")
    before = boots(site)
    said = []
    site.write(driver=NEW)
    with watched(site) as seen:
        report = site.apply(reboot=True, batch="2", on_progress=said.append)
    end = time.monotonic() + 240
    while site.sh("control", "squeue --noheader"):
        assert time.monotonic() < end, site.sh("control", "squeue; sinfo -R")
        time.sleep(1)
    rows = site.sh(
        "control", "sleep 2; sacct --allusers --allocations --noheader --parsable2 --format=jobid,state"
    )
    states_ = dict(row.split("|") for row in rows.splitlines())
    runs = {job: site.sh("control", f"cat /shared/ran/{job}").split() for job in jobs}
    again = site.apply(reboot=True, batch="2")
    kept = {job: states_.get(job) for job in jobs}
    return Upgrade(report, again, said, seen, kept, runs, (before, boots(site)))


def boots(site):
    """The boot id of every compute host."""
    return {host: site.sh(host, "cat /proc/sys/kernel/random/boot_id").strip() for host in HOSTS}


def test_an_upgrade_of_the_driver_loses_no_job(site, upgraded):
    """Each ran once, from its start to its end; every host has the new driver loaded, and its daemons."""
    before, after = upgraded.boots
    loaded = {
        host: site.sh(host, "nvidia-smi --query-gpu=driver_version --format=csv,noheader") for host in HOSTS
    }

    assert upgraded.report.ok, [(host.host, host.error) for host in upgraded.report.hosts if host.error]
    assert upgraded.jobs == dict.fromkeys(upgraded.jobs, "COMPLETED")
    assert {tuple(lines) for lines in upgraded.runs.values()} == {("start", "end")}
    assert all(before[host] != after[host] for host in HOSTS)
    assert {line for text in loaded.values() for line in text.splitlines() if line[0].isdigit()} == {NEW}
    assert set(site.versions().values()) == set(site.versions("nvidia-fabricmanager-580").values()) == {NEW}
    for host in HOSTS:
        assert site.sh(host, f"systemctl is-active {' '.join(UNITS)}").split() == ["active"] * len(UNITS)


def test_never_more_hosts_are_out_than_a_batch(upgraded):
    """Looked at three times a second, by what slurmctld says."""
    assert len(upgraded.out) > 50
    assert max(map(len, upgraded.out)) == 2


def test_each_host_is_drained_changed_rebooted_checked_and_given_back(upgraded):
    """In that order, as the apply itself tells it; nobody's words are there twice."""
    from clusterwright.config.names import expand

    order = {host: [] for host in HOSTS}
    for line in upgraded.said:
        hosts, _, words = line.partition(": ")
        if "waiting for jobs" not in line:
            for host in expand(hosts):
                order[host].append(words.partition(",")[0].partition(" after ")[0])

    steps = ("drained", "rebooting", "back", "checked", "back in service")
    assert set(map(tuple, order.values())) == {steps}
    changed = [host for host in upgraded.report.hosts if host.host in HOSTS]
    assert all(change.applied for host in changed for change in host.changes)


def test_a_second_apply_changes_nothing_and_restarts_nothing(upgraded):
    """Nobody is drained for it either."""
    assert (upgraded.again.ok, upgraded.again.pending, upgraded.again.restarts) == (True, 0, 0), (
        upgraded.again
    )


def errors(report):
    """By host."""
    return {host.host: host.error for host in report.hosts if host.error}


def test_without_leave_to_reboot_the_change_is_left_out_and_named(site, upgraded):
    """Also with --drain; nothing was drained for it."""
    site.write(driver=OLD)
    report = site.apply(drain=True, only={"gpu-node1"})
    site.write(driver=NEW)

    [left] = report.left_out
    assert "a reboot is required for package:nvidia-kernel-open-dkms" in left.left_out
    assert "pass --reboot" in left.left_out
    assert site.out() == set()


@pytest.mark.long
def test_what_was_cut_short_before_the_reboot_is_owed_by_the_next_apply(site, upgraded):
    """Ctrl-C when the packages are there and the host is not booted: named without leave to reboot, done with it."""

    def interrupt(words):
        if "rebooting" in words:
            raise KeyboardInterrupt

    site.write(driver=OLD)
    before = boots(site)["gpu-node1"]
    with pytest.raises(KeyboardInterrupt):
        site.apply(reboot=True, only={"gpu-node1"}, on_progress=interrupt)
    cut = site.out()
    named = site.apply(drain=True, only={"gpu-node1"})
    still = (site.out(), boots(site)["gpu-node1"])
    ended = site.apply(reboot=True, only={"gpu-node1"})
    again = site.apply(only={"gpu-node1"})
    after = (site.out(), boots(site)["gpu-node1"] == before)
    site.write(driver=NEW)
    back = site.apply(reboot=True, only={"gpu-node1"})

    assert cut == {"gpu-node1"}
    assert "wait for a reboot" in named.left_out[0].left_out
    assert still == ({"gpu-node1"}, before)
    assert (ended.ok, ended.left_out, again.pending, again.left_out) == (True, (), 0, ()), ended
    assert after == (set(), False)
    assert back.ok, errors(back)


@pytest.mark.long
def test_a_host_that_does_not_come_back_stays_drained_and_stops_the_others(site, upgraded):
    """Slurm shows why; the batch behind it is not begun; once it is back, the next apply ends what was owed."""

    def cut(words):
        if words == "gpu-node3: rebooting":
            lab.fault(NAME, "kill-host", "gpu-node3")

    site.write(driver=OLD)
    two = {"gpu-node3", "gpu-node4"}
    report = site.apply(reboot=True, batch="1", only=two, on_progress=cut, boot_s=15)
    seen, versions = site.states(), site.versions(hosts=["gpu-node4"])
    lab.undo(NAME, "gpu-node3")
    site.write(driver=NEW)
    back = site.apply(reboot=True, only=two)

    assert (
        "the host did not respond within 15 s of its reboot: check its console" in errors(report)["gpu-node3"]
    )
    assert [host.left_out for host in report.left_out] == [
        "not started, because the change failed on gpu-node3"
    ]
    assert seen["gpu-node3"][1].startswith("wright: apply")
    assert "the host did not respond" in seen["gpu-node3"][1]
    assert versions == {"gpu-node4": NEW}
    assert back.ok, errors(back)
    assert site.out() == set()


@pytest.mark.long
def test_a_fabric_manager_of_another_version_is_not_taken(site, upgraded):
    """The repository has the driver and no fabric manager of it: both stay, no host was drained, the rest is done."""
    site.write(driver=WITHOUT_FABRIC, journal="900MiB")
    said = []
    report = site.apply(reboot=True, batch="4", on_progress=said.append)
    journal = {host: site.sh(host, "cat /etc/systemd/journald.conf.d/*") for host in HOSTS}
    site.write()
    site.write(driver=NEW)
    back = site.apply()

    assert set(errors(report)) == set(HOSTS)
    for words in errors(report).values():
        assert (
            f"no repository has version {WITHOUT_FABRIC} of nvidia-fabricmanager-580 (available: {NEW}-1, {OLD}-1)"
            in words
        )
        assert "set a version that the repository has" in words
    assert not [line for line in said if "drained" in line]
    assert set(site.versions().values()) == {NEW}
    assert all("900M" in text for text in journal.values())
    assert back.ok, errors(back)


@pytest.mark.long
def test_a_repository_that_is_not_reached_is_named_and_the_rest_is_done(site, upgraded):
    """No host is drained for packages that do not come; when it answers again, the next apply brings them."""
    site.write(driver=NEW, cuda="12.8.1", journal="800MiB")
    served.stop(state.require(NAME))
    said = []
    report = site.apply(drain=True, on_progress=said.append)
    journal = site.sh("gpu-node5", "cat /etc/systemd/journald.conf.d/*")
    served.serve(state.require(NAME))
    time.sleep(1)
    back = site.apply(drain=True)

    assert set(errors(report)) == set(HOSTS)
    assert all("Failed to fetch http://10.221.0." in words for words in errors(report).values()), errors(
        report
    )
    assert all("check the route to the repository" in words for words in errors(report).values())
    assert not [line for line in said if "drained" in line]
    assert "800M" in journal
    assert back.ok, errors(back)
    assert set(site.versions("cuda-toolkit-12-8").values()) == {"12.8.1"}


def test_packages_that_another_key_signed_are_not_taken(site, upgraded, tmp_path):
    """A host without lists of before learns nothing from it; the fix is where the key belongs."""
    here = state.require(NAME)
    site.write(driver=NEW, cudnn="9.10.2")
    other = tmp_path / "other"
    repository.make_key(other)
    repository.sign(served.folder(here), other)
    site.sh("gpu-node6", "rm -rf /var/lib/apt/lists/*")
    report = site.apply(drain=True, only={"gpu-node6"})
    repository.sign(served.folder(here), served.home(here))
    back = site.apply(drain=True, only={"gpu-node6"})

    assert "no repository has version 9.10.2 of libcudnn9-cuda-12" in errors(report)["gpu-node6"]
    assert "signed by another key than the cluster file has" in errors(report)["gpu-node6"]
    assert back.ok, errors(back)


@pytest.mark.long
def test_what_somebody_holds_is_theirs_to_let_go(site, upgraded):
    """Others get the new one; on the host where it was held before us nothing moves until he lets go."""
    site.write(driver=NEW, nccl="2.27.3")
    two = {"gpu-node7", "gpu-node8"}
    report = site.apply(drain=True, only=two)
    held = site.versions("libnccl2", sorted(two))
    site.sh("gpu-node8", "apt-mark unhold libnccl2")
    back = site.apply(drain=True, only=two)

    assert set(errors(report)) == {"gpu-node8"}
    assert "libnccl2 is held at 2.26.2-1+cuda12.8 by hand" in errors(report)["gpu-node8"]
    assert "`apt-mark unhold libnccl2`" in errors(report)["gpu-node8"]
    assert held == {"gpu-node7": "2.27.3", "gpu-node8": "2.26.2"}
    assert back.ok, errors(back)
    assert set(site.versions("libnccl2", sorted(two)).values()) == {"2.27.3"}


def test_a_version_that_nobody_has_is_named_with_those_that_there_are(site, upgraded):
    """And which CUDA it was to be built for."""
    site.write(driver=NEW, nccl="2.99.1")
    report = site.apply(drain=True, only={"gpu-node2"})

    assert "no repository has version 2.99.1 built for cuda12 of libnccl2" in errors(report)["gpu-node2"]
    assert "2.27.3-1+cuda13.0" in errors(report)["gpu-node2"]
    assert site.out() == set()


@pytest.mark.long
def test_other_kernel_modules_take_the_place_of_those_that_are_there(site, upgraded):
    """Under another name, and held by us: no first install, but a change with its reboot; apt takes the old away."""
    one = {"gpu-node4"}
    nvidia = SOFTWARE["nvidia"] | {"kernel_modules": "proprietary"}
    site.write(driver=NEW, nvidia=nvidia)
    named = site.apply(drain=True, only=one)
    before = boots(site)["gpu-node4"]
    report = site.apply(reboot=True, only=one)
    there = site.sh(
        "gpu-node4", "dpkg-query --show --showformat '${db:Status-Status} ${Package}\\n' 'nvidia-kernel-*'"
    )
    site.write(driver=NEW)
    back = site.apply(reboot=True, only=one)

    assert "reboot is required for package:nvidia-kernel-dkms" in named.left_out[0].left_out
    assert report.ok, errors(report)
    assert "installed nvidia-kernel-dkms" in there.splitlines()
    assert "installed nvidia-kernel-open-dkms" not in there.splitlines()
    assert boots(site)["gpu-node4"] != before
    assert back.ok, errors(back)
