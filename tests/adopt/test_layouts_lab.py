"""Clusters built as many sites build theirs: adopted, compared, and no file of any host differs afterwards."""

import io
import json
import os
import secrets
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.lab.state import folder
from clusterwright.provision.apply import remote_of

LAYOUTS = Path(__file__).with_name("layouts")
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")
NAME, CONTROL, COMPUTE = "layouts", "slurm-ctl", ("gpu01", "gpu02", "n1")
HOSTS = (CONTROL, *COMPUTE)
TEXT = """name: layouts
networks:
  management: {subnet: 10.243.0.0/24, rate: 1Gbit/s}
nodes:
  control: {role: control, hosts: slurm-ctl, addresses: {management: 10.243.0.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  gpu: {role: compute, hosts: "gpu[01-02]", addresses: {management: 10.243.0.21}, cpus: {cores_per_socket: 2},
    memory: 4GiB, gpus: {model: a100, count: 2}}
  cpu: {role: compute, hosts: n1, addresses: {management: 10.243.0.31}, cpus: {cores_per_socket: 2}, memory: 4GiB}
storage:
  home: {kind: local, path: /home-of-all}
partitions:
  debug: {nodes: [gpu, cpu], default: true}
lab: {}
"""


@dataclass(frozen=True)
class Layout:
    """What the cluster file of a layout has: groups, partitions, files line by line, teams; and lines that it lacks."""

    groups: dict[str, str]
    partitions: tuple[str, ...]
    files: tuple[str, ...] = ()
    teams: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    train_in: str = "gpu"


EACH_HOST = {"gpu": "gpu[01-02]", "n": "n1"}
TABLE = {
    "debian": Layout(EACH_HOST, ("debug",), ("cgroup.conf",), train_in="debug"),
    "ansible": Layout(EACH_HOST, ("gpu", "cpu"), ("cgroup.conf",)),
    "configless": Layout(EACH_HOST, ("debug", "gpu"), ("gres.conf",)),
    "partitions": Layout(
        {"gpu": "gpu01", "gpu-2": "gpu02", "n": "n1"},
        ("cpu", "gpu", "scavenge", "admin"),
        teams=frozenset({"physics", "optics", "biology"}),
        left_out=frozenset(
            {"NodeSet=gpunodes", "DebugLevel=info", "StoragePass=...", "PurgeJobAfter=24months"}
            | {"reservation maintenance"}  # of all nodes
        ),
    ),
}
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]
# What an apply writes, by content; and every file outside of what daemons write, by owner, mode, size and time.
SUMS = (
    "find /etc /usr/local /opt /root /var/lib/clusterwright -xdev -type f -exec sha256sum {} + 2>/dev/null | sort; "
    "find / -xdev \\( -path /var/log -o -path /var/lib/slurm -o -path /var/lib/mysql -o -path /var/spool -o -path /tmp "
    "-o -path /run -o -path /proc -o -path /sys -o -path /dev \\) -prune -o -type f -printf '%p %u %m %s %T@\\n' | sort"
)


