"""What a host answers is damaged or hostile: a command reports it, and no other exception ends the command."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusterwright.check.bench.host_bench import HostBench, run_pass
from clusterwright.check.bench.kinds.memory import figures
from clusterwright.check.bench.stage import JobStage, StagedPart
from clusterwright.config.load import source_of
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.errors import WrightError
from clusterwright.launch.listing import list_jobs
from clusterwright.monitor.fetch.fetch import of_job
from clusterwright.monitor.gather import gather
from clusterwright.onhost.bench.conduct import MARKER
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.change.fields import ClusterFile
from clusterwright.provision.powered_down import PoweredDownHosts
from clusterwright.provision.shrink import Removal, _purge
from clusterwright.provision.work import HostWork

COUNT = 300
FILE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
LAB = ClusterFile.from_source(source_of(FILE))
SNAPSHOT = {
    "now": 1.0, "mark": "ab", "said": {"nodes": "NodeName=gpu-node1 State=IDLE\n", "jobs": "", "shares": ""},
    "silent": {"alerts": "x"}, "measures": {}, "alerts": [], "runs": {},
}  # fmt: skip
HISTORY = {
    "now": 1.0,
    "sacct": "",
    "values": {"a": [[{"b": "c"}, 2.0]]},
    "silent": {"run": "x"},
    "run": {},
    "zone_s": 0,
}
RUNS = [{"run": "gpt", "jobs": ["9"], "step": 30, "checkpoint": 25, "ended": {"outcome": "finished"}}]
REPORT = {
    "code": 0,
    "out": '{"copy": 1.0, "triad": 2, "right": true, "array_bytes": 1, "threads": 1}',
    "err": "",
    "stopped": "",
}
BENCH = {"answers": {"gpu-node1": REPORT}, "state": "RUNNING"}
SUMS = {"sums": {"gpu-node2": "abc"}, "drained": ["gpu-node2"]}


def stage(remote):
    """Run one part of a bench, and read what it printed as the benches do."""
    job = JobStage(remote, "control", None, "/f", "7", ("gpu-node1",), lambda _text: None)
    bench = HostBench("memory", lambda _host: StagedPart("memory", {}, 1.0), figures, "")
    return run_pass(SimpleNamespace(stage=job), bench, job.hosts)


def powered_down(remote):
    """Load what an earlier apply stored."""
    saving = SimpleNamespace(provider={"kind": "lab"})
    cluster = LAB.cluster.model_copy(
        update={"slurm": LAB.cluster.slurm.model_copy(update={"power_saving": saving})}
    )
    loaded = PoweredDownHosts.load(HostWork(cluster, "c.yaml", remote, FakeClock(), "1"))
    return loaded.sums.get("gpu-node2"), "gpu-node2" in loaded.drained


COMMANDS = {
    "top": (SNAPSHOT, "", lambda remote: gather(LAB.cluster, remote)),
    "report": (HISTORY, "", lambda remote: of_job(LAB.cluster, remote, "7")),
    "jobs": (RUNS, "\n", lambda remote: list_jobs(LAB.cluster, remote)),
    "bench": (BENCH, MARKER, stage),
    "apply": (SUMS, "", powered_down),
    "remove": (
        {"error": ""}, ANSWER,
        lambda remote: _purge(Removal(FILE, LAB, ("gpu-node1",), 1.0), remote, "gpu-node1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hostile_answer_ends_no_command_with_another_error(command, hostile):
    """Nesting, numbers without end, other types, lost fields; the intact answer is read."""
    document, prefix, call = COMMANDS[command]
    answer = ""
    remote = FakeRemote(lambda *_: answer)
    answer = prefix + json.dumps(document)
    call(remote)
    ends = set()
    for data in hostile(COUNT, json.dumps(document).encode()):
        answer = prefix + data.decode("utf-8", "replace")
        try:
            call(remote)
            ends.add("read")
        except WrightError:
            ends.add("reported")

    assert "read" in ends
