"""Runs on hosts without a scheduler: keepers, agents and supervisors as real processes, each host as a process group.

All hosts are this machine; a host is lost when all of its processes are killed at once.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.onhost.supervisor import slow_storage

from clusterwright.onhost.supervisor import host_keeper, ssh_hosts
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.job import read_record

SOURCE = Path(__file__).parents[3] / "src"
COUNTING = Path(__file__).parent / "counting.py"
pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]

SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
echo "$2" >>"$WRIGHT_TEST_CALLS"
[ -e "$WRIGHT_TEST_CALLS.off" ] || exec sh -c "$3"
"""


class HostsRun:
    """A run of counting.py on two hosts or more, `h1` and so on."""

    def __init__(self, folder, write_record, tools):
        self.folder, self.write_record, self.tools = folder, write_record, tools
        self.python_path = str(SOURCE)
        self.calls = tools / "calls"

    def start(self, *, hosts=2, nodes=2, policy="successor", **recovery):
        """Start a keeper on each host, as the launch does over SSH."""
        names = [f"h{number}" for number in range(1, hosts + 1)]
        fields = {
            "name": "counting", "command": [str(COUNTING), "1000", "0.05", "0"], "time": "1d", "nodes": nodes,
            "gpus_per_node": 1, "elastic": {"min_nodes": 1}, "checkpoint": {"every": "5 steps"},
            "recovery": {"on_host_loss": policy, "heartbeat_timeout": "2s", **recovery},
        }  # fmt: skip
        self.write_record(self.folder, fields)
        record = json.loads((self.folder / "job.json").read_text())
        (self.folder / "job.json").write_text(json.dumps({**record, "local": False, "hosts": names}))
        (self.folder / "logs").mkdir()
        keeper = f"{sys.executable} -m {host_keeper.__name__} {self.folder} $1"
        script = f"export PYTHONPATH={self.python_path}\nexec {keeper}\n"
        (self.folder / "job.sh").write_text(script)
        for name in names:
            self.begin(name)
        return self

    def begin(self, host):
        """Start the keeper of a host by the line that also goes over SSH."""
        path = f"{self.tools}:{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "WRIGHT_TEST_CALLS": str(self.calls)}
        subprocess.run(
            ["sh", "-c", ssh_hosts.start_command(str(self.folder), host)], env=env, check=True, timeout=10
        )

    def events(self, kind, **wanted):
        """Events of a kind so far, by time."""
        lines = [
            json.loads(line)
            for path in self.folder.glob("events/*.jsonl")
            for line in path.read_text().splitlines()
        ]
        chosen = [event for event in lines if event["event"] == kind]
        chosen = [
            event for event in chosen if all(event.get(name) == value for name, value in wanted.items())
        ]
        return sorted(chosen, key=lambda event: event["time"])

    def until(self, seen, limit_s=90):
        """Wait until `seen` returns something, and return that."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if result := seen():
                return result
            time.sleep(0.05)
        raise AssertionError(f"not within {limit_s} s:\n{self.said()}")

    def until_step(self, step, generation=None):
        """Wait until a step of the generation is complete."""
        wanted = {} if generation is None else {"generation": generation}
        return self.until(lambda: [one for one in self.events("step", **wanted) if one["step"] >= step])

    def said(self):
        """All logs of the run's own programs."""
        files = [self.folder / "job.out", *self.folder.glob("logs/*.log")]
        return "\n".join(f"{file.name}:\n{file.read_text()}" for file in files if file.exists())

    def processes(self, host=""):
        """Process ids of the run, of one host by its name in the environment or the command line."""
        mark, found = os.fsencode(self.folder), []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                line, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            except OSError:
                continue
            is_host = not host or line.endswith(f"\0{host}\0".encode())
            is_host = is_host or f"CLUSTERWRIGHT_HOST={host}\0".encode() in environment
            if mark in line + environment and is_host:
                found.append(int(entry.name))
        return found

    def lose(self, host):
        """Kill everything of a host at once, as a power cut does."""
        for pid in self.processes(host):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def outcome(self):
        """Wait for the end of the run; how it ended."""
        self.until((self.folder / "ended.json").exists)
        return json.loads((self.folder / "ended.json").read_text())

    def finish(self):
        """Let the training reach its end soon; return its outcome once no process is left."""
        (self.folder / "enough").touch()
        outcome = self.outcome()["outcome"]
        self.until(lambda: not self.processes(), limit_s=30)
        return outcome


