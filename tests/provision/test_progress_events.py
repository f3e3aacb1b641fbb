"""What an apply reports while it runs: every host, and on each host the steps with their roles."""

import sys
from dataclasses import replace
from functools import partial

import pytest

from clusterwright.edge.bundler import LOADER, PROVISION, program_input
from clusterwright.edge.clock import SystemClock
from clusterwright.edge.processes import run as run_process
from clusterwright.edge.progress import ProgressEvent, lines_with
from clusterwright.onhost.provision.timings import STEP
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.carry import DisruptionPolicy, carry_out
from clusterwright.provision.resources import File
from clusterwright.provision.roles import declared_resources, desired_resources
from clusterwright.provision.work import HostWork


class LocalHosts:
    """Hosts whose agent runs here, below a folder of its own for each."""

    sudo = False

    def __init__(self, folder):
        self.folder, self.calls = folder, 0

    def run(self, host, _command, *, stdin=b"", timeout_s=60):
        """Run the agent."""
        self.calls += 1
        return run_process((sys.executable, "-c", LOADER), stdin=stdin, timeout_s=timeout_s)


@pytest.fixture
def work(cluster, tmp_path, monkeypatch):
    """`work(**more)`: one file for each host, and the connection."""
    hosts = LocalHosts(tmp_path)
    files = (File(path="/etc/a.conf", content="a\n"), File(path="/etc/b.conf", content="b\n"))
    # the agent's own root, which only tests have
    monkeypatch.setattr("clusterwright.provision.work.Order", partial(Order, root=str(tmp_path / "root")))

    def make(**more):
        return hosts, HostWork(
            cluster,
            "c",
            hosts,
            SystemClock(),
            "20261121-100000",
            resources=lambda _host: files,
            role_of=lambda _host, id_: "base" if id_ == "file:/etc/a.conf" else "",
            **more,
        )

    return make


def applied(work, seen):
    """Apply to the control host; return the report."""
    return carry_out(
        replace(work, cluster=work.cluster.model_copy(update={"os": ""})),
        ["control"],
        policy=DisruptionPolicy(on_event=seen.append),
    )


def test_steps_of_a_host_arrive_while_it_works(work):
    """In order, each with the role of its resource; the check before the question reports no steps."""
    seen = []
    _hosts, made = work(on_event=seen.append)
    report = applied(made, seen)
    doing = [event.doing for event in seen if event.host == "control" and event.doing]

    assert report.ok, report.hosts
    assert report.changed == 2
    assert doing[:2] == ["comparing with the cluster file", "making changes"]
    assert [text for text in doing if "file:" in text] == ["base: file:/etc/a.conf", "file:/etc/b.conf"]
    assert [event.is_finished for event in seen if event.is_finished] == [True, True]
    assert seen[-1] == ProgressEvent("control", is_finished=True)


def test_progress_takes_no_further_connection(work):
    """As many as without anybody who listens, and the same changes."""
    hosts, made = work()
    report = applied(made, [])

    assert report.changed == 2
    assert hosts.calls == 2


def test_without_a_listener_the_agent_prints_its_answer_alone(tmp_path):
    """The order says whether anybody listens."""
    lines = {}
    for progress in (False, True):
        order = Order("apply", "c", "1", root=str(tmp_path / str(progress)), progress=progress)
        data = program_input(PROVISION) + bundle(order, [File(path="/etc/a.conf", content="a\n")])
        result = run_process((sys.executable, "-c", LOADER), stdin=data)
        lines[progress] = [line for line in result.out.splitlines() if line.startswith(STEP)]

    assert lines[False] == []
    assert f"{STEP}file:/etc/a.conf" in lines[True]


def test_lines_are_read_as_they_arrive_and_only_those_with_the_prefix():
    """Also a line that comes in two parts; one without an end is none."""
    seen = []
    script = "printf 'x:one\\ny:no\\nx:t'; sleep 0.2; printf 'wo\\nx:never'"
    with lines_with("x:", seen.append):
        result = run_process(("sh", "-c", script))
    run_process(("sh", "-c", "echo x:later"))

    assert seen == ["one", "two"]
    assert result.out.endswith("x:never")


def test_an_endless_line_of_a_host_takes_no_memory():
    """A host can print what it likes."""
    seen = []
    with lines_with("x:", seen.append):
        run_process(("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo x:two"))

    assert seen == ["two"]


def test_each_resource_has_the_role_that_declares_it(cluster, given):
    """One pass over the roles yields resources and roles."""
    host = cluster.control
    declared = declared_resources(cluster, host, given)

    assert desired_resources(cluster, host, given) == tuple(resource for resource, _ in declared.values())
    assert declared["file:/etc/slurm/slurm.conf"][1] == "slurm"