class Site:
    """The lab of a layout, and `wright` on a machine that reaches its hosts with plain ssh."""

    def __init__(self, layout, cluster, scratch):
        self.layout, self.scratch, self.remote = layout, scratch, remote_of(cluster)
        self.config = folder(NAME) / "ssh_config"
        self.file = scratch / "cluster.yaml"
        (scratch / "bin").mkdir()
        (scratch / "bin" / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {self.config} "$@"\n')
        (scratch / "bin" / "ssh").chmod(0o755)

    def run(self, command, host=CONTROL, stdin=b""):
        """Run a command on a host; its output."""
        result = self.remote.run(host, command, stdin=stdin, timeout_s=120)
        assert result.ok, f"{host}: {command}: {result.out}{result.err}"
        return result.out.strip()

    def wright(self, *arguments, code=0):
        """Run a command on this machine; its result."""
        path = f"{self.scratch / 'bin'}:{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "XDG_STATE_HOME": str(self.scratch / "state")}
        command = (sys.executable, "-m", "clusterwright", *arguments)
        result = subprocess.run(
            command,
            env=environment,
            cwd=self.scratch,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert result.returncode == code, f"{arguments}: {result.stdout}{result.stderr}"
        return result

    def adopt(self, manage="[]"):
        """Write the cluster file; its result."""
        self.file.unlink(missing_ok=True)
        result = self.wright("adopt", "--control", CONTROL, "--hosts", ",".join(COMPUTE))
        self.file.write_text(self.file.read_text().replace("manage: []", f"manage: {manage}"))
        return result

    def sums(self):
        """Return what identifies the files of each host."""
        texts = {host: self.run(SUMS, host) for host in HOSTS}
        assert all(text.count("\n") > 10_000 for text in texts.values())
        return texts

    def states(self):
        """Return the states of the nodes, as Slurm has them."""
        return {row.split()[0]: row.split()[1] for row in self.run("sinfo -h -a -N -o '%N %T'").splitlines()}


def build(site):
    """Install the files of the layout and start its daemons, as its administrator does; wait for idle nodes."""
    key = secrets.token_bytes(1024)
    if site.layout == "ansible":
        play(site, key)
    else:
        for host in HOSTS:
            site.run("tar -x -C / --no-same-owner", host, files(site.layout, host, key))
            site.run(
                "chown munge: /etc/munge/munge.key; systemctl daemon-reload; systemctl start munge", host
            )
        script(site, "control.sh")
        site.run("systemctl start slurmctld")
        for host in COMPUTE:
            site.run("systemctl start slurmd", host)
    end = time.monotonic() + 180
    while site.states() != dict.fromkeys(COMPUTE, "idle"):
        assert time.monotonic() < end, site.run("sinfo -a -N -l; tail -n 20 /var/log/slurm/*.log; true")
        time.sleep(0.5)
    script(site, "after.sh")


def files(layout, host, key):
    """Return the files of a host as a tar archive."""
    stream, parts = io.BytesIO(), ("all", "control" if host == CONTROL else "compute")
    contents = {"etc/munge/munge.key": key}
    for root in (LAYOUTS / name / part for name in ("common", layout) for part in parts):
        contents |= {
            str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
        }
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            text = content.replace(b"@CPUS@", str(os.cpu_count()).encode())
            member.size, member.mode = len(text), 0o400 if content is key else 0o644
            archive.addfile(member, io.BytesIO(text))
    return stream.getvalue()


def script(site, name):
    """Run a script of the layout on the control host, if it has one."""
    path = LAYOUTS / site.layout / name
    if path.exists():
        site.run("sh -s", stdin=path.read_bytes())


def play(site, key):
    """Run the site's play from this machine, with real ansible-core."""
    (site.scratch / "munge.key").write_bytes(key)
    for host in HOSTS:
        site.run("cat >/etc/hosts", host, (LAYOUTS / "common" / "all" / "etc" / "hosts").read_bytes())
    values = {"munge_key": str(site.scratch / "munge.key"), "cores": os.cpu_count()}
    done = subprocess.run(
        [PLAYBOOK, "-i", LAYOUTS / "ansible" / "hosts", "-e", json.dumps(values), LAYOUTS / "ansible" / "play.yaml"],
        env=os.environ | {"ANSIBLE_SSH_ARGS": f"-F {site.config}", "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PIPELINING": "1"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.fixture(scope="module", params=TABLE)
def site(request, tmp_path_factory):
    """Four hosts whose Slurm no role of ours built."""
    if request.param == "ansible" and not PLAYBOOK.exists():
        pytest.skip("ansible-core is not installed (pip install ansible-core)")
    scratch = tmp_path_factory.mktemp(request.param)
    (scratch / "lab.yaml").write_text(TEXT)
    cluster = load_cluster(scratch / "lab.yaml")
    lab.down(NAME)
    lab.up(cluster)
    try:
        site = Site(request.param, cluster, scratch)
        build(site)
        site.before = site.sums()
        yield site
    finally:
        left = lab.down(NAME)
    assert left == []


def left_out(text):
    """Return the lines of the site that the end of the cluster file lists, without files and reasons."""
    lines = text.partition("# Lines of the site's files that this file does not hold:\n")[2].splitlines()
    return {line.split(": ")[1] for line in lines}


def test_an_adopted_cluster_has_nothing_to_change(site):
    """Adopt, validate, diff and apply: the file means what the site's files do, and no file of a host differs."""
    expected = TABLE[site.layout]

    adopted = site.adopt()
    site.wright("validate", "cluster.yaml")
    compared = site.wright("diff", "--exit-code", "--json")
    applied = site.wright("apply", "--yes", "--json")

    cluster = load_cluster(site.file)
    assert "would differ" not in adopted.stderr
    groups = {name: group.hosts for name, group in cluster.nodes.items() if group.role == "compute"}
    assert groups == expected.groups
    assert tuple(cluster.partitions) == expected.partitions
    assert (tuple(cluster.slurm.files), frozenset(cluster.teams)) == (expected.files, expected.teams)
    assert left_out(site.file.read_text()) == expected.left_out
    difference = json.loads(compared.stdout)
    assert (difference["rows"], difference["differs"], difference.get("watched")) == ([], False, None)
    assert not any(host["changes"] for host in json.loads(applied.stdout)["hosts"])
    assert site.sums() == site.before
    assert "correct-horse" not in site.file.read_text()


def test_roles_that_are_taken_over_touch_nothing_of_slurm(site):
    """The plan of monitoring and check has files of these roles only, and a dry run changes nothing."""
    site.adopt("[monitoring, check]")

    report = json.loads(site.wright("apply", "--dry-run", "--json").stdout)

    changes = {change["id"] for host in report["hosts"] for change in host["changes"]}
    assert not any(host["error"] for host in report["hosts"])
    assert {"unit:clusterwright-exporter.service", "unit:prometheus-node-exporter.service"} <= changes
    assert not [name for name in changes if "clusterwright" not in name and "prometheus" not in name]
    assert not [name for name in changes if name.startswith(("file:/etc/slurm", "file:/etc/munge"))]
    assert site.sums() == site.before
    assert site.states() == dict.fromkeys(COMPUTE, "idle")


def test_a_change_of_the_site_is_watched(site):
    """A partition that its administrator adds is a difference, and nothing that an apply would undo."""
    site.adopt()
    site.run(
        "cp -a /etc/slurm/slurm.conf /tmp/slurm.conf; echo PartitionName=new Nodes=n1 >>/etc/slurm/slurm.conf"
    )
    try:
        result = json.loads(site.wright("diff", "--json").stdout)
    finally:
        site.run("cp -a /tmp/slurm.conf /etc/slurm/slurm.conf")

    assert not result["differs"]
    assert "partition new: nodes: - -> n1" in result["watched"]


LIMITS, DROP_IN = "/etc/security/limits.d/site.conf", "/etc/systemd/system/slurmd.service.d/site.conf"
CHANGED_BY_HAND = f"""
echo '* soft memlock 64' >{LIMITS}
mkdir -p /etc/systemd/system/slurmd.service.d
printf '[Service]\\nLimitNOFILE=1024\\n' >{DROP_IN}
nft add table inet site
nft 'add chain inet site input {{ type filter hook input priority filter; policy accept; }}'
nft add rule inet site input tcp dport 6666 drop
"""
RESTORED = f"rm {LIMITS} {DROP_IN}; nft delete table inet site"


def test_a_change_of_a_host_is_watched(site):
    """Limits, a drop-in of slurmd and a rule of the firewall: host, place and both values; nothing once restored."""
    site.adopt()
    site.run(CHANGED_BY_HAND, "n1")
    try:
        changed = json.loads(site.wright("diff", "--json").stdout)
    finally:
        site.run(RESTORED, "n1")
    restored = json.loads(site.wright("diff", "--json").stdout)

    assert not changed["differs"]
    assert changed["watched"] == [
        f"n1: limits: {LIMITS}:1: - -> * soft memlock 64",
        f"n1: units: {DROP_IN}:1: - -> [Service]",
        f"n1: units: {DROP_IN}:2: - -> LimitNOFILE=1024",
        "n1: firewall: chain inet site input: - -> type filter hook input priority filter; policy accept;",
        "n1: firewall: chain inet site input: - -> tcp dport 6666 drop",
    ]
    assert restored.get("watched") is None


def test_checks_judge_the_site_as_it_is(site):
    """Processors, services, files and keys are as the adopted file has them; what no role manages is skipped."""
    names = (
        "hardware",
        "services",
        "slurm_files_equal",
        "munge_key_equal",
        "node_states",
        "slurm_as_declared",
    )
    of_roles = ("job_programs_equal", "library_equal", "firewall_on", "exporter_answers")
    site.adopt()

    result = site.wright(
        "check", "--json", *(word for name in (*names, *of_roles) for word in ("--only", name))
    )

    verdicts = json.loads(result.stdout)["verdicts"]
    expected = {(name, "ok") for name in names} | {(name, "skipped") for name in of_roles}
    assert {(row["check"], row["status"]) for row in verdicts} == expected


def test_a_job_requests_what_slurm_has(site):
    """With a shared folder in the file, the script of a training is one that this Slurm would start."""
    site.adopt()
    site.file.write_text(site.file.read_text() + "storage:\n  home: {kind: local, path: /home-of-all}\n")
    partition = TABLE[site.layout].train_in
    job = (
        "train",
        "--dry-run",
        "--gpus",
        "1",
        "--time",
        "10m",
        "--set",
        f"partition={partition}",
        "--",
        "hostname",
    )

    script = site.wright(*job).stdout

    started = site.remote.run(CONTROL, "sbatch --test-only", stdin=script.encode(), timeout_s=60)
    assert started.ok, script + started.err
    assert f"in partition {partition}" in started.err
    assert ("--gres=gpu" in script) == (site.layout != "debian")
