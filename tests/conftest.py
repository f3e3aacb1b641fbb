"""Fixtures for labs, golden files and checkpoints; tests that cannot run on this machine are skipped with a reason."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from hypothesis import settings

from clusterwright import i18n, lab
from clusterwright.check.bench.store import file_of
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.provision.apply import apply, remote_of

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "lab" / "cluster.yaml"
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])  # each worker has its own lab
NAME, NET = f"wright-tests{WORKER}", f"10.{160 + WORKER}"

# A shell starts background programs with SIGINT ignored, and child processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests start Python thousands of times: without bytecode, each start would compile the program.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# More threads than CPUs: OpenMP's would spin and take the CPU from those that they wait for.
os.environ["OMP_WAIT_POLICY"] = "passive"

# Examples take longer on a loaded machine; speed is measured in bench/.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def load_tool():
    """Return a program of tools/ as a module, by its name."""

    def load(name):
        loader = SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
        module = module_from_spec(spec_from_loader(loader.name, loader))
        sys.modules[loader.name] = module  # dataclasses look for their module there
        loader.exec_module(module)
        return module

    return load


def pytest_configure(config):
    """Compile the Chinese message catalog if it is older than its source."""
    catalog = Path(i18n.__file__).parent / "locale" / "zh" / "LC_MESSAGES" / "clusterwright.po"
    compiled = catalog.with_suffix(".mo")
    outdated = not compiled.exists() or compiled.stat().st_mtime < catalog.stat().st_mtime
    if outdated and not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, ROOT / "tools" / "messages", "--compile"], check=True)


def pytest_addoption(parser):
    """Add `--golden`, which rewrites golden files instead of comparing with them."""
    parser.addoption("--golden", action="store_true", help="rewrite golden files; read the diff like code")


@pytest.fixture
def golden(request):
    """Return whether golden files are to be rewritten."""
    return request.config.getoption("--golden")


def pytest_collection_modifyitems(items):
    """Skip tests that need something missing on this machine, with the reason."""
    missing = {
        "lab": "; ".join(f"{found.message} ({found.fix})" for found in lab.able()),
        "slurm": ""
        if shutil.which("slurmctld")
        else "slurmctld is not installed (apt-get install slurmctld)",
        "train": "" if find_spec("torch") else "torch is not installed (pip install torch)",
        "gpu": "" if Path("/dev/nvidiactl").exists() else "no CUDA device",
    }
    for item in items:
        for mark, why in missing.items():
            if why and item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"{mark}: {why}"))


JOBS_AND_HOSTS = "squeue -h -o 'job %A %T %R' && sinfo -hN -o 'host %N %T %E'"


HOSTILE = (
    b"", b"\0", b"[" * 60_000, b'{"a":' * 1_000, b"1" * 4_000, b'{"pid": ' + b"9" * 4_000 + b"}", b"\xff\xfe{\0",
    b'{"host": "\xc3"}', b'{"proof": "\\ud800"}', b'{"a": NaN}', b'{"a": 1e999}', b"null", b'"a"', b"{}", b"{" * 4_095,
    b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", b"\x80\x04cos\nsystem\n.", b"\r\n" * 500,
)  # fmt: skip
VALUES = (
    b"null",
    b"-1",
    b"1e308",
    b"[]",
    b"{}",
    b'""',
    b'"\xc3\xa9"',
    b'"\\udfff"',
    b"true",
    b"[[[[1]]]]",
    b"9" * 400,
)


@pytest.fixture
def hostile():
    """Return a function that yields inputs of a stranger: fixed ones, then valid ones with random changes.

    A test that fails shows its seed and the last input.
    """
    last = []

    def inputs(count, *valid, seed=22):
        for number, data in enumerate(_hostile_inputs(count, valid, seed)):
            last[:] = seed, number, data
            yield data

    yield inputs
    if last:
        sys.stdout.write(f"hostile inputs of seed {last[0]}, number {last[1]}: {last[2][:500]!r}\n")


def _hostile_inputs(count, valid, seed):
    generator = random.Random(seed)
    yield from HOSTILE
    for _ in range(count - len(HOSTILE)):
        data = bytearray(generator.choice(valid))
        for _ in range(generator.randint(1, 4)):
            start = generator.randrange(len(data) + 1)
            end = min(len(data), start + generator.choice((0, 1, 2, 8, 40)))
            data[start:end] = generator.choice(
                (
                    b"",
                    generator.randbytes(generator.randint(1, 6)),
                    generator.choice(VALUES),
                    data[start:end] * 3,
                )
            )
        yield bytes(data)


@dataclass(frozen=True)
class LabCluster:
    """An applied lab: its cluster file, the parsed file, and the connection to its hosts."""

    file: Path
    cluster: Cluster
    remote: Ssh

    def sh(self, host, command, *, timeout_s=60):
        """Return the output of a command on a host; fail with its output if it fails."""
        done = self.remote.run(host, command, timeout_s=timeout_s)
        assert done.ok, f"{host}: {command}: {done.code}: {done.last_lines(20)}"
        return done.out

    def rest(self, limit_s=180):
        """Undo faults and cancel jobs of earlier tests; wait until every host is idle."""
        lab.undo(self.cluster.name, "all")
        end = time.monotonic() + limit_s
        while left := self.restless():
            assert time.monotonic() < end, left
            time.sleep(0.5)

    def restless(self):
        """Cancel jobs and resume hosts; return the jobs, unavailable hosts and ending steps that are left."""
        listed = self.ask("control", JOBS_AND_HOSTS)
        if left := [line for line in listed if not re.match(r"host \S+ idle ", line)]:
            self.ask("control", give_back(left))
            return left
        return [
            line
            for host in self.cluster.hosts("compute")
            for line in self.ask(host.name, "pgrep -a slurmstepd | grep -v infinity; true")
        ]

    def ask(self, host, command):
        """Return the lines that a command printed, or its error: a busy machine does not answer every ssh in time."""
        done = self.remote.run(host, command)
        return done.out.splitlines() if done.ok else [f"{host} {done.code} {done.last_lines()}"]


def give_back(left):
    """Return a command that cancels the listed jobs and resumes the listed hosts, and ends soon.

    It names them: one that ssh gave up waiting for may still run, late, and must not touch a job of the next test.
    """
    words = [line.split() for line in left]
    jobs = [row[1] for row in words if row[0] == "job"]
    hosts = {row[1] for row in words if row[0] == "host" and row[2].startswith(("drain", "down"))}
    commands = [f"scancel {' '.join(jobs)}"] if jobs else []
    commands += [f"scontrol update nodename={','.join(sorted(hosts))} state=resume"] if hosts else []
    return f"timeout 30 sh -c '{'; '.join([*commands, 'true'])}'"


@pytest.fixture(scope="session")
def lab_of():
    """Return `LabCluster`, for tests that set up their own lab."""
    return LabCluster


@contextmanager
def _example_lab(folder, name, net, changes):
    file = folder / "cluster.yaml"
    text = EXAMPLE.read_text().replace("10.77.", f"{net}.").replace("name: lab\n", f"name: {name}\n")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    file.write_text(text)
    cluster = load_cluster(file)
    try:
        lab.up(cluster)
        remote = remote_of(cluster)
        report = apply(cluster, str(file), remote)
        assert not report.failed, report
        stands = LabCluster(file, cluster, remote)
        stands.rest()
        yield stands
    finally:
        assert lab.down(name) == []
        file_of(name).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def example_lab():
    """Return a context manager for a lab like examples/lab, from a folder, name, network and changes of the file.

    The lab is applied and idle; it is removed at the end, with its bench results.
    """
    return _example_lab


@pytest.fixture(scope="session")
def lab_cluster(tmp_path_factory):
    """Yield an applied lab of five hosts as in examples/lab, in its own subnets."""
    with _example_lab(tmp_path_factory.mktemp("lab"), NAME, NET, {}) as stands:
        yield stands


@pytest.fixture
def saved(tmp_path):
    """Return a function that creates a run with checkpoints of one rank: `saved(10, 20)`."""
    torch = pytest.importorskip("torch")
    from clusterwright.runtime.checkpoints.convert import write_step

    def make(*steps, limit=3):
        run = tmp_path / "gpt-20261121-120000"
        (run / "checkpoints").mkdir(parents=True, exist_ok=True)
        (run / "job.json").write_text(
            json.dumps({"local": True, "job": {"checkpoint": {"save_total_limit": limit}}})
        )
        for step in steps:
            state = {"model": {"weight": torch.full((300,), float(step))}, "run": {"loss": 1 / step}}
            write_step(run / "checkpoints" / f"step-{step:08d}", step, state)
        return run

    return make
