"""The example cluster, altered where a test needs another, and what roles are given."""

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.provision.job_hooks import Hooks

from clusterwright.config.load import load_cluster
from clusterwright.provision.apply import apply
from clusterwright.provision.resources import RoleContext

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def cluster():
    """The five hosts of examples/lab."""
    return load_cluster(LAB)


@pytest.fixture
def altered(tmp_path):
    """The same file with other values, by dotted path; None takes one out."""

    def load(changes):
        yaml = YAML()
        document = yaml.load(LAB)
        for path, value in changes.items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            if value is None:
                del place[last]
            else:
                place[last] = value
        yaml.dump(document, tmp_path / "cluster.yaml")
        return load_cluster(tmp_path / "cluster.yaml")

    return load


@pytest.fixture
def real(altered):
    """The same hosts without the lab section: a production file."""
    return altered({"lab": None})


@pytest.fixture
def given():
    """A key that is no key, and one file of ours."""
    return RoleContext({"munge.key": bytes(range(256)) * 4}, {"clusterwright/__init__.py": "VALUE = 1\n"})


@pytest.fixture
def hooks(tmp_path):
    """The programs, and a host on which all is well."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o111)  # the user of a job goes through
    return Hooks(tmp_path)


BEAT = "while :; do date +%s.%N >> /shared/beats/{name}-$(hostname); sleep 1; done"


class Heart:
    """A user's job that writes the time every second on each of its hosts, and what became of it since.

    Beside it a process that is no job does the same: where both were silent, the machine was busy.
    """

    def __init__(self, run, hosts=2):
        """`run` is a command on a host that must end well."""
        self.run = run
        run("control", "rm -rf /shared/beats; mkdir -p /shared/beats; chmod 1777 /shared/beats")
        script = f"#!/bin/sh\nsrun sh -c '{BEAT.format(name='$SLURM_JOB_ID')}'\n"
        submit = f"cd /shared/beats && runuser -u bob -- sbatch --parsable -N{hosts} -t 60 -o /dev/null"
        self.job = run("control", submit, stdin=script.encode()).strip()
        self.until(lambda: len(self.beats()) == hosts and all(self.beats().values()))
        for host in self.beats():
            beside = BEAT.format(name="beside")
            run(host, f"setsid nohup timeout 900 sh -c '{beside}' >/dev/null 2>&1 </dev/null &")
        self.before = self.processes()

    def until(self, true, limit_s=150):
        """Wait for it."""
        end = time.monotonic() + limit_s
        while not true():
            assert time.monotonic() < end, self.run("control", f"scontrol show job {self.job}")
            time.sleep(0.5)

    def beats(self, name=""):
        """Seconds by host, in the order of writing; `beside` for the process that is no job."""
        said = self.run("control", f"cd /shared/beats && grep -H . {name or self.job}-* || true").split()
        found = {}
        for line in said:
            file, _, at = line.partition(":")
            found.setdefault(file.partition("-")[2], []).append(float(at))
        return found

    def processes(self):
        """The first of the job's own processes, by host."""
        find = "pgrep -u bob -f 'date .*beats/.SLURM_JOB_ID' | sort -n | head -n 1"
        return {host: self.run(host, find).split() for host in sorted(self.beats())}

    def silences(self, gap_s):
        """Longer ones of the job, and than twice the longest of the process beside it on that host."""
        now, beside = float(self.run("control", "date +%s.%N")), self.beats("beside")
        load = {host: max((b - a for a, b in pairwise(at)), default=0) for host, at in beside.items()}
        return [
            f"{host}: no beat for {b - a:.1f} s, beside it for {load[host]:.1f} s"
            for host, beats in self.beats().items()
            for a, b in pairwise([*beats, now])
            if b - a > max(gap_s, 2 * load[host])
        ]

    def faults(self, gap_s=3):
        """What a change did to the job: nothing, if all is well."""
        state = self.run("control", f"squeue --noheader --job={self.job} --format='%T %r'").split()
        found = [] if state == ["RUNNING", "None"] else [f"job {self.job} is {state}"]
        now = self.processes()
        return (
            found
            + self.silences(gap_s)
            + ([] if now == self.before else [f"processes {self.before} -> {now}"])
        )

    def end(self):
        """The job is over."""
        self.run("control", f"scancel {self.job}; true")
        gone = f"squeue --noheader --job={self.job} --states=R,CG 2>/dev/null || true"
        self.until(lambda: not self.run("control", gone).strip())


