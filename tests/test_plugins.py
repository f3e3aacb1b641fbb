"""Plug-ins: an installed package adds checks, roles, failure modes, launchers and faults; a broken one is named."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from clusterwright.edge.ssh import Ssh
from clusterwright.lab.able import able
from clusterwright.lab.state import folder

MISSING = able()
ROOT = Path(__file__).parents[1]
CLUSTER = ROOT / "examples" / "lab" / "cluster.yaml"
JOB = "name: x\ncommand: [program.py]\ntime: 10m\nlauncher: shell\n"


class Environment:
    """A virtual environment that has Clusterwright and its packages, and packages of its own."""

    def __init__(self, folder):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
        self.python = folder / "bin" / "python"
        [self.packages] = folder.glob("lib/python*/site-packages")
        others = [str(ROOT / "src"), sysconfig.get_path("purelib")]
        (self.packages / "others.pth").write_text("\n".join(others))

    def add(self, name, group, files):
        """Install a package `name` with one entry point and these files below it."""
        info = self.packages / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[clusterwright.{group}]\nmine = {name}\n")
        for file, text in {"__init__.py": "", **files}.items():
            path = self.packages / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))

    def run(self, *arguments, cwd, timeout_s=200, **variables):
        """Run Python in the environment."""
        names = ("PYTHONPATH", "CLUSTERWRIGHT_CLUSTER", "CLUSTERWRIGHT_PLUGINS")
        env = {name: text for name, text in os.environ.items() if name not in names}
        env |= {"XDG_CACHE_HOME": str(self.packages), **variables}
        return subprocess.run(
            [self.python, *map(str, arguments)], cwd=cwd, env=env, capture_output=True, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """An environment with the package of examples/plugin, as pip installs it without a network."""
    environment = Environment(tmp_path_factory.mktemp("example"))
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(ROOT / "examples" / "plugin", source)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", environment.packages, source], check=True, timeout=120)
    return environment


@pytest.fixture
def wright(example, tmp_path):
    """The command in that environment."""
    return lambda *arguments, **variables: example.run(
        "-m", "clusterwright", *arguments, cwd=tmp_path, **variables
    )


@pytest.fixture
def broken(tmp_path):
    """An environment without a plug-in, for those of a test."""
    return Environment(tmp_path / "env")


def test_wright_lists_the_plug_ins(wright):
    """Each kind with its package, version and names; none of them is broken."""
    done = wright("plugins")
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    names = {
        "checks": "core_dumps",
        "failure_modes": "storage-io/example-burst-buffer",
        "faults": "log_line",
        "launchers": "shell",
        "roles": "login_message",
    }

    assert done.returncode == 0, done.stderr
    assert rows == [[group, "clusterwright-example", "1.0", name] for group, name in names.items()]


def test_a_check_is_one_of_the_checks(example, tmp_path):
    """By its name, and with its own fact."""
    program = (
        "from clusterwright.check.registry import choose\n"
        "[one] = choose(['core_dumps'])\n"
        "print(one.judge(None, one.needs[0].parse('core\\n')).status, len(choose([])) > 50)"
    )
    done = example.run("-c", program, cwd=tmp_path)

    assert done.stdout.split() == ["warn", "True"], done.stderr


def test_a_role_is_rendered_for_each_host(wright, tmp_path):
    """After the role that it depends on, like ours."""
    done = wright("render", "--cluster", CLUSTER, "--out", tmp_path / "tree")
    hosts = {path.parents[2].name: path.read_text() for path in tmp_path.glob("tree/*/*/etc/motd.d/*")}

    assert done.returncode == 0, done.stderr
    assert sorted(hosts) == ["control", *(f"gpu-node{number}" for number in range(1, 5))]
    assert all(f"host {host}." in text for host, text in hosts.items())


def test_a_failure_mode_is_diagnosed(wright, tmp_path):
    """Its cause is the answer, beside those of ours; also from the cache."""
    (tmp_path / "slurm-1.out").write_text("step 7\nburstfs: lease expired on /bb/alice\n")
    answers = [json.loads(wright("why", "slurm-1.out", "--json").stdout) for _time in range(2)]

    assert [one["diagnoses"][0]["mode"] for one in answers] == ["storage-io/example-burst-buffer"] * 2


def test_a_launcher_is_a_choice_and_is_sent_to_hosts(wright, example, tmp_path):
    """The job file may name it, and the library for hosts has its file: hosts never read entry points."""
    (tmp_path / "job.yaml").write_text(JOB)
    done = wright("train", "job.yaml", "--dry-run", "--cluster", CLUSTER)
    program = "from clusterwright.edge.bundler import library; print(*library())"
    files = example.run("-c", program, cwd=tmp_path).stdout.split()

    assert done.returncode == 0, done.stderr
    assert '"launcher": "shell"' in done.stdout
    assert "clusterwright/onhost/launchers/shell.py" in files


@pytest.mark.train
def test_a_launcher_starts_the_ranks_of_a_local_run(wright, tmp_path):
    """Two hosts with two ranks each."""
    (tmp_path / "ranks").mkdir()
    text = "import os\nopen('{}/' + os.environ['RANK'], 'w').close()\n".format(tmp_path / "ranks")
    (tmp_path / "program.py").write_text(text)
    done = wright(
        "train", "--local", "--nodes", 2, "--gpus", 2, "--code", "none", "--launcher", "shell",
        "--", "python", tmp_path / "program.py",
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "ranks").iterdir()) == ["0", "1", "2", "3"]


def test_a_fault_is_one_of_the_lab(example, tmp_path):
    """With - for _, like ours."""
    program = "from clusterwright.lab.faults import kinds; print(kinds()['log-line'].OPTIONS)"

    assert example.run("-c", program, cwd=tmp_path).stdout.strip() == "('text',)"


BROKEN = {
    "error": ("checks", {"mine.py": "import no_such_module"}, "ModuleNotFoundError"),
    "syntax": ("checks", {"mine.py": "def ("}, "SyntaxError"),
    "type": ("checks", {"mine.py": "mine = 1"}, "no check `mine`"),
    "role": ("roles", {"mine.py": "def mine(*_): return ()"}, "DEPENDENCIES"),
    "dependency": ("roles", {"mine.py": "DEPENDENCIES = ('x',)\ndef mine(*_): return ()"}, "no role"),
    "fault": ("faults", {"mine.py": "OPTIONS = ()"}, "lacks inject, undo, LASTS"),
    "mode": ("failure_modes", {"shm/mine.toml": "cause = 1"}, "KeyError"),
    "class": (
        "failure_modes",
        {
            "other-things/mine.toml": "cause='a'\nfix='b'\nrole='root'\nretry='no'\ncertain=1\n[[signature]]\nhas='x'"
        },
        "is not one of",
    ),
    "group": ("chekcs", {}, "there is no such group"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plug_in_is_named(broken, tmp_path, case):
    """With its package and entry point, by `wright plugins`, which fails; other plug-ins and commands go on."""
    group, files, reason = BROKEN[case]
    broken.add("acme", group, files)
    listed = broken.run("-m", "clusterwright", "plugins", cwd=tmp_path)
    other = broken.run("-m", "clusterwright", "validate", CLUSTER, cwd=tmp_path)

    assert listed.returncode == 1
    assert "error[plugin-broken]" in listed.stderr
    assert f"plug-in acme 1, entry point `mine` of clusterwright.{group}" in listed.stderr
    assert reason in listed.stderr
    assert other.returncode == 0, other.stderr


def test_a_command_that_needs_a_broken_plug_in_is_refused(broken, tmp_path):
    """A check that is missing must not be taken for one that is fine; without plug-ins the command runs."""
    broken.add("acme", "failure_modes", {"shm/mine.toml": "cause ="})
    (tmp_path / "a.log").write_text("RuntimeError: CUDA error: out of memory\n")
    refused = broken.run("-m", "clusterwright", "why", "a.log", cwd=tmp_path)
    without = broken.run("-m", "clusterwright", "why", "a.log", cwd=tmp_path, CLUSTERWRIGHT_PLUGINS="off")

    assert (refused.returncode, without.returncode) == (1, 0), refused.stderr + without.stderr
    assert "error[plugin-broken]" in refused.stderr


CLASHES = {
    "ours": ("checks", {"cpu_load.py": "cpu_load = 1"}, "taken by Clusterwright"),
    "launcher": ("launchers", {"agent.py": ""}, "taken by Clusterwright"),
    "mode": ("failure_modes", {"storage-full/quota.toml": ""}, "exists already"),
}


@pytest.mark.parametrize("case", CLASHES)
def test_a_name_is_taken_once(broken, tmp_path, case):
    """A plug-in replaces nothing of ours."""
    group, files, reason = CLASHES[case]
    broken.add("acme", group, files)
    listed = broken.run("-m", "clusterwright", "plugins", cwd=tmp_path)

    assert listed.returncode == 1
    assert "error[plugin-clash]" in listed.stderr
    assert reason in listed.stderr


def test_two_plug_ins_may_not_have_the_same_name(broken, tmp_path):
    """The second one is named, with the first."""
    fault = "OPTIONS = ()\nLASTS = False\ndef inject(lab, host, options): return lab\nundo = inject\n"
    for name in ("acme", "beta"):
        broken.add(name, "faults", {"mine.py": fault})
    listed = broken.run("-m", "clusterwright", "plugins", cwd=tmp_path)

    assert "plug-in beta 1" in listed.stderr
    assert "taken by acme" in listed.stderr


def test_only_the_environment_is_read(broken, tmp_path):
    """Root executes no plug-in from the current folder or PYTHONPATH, which others may write."""
    broken.add("acme", "checks", {"mine.py": "import pathlib; pathlib.Path('ran').touch()"})
    for path in list(broken.packages.glob("acme*")):
        shutil.move(path, tmp_path / path.name)
    listed = broken.run("-m", "clusterwright", "plugins", cwd=tmp_path, PYTHONPATH=str(tmp_path))

    assert (listed.returncode, listed.stdout) == (0, ""), listed.stderr
    assert not (tmp_path / "ran").exists()


LAB = """name: plugins
networks:
  management: {subnet: 10.233.0.0/24, rate: 1Gbit/s}
