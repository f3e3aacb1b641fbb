"""Trouble on one host, on real hosts: it is named with its fix, and the rest of the cluster is finished.

The words are those that `wright apply` and `wright check` print.
"""

import json
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.cli.apply import apply as wright_apply
from clusterwright.cli.check import check as wright_check
from clusterwright.cli.diff import diff as wright_diff
from clusterwright.config.load import load_cluster
from clusterwright.errors import EXIT_FAILED, EXIT_FAULTS, EXIT_OK
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "bad", "10.207."

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


class Site:
    """An applied lab, and the commands as a user gives them."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.says({})
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def says(self, changes):
        """The example with our name and subnets, without accounting, and with these values by dotted path."""
        document = YAML().load(EXAMPLE.read_text().replace("10.77.", SUBNETS))
        for path, value in ({"name": NAME, "accounting": {"enabled": False}} | changes).items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place[part]
            place[last] = value
        YAML().dump(document, self.file)

    def sh(self, host, text, stdin=b""):
        """What a command on a host printed; it must end well."""
        done = self.remote.run(host, text, stdin=stdin, timeout_s=90)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def node(self, host):
        """Slurm's state of a node, and its reason."""
        return self.sh("control", f"sinfo -h -n {host} -o '%T %E'").strip()

    def fix(self):
        """The hosts are what the file as it was at first says, and take jobs."""
        self.says({})
        report = apply(self.cluster, str(self.file), self.remote)
        assert report.ok, report
        for host in self.cluster.hosts("compute"):
            self.until(host.name, "idle")

    def until(self, host, word):
        """Waits for a word in Slurm's state of a node."""
        end = time.monotonic() + 120
        while word not in self.node(host):
            assert time.monotonic() < end, self.node(host)
            time.sleep(0.5)
        return self.node(host)


@pytest.fixture(scope="module")
def applied(tmp_path_factory):
    """Five hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.fix()
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@pytest.fixture
def site(applied):
    """All well before the test, and nothing to do, whatever the one before it broke."""
    applied.fix()
    return applied


@pytest.fixture
def words(capsys):
    """What a command printed, to both streams."""
    capsys.readouterr()

    def of(command, *arguments, **options):
        code = command(*arguments, **options)
        said = capsys.readouterr()
        return code, said.out + said.err

    return of


def faults(capsys, site):
    """What check calls wrong, by host and check; what a busy machine did not answer in time is not among it."""
    capsys.readouterr()
    wright_check(cluster=site.file, json=True)
    found = {}
    for verdict in json.loads(capsys.readouterr().out)["verdicts"]:
        if verdict["status"] in ("fail", "warn"):
            found.setdefault(verdict["subject"], {})[verdict["check"]] = verdict
    return found


def faults_with(capsys, site, host, check):
    """The same, once it holds that check of that host: a busy machine may not answer the first time."""
    end = time.monotonic() + 90
    while check not in (found := faults(capsys, site)).get(host, {}):
        assert time.monotonic() < end, found
    return found


def calm(capsys, site):
    """Nothing is wrong any more, soon: Slurm's daemons need a moment to find each other again."""
    end = time.monotonic() + 90
    while found := faults(capsys, site):
        assert time.monotonic() < end, found
    return True


def line_of(said, host, start):
    """The paragraph that begins with these words and names the host."""
    parts = said.split(f"\n{start}: ")[1:]
    return next(part for part in parts if host in part.split(":")[0])