@pytest.fixture(scope="session")
def heart():
    """Starts a job with a heartbeat."""
    return Heart


class Site:
    """The lab that all tests share, and its file with other values for a while."""

    def __init__(self, lab, folder):
        self.name, self.cluster, self.remote = lab.cluster.name, lab.cluster, lab.remote
        self.file, self._text = folder / "cluster.yaml", lab.file.read_text()
        self.write({})

    def write(self, changes):
        """The lab's file with these values by dotted path; None takes one out."""
        yaml = YAML()
        document = yaml.load(self._text)
        for path, value in changes.items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            if value is None:
                del place[last]
            else:
                place[last] = value
        yaml.dump(document, self.file)
        return load_cluster(self.file)

    def apply(self, changes=None, **options):
        """An apply of the file with these values."""
        return apply(self.write(changes or {}), str(self.file), self.remote, **options)

    def sh(self, host, text, timeout_s=60):
        """What a command on a host printed; it must end well."""
        done = self.remote.run(host, text, timeout_s=timeout_s)
        assert done.ok, f"{host}: {text}: {done.code}: {done.out}{done.err}"
        return done.out

    def state(self, host):
        """All that an apply leaves on the host: each file of ours byte for byte, rights, units, leftovers."""
        done = self.remote.run(host, "python3 -", stdin=STATE.encode(), timeout_s=60)
        assert done.ok, done.err
        return json.loads(done.out)


STATE = r"""
import hashlib, json, os, pwd, subprocess
home = "/var/lib/clusterwright"
receipt = json.load(open(home + "/receipt.json"))
def row(path):
    status = os.lstat(path)
    return [oct(status.st_mode), status.st_uid, status.st_gid, hashlib.sha256(open(path, "rb").read()).hexdigest()]
def said(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, universal_newlines=True).stdout.split()
def started(name):
    when = said("systemctl", "show", "-p", "ExecMainStartTimestamp", "--value", "--timestamp=unix", name)
    return int(when[0][1:]) if when else 0
folders = [name[10:] for name in receipt["wanted"] if name.startswith("directory:")]
slow = [name for name in ("slurmd", "slurmctld") if name + ".service" in receipt["units"]
        and started(name) + 1 < os.stat("/etc/slurm/slurm.conf").st_mtime]
print(json.dumps({
    "files": {path: row(path) for path in receipt["files"]},
    "receipt": {key: receipt[key] for key in ("files", "units", "readers", "wanted")},
    "folders": {path: [oct(os.stat(path).st_mode), os.stat(path).st_uid] for path in folders},
    "enabled": said("systemctl", "is-enabled", *receipt["units"]),
    "active": said("systemctl", "is-active", *receipt["units"]),
    "links": sorted(os.listdir("/etc/systemd/system/multi-user.target.wants")),
    "failed": said("systemctl", "--failed", "--no-legend", "--plain"),
    "people": [entry.pw_name for entry in pwd.getpwall() if 6000 <= entry.pw_uid < 7000],
    "left": said("find", "/etc", "/opt", home, "-name", "*.wright-*"),
    "journal": os.path.exists(home + "/journal.jsonl"),
    "on old files": slow,
}))
"""


@pytest.fixture
def site(lab_cluster, tmp_path):
    """The shared lab, at rest, as a test may change it; afterwards it is what its own file says again."""
    lab_cluster.rest()
    site = Site(lab_cluster, tmp_path)
    yield site
    assert site.apply().ok
