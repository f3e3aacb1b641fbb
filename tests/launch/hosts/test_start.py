"""From `wright train --hostfile` to the end of a run, on hosts that are all this machine."""

import json
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from clusterwright.cli.train import How, Typed, train
from clusterwright.edge.processes import run as run_process
from clusterwright.edge.ssh import LocalMachine
from clusterwright.errors import WrightError
from clusterwright.launch.ended_run import find_ended
from clusterwright.launch.hosts import start
from clusterwright.launch.hosts.choose import default_size, hosts_of, resolve_for
from clusterwright.launch.hosts.hostfile import SlotHost
from clusterwright.launch.hosts.start import (
    hold_lease,
    is_local_address,
    require_capacity,
    resume_on_hosts,
    start_on_hosts,
)
from clusterwright.launch.listing import list_local_runs
from clusterwright.launch.resolve import Overrides
from clusterwright.onhost.runs import run_status

COUNTING = Path(__file__).parents[2] / "onhost" / "supervisor" / "counting.py"
HOST_KEEPER = "clusterwright.onhost.supervisor.host_keeper"
PROGRAM = ("torchrun", "--nproc-per-node=1", str(COUNTING), "100000", "0.05")


class Elsewhere:
    """A host that is this machine with an address of its own; SSH to it is a shell."""

    sudo = False

    def __init__(self, number):
        self.address = f"127.0.0.{number}"

    def run(self, host, command, *, stdin=b"", timeout_s=60):
        """Run the command, and give the host's own address where it prints addresses."""
        result = run_process(("sh", "-c", command), stdin=stdin, timeout_s=timeout_s)
        if '"addresses"' not in result.out:
            return result
        facts = {**json.loads(result.out), "addresses": [["lo", self.address, "255.0.0.0"]], "gpus": []}
        return type(result)(result.argv, result.code, json.dumps(facts), result.err, result.seconds)


def processes(folder):
    """Process ids with the folder in their command line or environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(folder) in text:
                found.append(int(entry.name))
    return found


@pytest.fixture
def shared(tmp_path):
    """A shared folder; whatever is left of a run in it is ended."""
    yield tmp_path / "runs"
    for pid in processes(tmp_path / "runs"):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def until(seen, limit_s=90):
    """Wait until `seen` returns something, and return that."""
    end = time.monotonic() + limit_s
    while not (result := seen()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return result


@pytest.mark.train
@pytest.mark.timeout(200)
def test_a_training_starts_on_all_hosts_and_cancel_leaves_nothing(shared, monkeypatch):
    """Two hosts of a hostfile train; `jobs` and `status` show the run; canceled, no process is left."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    hosts = [SlotHost("h1", 1), SlotHost("h2", 1)]
    job = resolve_for(PROGRAM, Overrides({"checkpoint": {"every": "5 steps"}}), hosts).job
    remotes = {host.name: Elsewhere(number + 1) for number, host in enumerate(hosts)}
    run = start_on_hosts(job, hosts, shared, base_folder=COUNTING.parent, remotes=remotes)

    status = until(lambda: (one := run_status.status(run.folder))["step"] and one)
    assert (job.nodes, status["state"], status["hosts"]) == (2, "running", ["h1", "h2"])
    (row,) = list_local_runs(shared)
    assert (row.run, row.job_id, row.state) == (run.name, run.job_id, "RUNNING")
    assert not list(shared.glob(".[0-9a-f]*"))  # of the test of the shared folder

    (Path(run.folder) / "cancelled").touch()
    until(lambda: not processes(shared))
    assert run_status.status(run.folder)["state"] == "cancelled"


@pytest.mark.train
@pytest.mark.timeout(300)
def test_an_ended_run_resumes_on_other_hosts(shared, monkeypatch):
    """At once after it was canceled, while the keepers of before still end; one host is replaced."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    remotes = {f"h{number}": Elsewhere(number) for number in (1, 2, 3)}
    hosts = [SlotHost("h1", 1), SlotHost("h2", 1)]
    job = resolve_for(PROGRAM, Overrides({"checkpoint": {"every": "5 steps"}}), hosts).job
    run = start_on_hosts(job, hosts, shared, base_folder=COUNTING.parent, remotes=remotes)
    until(lambda: list(Path(run.folder).glob("checkpoints/step-*")))
    (Path(run.folder) / "cancelled").touch()
    until((Path(run.folder) / "ended.json").exists)

    others = [SlotHost("h1", 1), SlotHost("h3", 1), SlotHost("h2", 1)]
    again = resume_on_hosts(find_ended(shared, run.name), others, remotes)
    assert [str(note) for note in again.warnings if "standby" in str(note)] == ["note: standby: h2"]
    until(lambda: "rank 1 of 2 from step" in logs(run, "h3"))
    status = run_status.status(run.folder)
    (Path(run.folder) / "cancelled").touch()
    until(lambda: not processes(shared))

    assert (again.name, status["state"], status["hosts"]) == (run.name, "running", ["h1", "h3"])
    assert int(logs(run, "h3").rpartition("from step ")[2]) >= 5
    assert (Path(run.folder) / "jobs").read_text().split() == [run.job_id, again.job_id]


def logs(run, host):
    """All that the ranks of a host have printed."""
    return "".join(path.read_text() for path in sorted(Path(run.folder).glob(f"logs/*/{host}/*")))


def test_a_folder_that_a_host_does_not_see_is_refused(shared, a_job, monkeypatch):
    """Nothing is left in the folder."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")

    class OwnFolder(Elsewhere):
        """A host with another folder of the same name."""

        def run(self, host, command, *, stdin=b"", timeout_s=60):
            """The folder of the command is another one here."""
            return super().run(
                host, command.replace(str(shared), "/var/empty"), stdin=stdin, timeout_s=timeout_s
            )

    hosts = [SlotHost("h1"), SlotHost("h2")]
    with pytest.raises(WrightError, match="h2: the host does not see") as raised:
        start_on_hosts(
            a_job(nodes=2), hosts, shared / "new", remotes={"h1": Elsewhere(1), "h2": OwnFolder(2)}
        )

    assert not (shared / "new").exists()

    assert raised.value.code == "hosts-unfit"
    assert not list(shared.iterdir())


