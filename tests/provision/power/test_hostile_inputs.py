"""Damaged inputs of the power daemon and of Slurm's programs that wake it; none ends them or switches a host."""

import re
import socket

import pytest

from clusterwright.onhost.lib.clean_text import UNSAFE
from clusterwright.onhost.power import keeper, slurm_hook
from clusterwright.onhost.power.providers import Provider
from clusterwright.onhost.power.records import Records
from clusterwright.onhost.power.settings import PowerSettings
from clusterwright.slurm.nodes import parse_undamaged_nodes

FEW, MANY = 1_000, 100_000
COUNTS = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
SETTINGS = PowerSettings(
    provider={"kind": "lab"}, hosts={"n1": {}, "n2": {}}, resume_timeout=60, suspend_timeout=20, spares=1,
    max_attempts=3, retry_after=10,
)  # fmt: skip
NODES = b"NodeName=n1 State=IDLE Partitions=a Reason=none\nNodeName=n2 State=MIXED+PLANNED Reason=none\n"
RECORD = b'{"n1": {"requested": "", "next": 1.5, "calls": 2, "sure": true, "message": "a"}, "n2": {}}'
pytestmark = pytest.mark.timeout(1800)


class SlurmAndProvider(Provider):
    """Slurm's nodes as damaged text; every request to it or to the provider is an error."""

    is_per_host = True
    text = ""

    def nodes(self):
        """As onhost/power/slurm.py reads them."""
        return parse_undamaged_nodes(self.text)

    def update(self, hosts, *fields):
        """No host is to be updated."""
        raise AssertionError((hosts, fields))

    on = off = state = update


@pytest.fixture
def world(tmp_path):
    """A keeper, its Slurm, and what it logs."""
    world, logged = SlurmAndProvider(), []
    ours = keeper.Keeper(
        SETTINGS, world, Records(str(tmp_path / "r"), list(SETTINGS.hosts)), logged.append, world
    )
    yield ours, world, logged
    ours.pool.shutdown()


@COUNTS
def test_damaged_records_of_slurm_switch_no_host(world, hostile, count):
    """Nodes, as a broken slurmctld prints them."""
    ours, slurm, logged = world
    for number, data in enumerate(hostile(count, NODES)):
        slurm.text = data.decode("utf-8", "replace")
        assert ours.poll(float(number)) in (keeper.BUSY_S, keeper.CALM_S)
    assert (ours.busy, logged) == ({}, [])


@pytest.mark.parametrize(
    "line", ["NodeName=n1 State=IDLE~\n", "NodeName=n1 State=IDLE~ Partitions=a Reason=none\n"]
)
def test_a_state_with_a_mark_that_scontrol_does_not_print_switches_no_host(world, line):
    """The mark of a powered-down node at the end of a line that was cut."""
    ours, slurm, logged = world
    for second in range(3):
        slurm.text = line + NODES.decode().split("\n")[1] + "\n"
        ours.poll(float(second))

    assert (ours.busy, logged) == ({}, [])


def test_a_job_id_is_a_number(tmp_path, monkeypatch):
    """`true` is none, though Python counts it as an integer."""
    path = tmp_path / "resume.json"
    path.write_text('{"jobs": [{"job_id": true}, {"job_id": 8}]}')
    monkeypatch.setenv("SLURM_RESUME_FILE", str(path))

    assert slurm_hook.jobs() == " for jobs 8"


@COUNTS
def test_damaged_stored_records_are_replaced_by_the_first_ones(tmp_path, hostile, count):
    """The values of the record have their types, so that each step can be decided."""
    path = tmp_path / "records.json"
    types = {name: type(value) for name, value in vars(Records(str(path), ["n"]).by_host["n"]).items()}
    for data in hostile(count, RECORD):
        path.write_bytes(data)
        for record in Records(str(path), list(SETTINGS.hosts)).by_host.values():
            assert {name: type(value) for name, value in vars(record).items()} == types


@COUNTS
def test_each_message_to_the_socket_is_one_line_of_the_log(tmp_path, hostile, count):
    """Of slurm and root alone, who nevertheless pass on names."""
    message = b"Slurm: resume n[1-2] for jobs 7, 8"
    path = str(tmp_path / "kick")
    with keeper.listen(path) as line, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        for data in hostile(count, message):
            sender.sendto(data, path)
            text = keeper.receive(line, 1.0)
            assert text is not None
            assert UNSAFE.search(text) is None
            assert "\n" not in text
        assert keeper.receive(line, 0.01) is None


@COUNTS
def test_a_damaged_list_of_jobs_is_left_out(tmp_path, hostile, count, monkeypatch):
    """Slurm's program must notify the daemon in any case."""
    path = tmp_path / "resume.json"
    monkeypatch.setenv("SLURM_RESUME_FILE", str(path))
    for data in hostile(
        count, b'{"all_nodes_resume": "n1", "jobs": [{"job_id": 7}, {"job_id": 8, "oversubscribe": "NO"}]}'
    ):
        path.write_bytes(data)
        assert re.fullmatch(r"( for jobs -?[0-9]+(, -?[0-9]+)*)?", slurm_hook.jobs())
