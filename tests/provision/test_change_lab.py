"""Hosts that join and leave, and what `diff` sees, on real hosts with a job running on the others."""

import json
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli.add_hosts import add_hosts
from clusterwright.cli.diff import diff
from clusterwright.cli.remove_hosts import remove_hosts
from clusterwright.config.load import load_cluster
from clusterwright.config.names import fold
from clusterwright.errors import WrightError
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-change", "10.211."
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """Five hosts, of which the file has four."""

    def __init__(self, folder):
        self.whole = LAB.read_text().replace("10.77.", SUBNETS).replace("name: lab\n", f"name: {NAME}\n")
        self.file = folder / "cluster.yaml"
        self.file.write_text(self.whole)
        lab.up(load_cluster(self.file))
        self.text = self.whole.replace("gpu-node[1-4]", "gpu-node[1-3]")
        self.file.write_text(self.text)
        self.remote = remote_of(load_cluster(self.file))

    def apply(self):
        """The file on all its hosts."""
        return apply(load_cluster(self.file), str(self.file), self.remote)

    def run(self, host, text, stdin=b""):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, stdin=stdin, timeout_s=60)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def srun(self, hosts):
        """A step over these hosts, by a user; the names they say."""
        names = ",".join(hosts)
        command = f"cd / && timeout 60 runuser -u bob -- srun -w {names} -N{len(hosts)} hostname"
        return sorted(self.run("control", command).split())


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """Up and applied; taken down at the end, whatever happened."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("site")
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        lab.down(NAME)
        try:
            site = Site(folder)
            report = site.apply()
            assert report.ok, [(host.host, host.error, host.left_out) for host in report.hosts if not host.ok]
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@pytest.fixture
def site(standing):
    """The first text on its hosts, whatever the test before has left."""
    if standing.file.read_text() != standing.text:
        standing.file.write_text(standing.text)
        assert standing.apply().ok
    return standing


@pytest.fixture
def beating(site, heart):
    """A job on gpu-node1 and gpu-node2; over at the end of the test."""
    found = heart(site.run)
    assert sorted(found.beats()) == ["gpu-node1", "gpu-node2"]
    yield found
    found.end()


def test_a_cluster_grows_and_shrinks_under_a_running_job(site, beating, capsys):
    """The job goes on; a step over old and new hosts runs; the text is the first one at the end."""
    added = add_hosts("a100", "gpu-node4", cluster=site.file, yes=True)
    grown = site.file.read_text()
    both = site.srun(["gpu-node3", "gpu-node4"])
    after_growth = beating.faults()
    removed = remove_hosts("gpu-node4", cluster=site.file, yes=True)
    nodes = site.run("control", "sinfo --noheader --Node --format=%N").split()
    daemon = site.remote.run(
        "gpu-node4", "systemctl is-active slurmd; systemctl is-enabled slurmd"
    ).out.split()

    assert (added, removed) == (0, 0), capsys.readouterr().err
    assert (grown, site.file.read_text()) == (site.whole, site.text)
    assert both == ["gpu-node3", "gpu-node4"]
    assert (after_growth, beating.faults()) == ([], [])
    assert (nodes, daemon) == (["gpu-node1", "gpu-node2", "gpu-node3"], ["inactive", "disabled"])


def test_a_host_from_the_middle_leaves_and_comes_back(site, beating, capsys):
    """Purged of our files; the others keep their addresses; it comes back as it was, its old jobs ended."""
    waiting = site.run(
        "control", "cd / && runuser -u bob -- sbatch --parsable -w gpu-node3 -o /dev/null --wrap 'sleep 8'"
    )
    left = remove_hosts("gpu-node3", cluster=site.file, yes=True, purge=True)
    ours = site.run("gpu-node3", "ls /etc/slurm/slurm.conf /etc/munge/munge.key 2>/dev/null; true")
    cut = site.file.read_text()
    back = add_hosts("a100", "gpu-node[3-4]", cluster=site.file, yes=True)

    assert (left, back) == (0, 0), capsys.readouterr().err
    assert f"waiting for jobs {waiting.strip()}" in capsys.readouterr().err or ours == ""
    assert ours == ""
    assert "hosts: gpu-node[1-2]" in cut
    assert site.srun(["gpu-node3", "gpu-node4"]) == ["gpu-node3", "gpu-node4"]
    assert beating.faults() == []
    again = remove_hosts("gpu-node3", cluster=site.file, yes=True)
    assert again == 0
    assert "absent: gpu-node3" in site.file.read_text()
    assert load_cluster(site.file).host("gpu-node4").management.exploded == "10.211.0.14"
    assert beating.faults() == []


def test_a_busy_host_stays_until_its_job_has_ended(site, beating):
    """Told with the job; drained and nothing more; the file is as it was."""
    text = site.file.read_text()
    with pytest.raises(WrightError, match=f"jobs {beating.job} still run on gpu-node2"):
        remove_hosts("gpu-node2", cluster=site.file, now=True, yes=True)
    reason = site.run("control", "sinfo --noheader --list-reasons --format='%E %N'").strip()
    site.run("control", "scontrol update NodeName=gpu-node2 State=RESUME")

    assert reason == "wright: it leaves the cluster gpu-node2"
    assert site.file.read_text() == text
    assert beating.faults() == []


def test_a_host_that_does_not_answer_joins_nobody(site):
    """It is not there: the file and the cluster are as they were."""
    text = site.file.read_text()
    with pytest.raises(WrightError, match="new-hosts-silent"):
        add_hosts("a100", "gpu-node5", cluster=site.file, yes=True)

    assert site.file.read_text() == text


def test_diff_says_who_differs_and_why(site, capsys):
    """A hand on one host, a stopped daemon, a package that is gone, and a file that has moved on."""
    assert site.apply().ok
    assert diff(cluster=site.file, exit_code=True) == 0
    site.run(
        "gpu-node2",
        "echo '# mine' >> /etc/slurm/cgroup.conf; rm /etc/security/limits.d/60-clusterwright.conf",
    )
    site.run("gpu-node1", "systemctl stop chrony")
    site.file.write_text(site.file.read_text().replace("node_timeout: 15s", "node_timeout: 20s"))
    capsys.readouterr()
    code = diff(cluster=site.file, exit_code=True, json=True)
    found = json.loads(capsys.readouterr().out)
    rows = {(row["hosts"], row["id"]): row["cause"] for row in found["rows"]}
    everyone = fold([host.name for host in load_cluster(site.file).hosts()])

    assert code == 3
    assert rows[("gpu-node2", "file:/etc/slurm/cgroup.conf")] == "edited"
    assert rows[("gpu-node2", "file:/etc/security/limits.d/60-clusterwright.conf")] == "missing"
    assert rows[("gpu-node1", "unit:chrony.service")] == "stopped"
    assert rows.get((everyone, "file:/etc/slurm/slurm.conf")) == "changed", rows
    assert (found["changed_manually"], found["changed_in_file"]) == ("gpu-node[1-2]", everyone)
    site.apply()
    assert diff(cluster=site.file, exit_code=True) == 0