nodes:
  control: {role: control, hosts: head, addresses: {management: 10.233.0.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  nodes: {role: compute, hosts: node1, addresses: {management: 10.233.0.11}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
storage:
  shared: {kind: local, path: /shared}
partitions:
  train: {nodes: [nodes], default: true}
lab: {}
"""


@pytest.mark.lab
@pytest.mark.timeout(900)
@pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING))
def test_role_check_and_fault_work_on_real_hosts(example, tmp_path):
    """`apply` writes the role's file, `check` judges the fact of each host, the fault reaches the log of its host."""
    file = tmp_path / "cluster.yaml"
    file.write_text(LAB)

    def run(*arguments):
        done = example.run("-m", "clusterwright", *arguments, cwd=tmp_path, timeout_s=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    try:
        run("lab", "up")
        run("apply", "--yes")
        on_host = Ssh(config=folder("plugins") / "ssh_config").run
        assert "Cluster plugins, host node1.\n" in on_host("node1", "cat /etc/motd.d/20-example").out
        verdicts = json.loads(run("check", "--only", "core_dumps", "--json"))["verdicts"]
        assert [one["subject"] for one in verdicts if one["observed"]] == ["node1"], verdicts
        run("lab", "fault", "log-line", "node1", "--text", "from-a-plug-in")
        assert "from-a-plug-in" in on_host("node1", "journalctl -n 50 -o cat").out
    finally:
        example.run("-m", "clusterwright", "lab", "down", "plugins", "--yes", cwd=tmp_path)