def test_troubles_at_once_are_named_each_with_its_mend(site, words, capsys):
    """A GPU lost on the host that is changed first, another system, a full disk: all others finish.

    When all is fixed the next apply finishes too, and the one after it has nothing to do (defect D4).
    """
    site.sh("gpu-node1", "rm /dev/nvidia3")
    site.sh("gpu-node3", "cp -p /etc/os-release /root/as-it-was; rm /etc/os-release; "
            "printf 'ID=\"rocky\"\\nVERSION_ID=\"9.4\"\\n' > /etc/os-release")  # fmt: skip
    lab.fault(NAME, "fill-disk", "gpu-node4")
    try:
        site.says({"slurm.ports": [60002, 63000]})
        code, said = words(wright_apply, site.file, yes=True)
        ports = {
            host.name: site.sh(host.name, "grep -o '^SrunPortRange=.*' /etc/slurm/slurm.conf").strip()
            for host in site.cluster.hosts()
        }
    finally:
        lab.undo(NAME, "gpu-node4")
        site.sh("gpu-node3", "rm /etc/os-release; cp -a /root/as-it-was /etc/os-release")
        site.sh("gpu-node1", "mknod -m 666 /dev/nvidia3 c $(stat -c '0x%t' /dev/nvidia2) 3")

    site.says({})
    first, then = words(wright_apply, site.file, yes=True)
    again, still = words(wright_apply, site.file, yes=True)

    assert code == EXIT_FAILED, said
    assert "/dev/nvidia3" in line_of(said, "gpu-node1", "failed")
    assert "`nvidia-smi` and `dmesg`" in line_of(said, "gpu-node1", "failed")
    assert "the host runs rocky-9, the cluster file declares debian-12: nothing was changed" in said
    assert "correct `os`" in line_of(said, "gpu-node3", "failed")
    assert "disk" in line_of(said, "gpu-node4", "failed")
    assert "`df -h`" in line_of(said, "gpu-node4", "failed")
    assert "2 of 5 hosts" in said
    assert ports == {
        "control": "SrunPortRange=60002-63000", "gpu-node2": "SrunPortRange=60002-63000",
        "gpu-node1": "SrunPortRange=60001-63000", "gpu-node3": "SrunPortRange=60001-63000",
        "gpu-node4": "SrunPortRange=60001-63000",
    }  # fmt: skip
    assert first == EXIT_OK, then
    assert again == EXIT_OK, still
    assert "changes: 0; restarts: 0; hosts: 5 of 5" in still
    site.until("gpu-node1", "idle")
    site.until("gpu-node4", "idle")
    assert calm(capsys, site)


def test_a_clock_that_is_ten_minutes_off_is_named(site, words, capsys):
    """Its credentials are really refused."""
    lab.fault(site.cluster.name, "clock-skew", "gpu-node2")
    try:
        code, said = words(wright_apply, site.file, yes=True)
        found = faults_with(capsys, site, "gpu-node2", "clock_offset")
    finally:
        lab.undo(site.cluster.name, "gpu-node2")

    assert code == EXIT_FAILED, said
    assert "failed: gpu-node2: the host's clock is " in said
    assert "ahead; munge rejects offsets above 5 minutes" in said
    assert "`chronyc makestep`" in said
    assert set(found) <= {"gpu-node2"}
    assert found["gpu-node2"]["clock_offset"]["saw"].startswith(("+600.", "+599."))
    assert found["gpu-node2"]["munge_between"]["saw"] == "Rewound credential"
    assert "chronyc makestep" in found["gpu-node2"]["munge_between"]["fix"]


def test_a_wrong_munge_key_on_one_host_is_named_and_mended(site, words, capsys):
    """The host is named, no other is touched, and the key is never shown."""
    site.until("gpu-node2", "idle")
    site.sh("gpu-node3", "head -c 1024 /dev/urandom > /etc/munge/munge.key; systemctl restart munge")
    found = faults_with(capsys, site, "gpu-node3", "munge_between")
    code, said = words(wright_apply, site.file, yes=True)

    assert {"munge_key_equal", "munge_between"} <= set(found["gpu-node3"])
    assert "munge_between" not in {check for host in found if host != "gpu-node3" for check in found[host]}
    assert code == EXIT_OK, said
    assert "gpu-node3: file:/etc/munge/munge.key: " in said
    assert "(secret munge.key: not shown)" in said
    assert "gpu-node1" not in said
    site.until("gpu-node3", "idle")
    assert calm(capsys, site)