@pytest.fixture
def hosts_run(tmp_path, write_record):
    """A run that has not begun; `ssh` starts its command on this machine unless `calls.off` exists."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ssh").write_text(SSH)
    (tools / "ssh").chmod(0o755)
    run = HostsRun(tmp_path / "counting-20261127-120000", write_record, tools)
    yield run
    while left := run.processes():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.1)


def test_a_run_finishes_and_leaves_no_process(hosts_run):
    """The supervisor starts on the first host; ssh is not needed while all hosts come."""
    hosts_run.start()
    hosts_run.until_step(7)

    hosts_run.until(lambda: {event["host"] for event in hosts_run.events("resumed")} == {"h1", "h2"})
    assert hosts_run.events("job_start")[0]["host"] == "h1"
    assert hosts_run.finish() == "finished"
    assert not hosts_run.calls.exists()


def test_a_standby_host_takes_the_place_of_a_lost_one(hosts_run):
    """The run resumes from the newest checkpoint on as many hosts as before."""
    hosts_run.start(hosts=3)
    hosts_run.calls.with_suffix(".off").touch()
    hosts_run.until_step(7)
    hosts_run.lose("h2")
    hosts_run.until_step(7, generation=2)

    assert hosts_run.events("generation_start")[1]["hosts"] == ["h1", "h3"]
    assert min(event["step"] for event in hosts_run.events("resumed", generation=2)) >= 5
    assert hosts_run.finish() == "finished"


def test_the_loss_of_the_supervisors_host_is_survived(hosts_run):
    """An agent of another host starts the next supervisor, which asks for the lost host over SSH."""
    hosts_run.start(hosts=3)
    hosts_run.calls.with_suffix(".off").touch()
    hosts_run.until_step(7)
    hosts_run.lose("h1")
    hosts_run.until_step(7, generation=2)

    assert hosts_run.events("generation_start")[1]["hosts"] == ["h2", "h3"]
    assert min(event["step"] for event in hosts_run.events("resumed", generation=2)) >= 5
    hosts_run.until(lambda: hosts_run.calls.exists() and "h1" in hosts_run.calls.read_text().split())
    assert hosts_run.finish() == "finished"


def test_the_loss_of_the_supervisors_host_is_survived_on_slow_storage(hosts_run):
    """A supervisor that takes its time to start is not replaced meanwhile, and no other host is lost."""
    slow_storage.install(hosts_run.folder.parent)
    slow_storage.set_delay(hosts_run.folder.parent, 0)
    hosts_run.python_path += f":{hosts_run.folder.parent}"
    hosts_run.start(hosts=3)
    hosts_run.calls.with_suffix(".off").touch()
    hosts_run.until_step(7)
    slow_storage.set_delay(hosts_run.folder.parent, 0.4)
    hosts_run.lose("h1")
    hosts_run.until_step(1, generation=2)
    slow_storage.set_delay(hosts_run.folder.parent, 0)

    assert [event["number"] for event in hosts_run.events("failover")] == [2]
    assert {event["lost_host"] for event in hosts_run.events("host_lost")} == {"h1"}
    assert hosts_run.finish() == "finished"


def test_without_a_standby_host_a_run_waits_for_the_lost_one(hosts_run):
    """The next supervisor starts it again over SSH, and the run goes on with both."""
    hosts_run.start()
    hosts_run.until_step(7)
    hosts_run.lose("h2")
    hosts_run.until_step(7, generation=2)

    assert hosts_run.events("generation_start")[1]["hosts"] == ["h1", "h2"]
    assert hosts_run.events("successor")
    assert hosts_run.finish() == "finished"


def test_an_elastic_run_goes_on_with_the_remaining_host(hosts_run):
    """With `on_host_loss: shrink`."""
    hosts_run.start(policy="shrink")
    hosts_run.calls.with_suffix(".off").touch()
    hosts_run.until_step(7)
    hosts_run.lose("h2")
    hosts_run.until_step(7, generation=2)

    assert hosts_run.events("generation_start")[1]["hosts"] == ["h1"]
    assert hosts_run.finish() == "finished"


def test_a_canceled_run_saves_and_leaves_no_process(hosts_run):
    """On no host."""
    hosts_run.start()
    hosts_run.until_step(3)
    (hosts_run.folder / "cancelled").touch()

    assert hosts_run.outcome()["outcome"] == "cancelled"
    assert hosts_run.events("stopped")
    hosts_run.until(lambda: not hosts_run.processes(), limit_s=30)


def test_a_host_has_one_keeper(hosts_run):
    """A second one of the same run ends at once."""
    hosts_run.start()
    hosts_run.until_step(1)
    hosts_run.begin("h2")
    keepers = [
        pid
        for pid in hosts_run.processes("h2")
        if b"host_keeper" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]

    hosts_run.until(lambda: sum(Path(f"/proc/{pid}").exists() for pid in keepers) == 1)
    assert hosts_run.finish() == "finished"


def test_a_supervisor_that_cannot_start_ends_the_run(hosts_run):
    """The reason names the host and the log; keepers of all hosts end."""
    hosts_run.start()
    hosts_run.lose("h1")
    record = json.loads((hosts_run.folder / "job.json").read_text())
    record["launch"]["management"] = "203.0.113.0/24"
    (hosts_run.folder / "job.json").write_text(json.dumps(record))
    hosts_run.lose("h2")
    for name in ("pulse", "ended.json"):
        (hosts_run.folder / name).unlink(missing_ok=True)
    hosts_run.begin("h1")

    assert "the supervisor on h1 ended with exit code 1" in hosts_run.outcome()["reason"]
    hosts_run.until(lambda: not hosts_run.processes(), limit_s=30)


def test_a_run_in_an_allocation_ends_with_its_command(tmp_path, write_record):
    """A scheduler that kills the command kills nothing on other hosts; a run without a lease goes on."""
    write_record(tmp_path, {"name": "counting", "command": ["a"], "time": "1d"})
    record = read_record(str(tmp_path))._replace(local=False, hosts=("h1", "h2"))
    keeper = host_keeper.Keeper(Folder(str(tmp_path)), record, "h2")
    keeper.check_lease(1000.0)
    for now, text in ((2000.0, "1"), (2059.0, "1"), (2061.0, "2"), (2120.0, "2")):
        (tmp_path / "lease").write_text(text)
        keeper.check_lease(now)
    assert not (tmp_path / "cancelled").exists()

    keeper.check_lease(2121.0)
    assert (tmp_path / "cancelled").exists()
