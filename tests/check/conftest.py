"""A cluster of five hosts that answer from recorded outputs, and can be damaged one fact at a time."""

import json
from pathlib import Path

import pytest

from clusterwright.check.bench.site import BenchSite
from clusterwright.check.reading import MARKER
from clusterwright.check.runner import run
from clusterwright.config.load import load_cluster
from clusterwright.edge.fakes import FakeClock, FakeRemote, program_stdin

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "facts"
TOOLS = {"iperf3": "/usr/bin/iperf3", "fio": "/usr/bin/fio"}
VERSIONS = {"kernel": "6.1.0", "driver": "", "nccl": "", "torch": "2.13.0"}
TOKEN = "a989abd5a8544a0cbc3cbfca40e74c02"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """The example lab, at the addresses at which the outputs were recorded."""
    path = tmp_path_factory.mktemp("check") / "cluster.yaml"
    text = (ROOT / "examples/lab/cluster.yaml").read_text().replace("10.77.", "10.79.")
    path.write_text(f"{text}\nmonitoring: {{exporter: false}}  # what is recorded is of hosts without it\n")
    return load_cluster(path)


class Answers:
    """What every host prints for every fact; `say` changes one of them."""

    token = TOKEN

    def __init__(self, cluster):
        self.cluster, self.told, self.down = cluster, {}, set()
        self.asked, self.sudo = [], False
        self.hosts = tuple(host.name for host in cluster.hosts())

    def recorded(self, fact, case):
        """One recorded output."""
        return (RECORDED / fact / f"{case}.txt").read_text()

    def say(self, host, fact, out, code=0, err="", stopped=""):
        """From now on the host answers that for the fact."""
        self.told[host, fact] = {"code": code, "out": out, "err": err, "seconds": 0.1, "stopped": stopped}

    def answer(self, host, _command, stdin):
        """What the reader would print of what it reads."""
        request = json.loads(program_stdin(stdin))
        self.asked.append((host, [item["id"] for item in request["facts"]]))
        facts = {
            item["id"]: self.told.get((host, item["id"])) or self._healthy(host, item)
            for item in request["facts"]
        }
        times = {"began": 1_700_000_000.0, "ended": 1_700_000_000.0}
        return f"Welcome to {host}\n{MARKER}{json.dumps({'python': '3.11.2', 'facts': facts, **times})}\n"

    def _healthy(self, host, item):
        return {"code": 0, "out": self._out(host, item), "err": "", "seconds": 0.1, "stopped": ""}

    def _out(self, host, item):
        fact, management = item["id"], str(self.cluster.host(host).management)
        if fact == "hostname":
            return f"{host}\n"
        if fact == "addresses":
            return self.recorded(fact, "lab_compute").replace('.11"', f'.{management.rpartition(".")[2]}"')
        if fact == "munge_decoded":
            return json.dumps(dict.fromkeys(json.loads(item["stdin"]), "Success"))
        if fact == "shared_folder_visibility":
            tokens = {name: found["/shared"]["token"] for name, found in json.loads(item["stdin"]).items()}
            return json.dumps({"/shared": tokens})
        if fact == "trespass":
            return json.dumps(dict.fromkeys((f"10.79.0.1{index}:9" for index in range(1, 5)), "silent"))
        order = ("lab_control", "lab_compute") if host == "control" else ("lab_compute", "lab_control")
        case = next(case for case in order if (RECORDED / fact / f"{case}.txt").exists())
        return self.recorded(fact, case)

    def check(self, **choice):
        """Every verdict on this cluster."""
        remote = FakeRemote(self.answer, down=frozenset(self.down), sudo=self.sudo)
        return run(self.cluster, remote, clock=FakeClock(), **choice)


@pytest.fixture
def answers(cluster):
    """Hosts that are all as the file wants them."""
    return Answers(cluster)


class FakeStage:
    """Hosts that answer orders by functions of a test; `dies` maps a host to the order in which it is lost."""

    def __init__(self, hosts, answer, dies=None):
        self.names, self.answer, self.dies = tuple(hosts), answer, dies or {}
        self.lost, self.orders = {}, []

    @property
    def hosts(self):
        """Hosts that answer."""
        return tuple(name for name in self.names if name not in self.lost)

    def do(self, parts):
        """One order."""
        asked = {host: part for host, part in parts.items() if host not in self.lost}
        self.orders.append(asked)
        for host, order in self.dies.items():
            if host in asked and len(self.orders) >= order:
                self.lost[host] = "no answer"
        answers = {
            host: self.answer(host, part, asked, self) for host, part in asked.items() if host in self.hosts
        }
        return {host: each for host, each in answers.items() if each is not None}


@pytest.fixture
def site(cluster):
    """`site(answer)` with the lab's four hosts on stage."""

    def make(answer, *, dies=None, tools=TOOLS, hosts=None):
        names = hosts or [host.name for host in cluster.hosts("compute")]
        compute = {str(cluster.host(name).addresses["compute"]): "compute" for name in names}
        facts = {name: {"tools": tools, "versions": VERSIONS, "interfaces": compute} for name in names}
        return BenchSite(cluster, FakeStage(names, answer, dies), facts)

    return make


@pytest.fixture
def stage():
    """`stage(hosts, answer)`: hosts that answer orders by that function."""
    return FakeStage