@pytest.mark.parametrize(
    ("hosts", "fields", "code"),
    [
        ([SlotHost("h1")], {"nodes": 2}, "hosts-few"),
        ([SlotHost("h1", 2)], {"gpus_per_node": 4}, "hosts-few"),
        ([SlotHost("h1"), SlotHost("localhost")], {}, "hostfile-line"),
    ],
)
def test_a_job_that_has_no_room_is_refused(a_job, hosts, fields, code):
    """Before any host is asked."""
    with pytest.raises(WrightError) as raised:
        require_capacity(a_job(**fields), hosts)

    assert raised.value.code == code


def test_hosts_give_the_size_that_a_job_leaves_open(a_job):
    """All hosts but the standby ones, and the slots of the smallest."""
    hosts = [SlotHost("h1", 8), SlotHost("h2", 4), SlotHost("h3", 8)]

    assert default_size(a_job(), hosts) == {"nodes": 3, "gpus_per_node": 4}
    assert default_size(a_job(recovery={"spare_nodes": 1}), hosts)["nodes"] == 2
    assert default_size(a_job(nodes=2, gpus_per_node=2), hosts) == {}


def test_auto_takes_the_hosts_of_the_allocation(tmp_path):
    """A node file of PBS; outside of a job, and as one of several processes of mpirun, it is an error."""
    (tmp_path / "nodes").write_text("n1\nn1\nn2\nn2\n")
    assert hosts_of(Path("auto"), {"PBS_NODEFILE": str(tmp_path / "nodes")}) == (
        SlotHost("n1", 2),
        SlotHost("n2", 2),
    )
    for environment, code in (
        ({}, "no-allocation"),
        ({"PBS_NODEFILE": "/none"}, "no-allocation"),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, "mpi-started"),
    ):
        with pytest.raises(WrightError) as raised:
            hosts_of(Path("auto"), environment)
        assert raised.value.code == code


def test_a_dry_run_prints_the_script_of_each_host(tmp_path, monkeypatch, capsys):
    """No host is asked and nothing is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "ib0")
    (tmp_path / "hosts").write_text("h1 slots=2\nh2 slots=2\n")
    job = Typed(code="none", set=(f"environment.python={sys.executable}",))
    how = How(hostfile=Path("hosts"), dry_run=True)
    code = train("torchrun", str(COUNTING), job=job, how=how)

    lines = capsys.readouterr().out.splitlines()
    assert (code, lines[0]) == (0, "#!/bin/sh")
    assert "export NCCL_SOCKET_IFNAME=ib0" in lines
    assert lines[-1].startswith(f"exec {sys.executable} {tmp_path}/runs/.library/")
    assert f"/run_module.py {HOST_KEEPER} {tmp_path}/runs/counting-" in lines[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["hosts"]


def test_the_names_of_this_machine_need_no_ssh():
    """Other names do."""
    assert is_local_address("localhost")
    assert not is_local_address("192.0.2.1")
    assert not is_local_address("no-such-host.invalid")


def test_a_keeper_here_gets_the_environment_of_a_login(monkeypatch, tmp_path):
    """As one that ssh starts: without the variables of a scheduler's allocation."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    line = f"env >{shlex.quote(str(tmp_path / 'seen'))}"
    monkeypatch.setattr(start, "start_command", lambda _run, _host: line)
    start._start_keeper(LocalMachine(), "/run", "h1")

    seen = (tmp_path / "seen").read_text()
    assert "HOME=" in seen
    assert "SLURM_JOB_ID" not in seen


def test_a_lease_is_renewed_while_it_is_held(tmp_path, monkeypatch):
    """The keepers of all hosts see the counter grow."""
    monkeypatch.setattr(start, "RENEW_S", 0.01)
    with hold_lease(tmp_path):
        until(lambda: (tmp_path / "lease").exists() and int((tmp_path / "lease").read_text()) > 2)
    text = (tmp_path / "lease").read_text()
    time.sleep(0.05)

    assert (tmp_path / "lease").read_text() == text