def test_a_lost_device_file_is_named_before_slurm_drains_the_host(site, words, capsys):
    """Pain 1: Slurm still gives jobs to the host; check and apply name the file."""
    site.sh("gpu-node4", "rm /dev/nvidia3")
    try:
        state = site.node("gpu-node4")
        found = faults_with(capsys, site, "gpu-node4", "gpu_device_files")
        code, said = words(wright_apply, site.file, yes=True)
    finally:
        site.sh("gpu-node4", "mknod -m 666 /dev/nvidia3 c $(stat -c '0x%t' /dev/nvidia2) 3")

    assert state.startswith("idle")
    assert found["gpu-node4"]["gpu_device_files"]["saw"] == "no device /dev/nvidia3"
    assert code == EXIT_OK, said
    assert "note: gpu-node4: 3 of 4 GPU device files exist, /dev/nvidia3 missing: Slurm drains" in said


@pytest.mark.parametrize(
    ("line", "count"), [("Name=gpu Type=a100 File=/dev/nvidia[0-2]", 3), ("AutoDetect=nvml", 0)]
)
def test_a_host_that_slurm_calls_invalid_is_named_and_mended(site, words, capsys, line, count):
    """Pains 1 and 2: fewer GPUs by hand, or detected without a library and in silence, and Slurm drains the host."""
    site.sh("gpu-node1", f"echo '{line}' > /etc/slurm/gres.conf && systemctl restart slurmd")
    reason = site.until("gpu-node1", "count")
    found = faults_with(capsys, site, "gpu-node1", "node_states")
    drift, differs = words(wright_diff, site.file)
    code, said = words(wright_apply, site.file, yes=True)
    after = site.until("gpu-node1", "idle")  # given back: it was Slurm that took it out, and no person

    assert f"gres/gpu count reported lower than configured ({count} < 4)" in reason
    assert f"({count} < 4)" in found["gpu-node1"]["node_states"]["saw"]
    assert "state=resume" in found["gpu-node1"]["node_states"]["fix"]
    assert "gpu-node1" in differs
    assert "gres.conf" in differs
    assert drift == EXIT_OK, differs
    assert code == EXIT_OK, said
    assert "gpu-node1: file:/etc/slurm/gres.conf: " in said
    assert after.startswith("idle")


def test_a_file_that_was_edited_on_one_host_is_drift_that_is_named_and_mended(site, words, capsys):
    """Pain 6: which host, which file, by whose hand."""
    site.sh("gpu-node2", "sed -i 's/^KillWait=.*/KillWait=99/' /etc/slurm/slurm.conf")
    found = faults_with(capsys, site, "gpu-node2", "slurm_files_equal")
    _, differs = words(wright_diff, site.file)
    code, said = words(wright_apply, site.file, yes=True)

    assert found["gpu-node2"]["slurm_files_equal"]["saw"] == "slurm.conf differs"
    assert "gpu-node2" in differs
    assert "slurm.conf" in differs
    assert "hand" in differs
    assert code == EXIT_OK, said
    assert "-KillWait=99" in said
    assert "KillWait=99" not in site.sh("gpu-node2", "cat /etc/slurm/slurm.conf")


def test_a_daemon_that_does_not_come_up_is_no_green_apply(site, words, capsys):
    """Pain 15: the apply fails in the daemon's own words, on that host."""
    folder = "/etc/systemd/system/slurmd.service.d"
    site.sh("gpu-node3", f"printf '[Service]\\nExecStartPre=/bin/false\\n' > {folder}/99-broken.conf")
    site.sh("gpu-node3", "systemctl daemon-reload; systemctl stop slurmd")
    try:
        code, said = words(wright_apply, site.file, yes=True)
        found, _ = words(wright_check, site.file)
    finally:
        site.sh("gpu-node3", f"rm {folder}/99-broken.conf; systemctl daemon-reload; systemctl reset-failed")
    fixed, then = words(wright_apply, site.file, yes=True)

    assert code == EXIT_FAILED, said
    assert "slurmd.service" in line_of(said, "gpu-node3", "failed")
    assert found == EXIT_FAULTS
    assert fixed == EXIT_OK, then
    site.until("gpu-node3", "idle")
