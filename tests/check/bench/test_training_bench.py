"""The bench of a training: real ranks on this machine, what they come to on a model of hosts, laws of scaling."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clusterwright.onhost.bench as folder
from clusterwright.check.bench.kinds.training import training
from clusterwright.check.bench.parsers.trained import trained
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.bench.training.routes import GLOO, GPUDIRECT, RDMA, TCP, routes, strayed
from clusterwright.check.bench.training.scaling import Exchange, chunks, expected_compute_share, sizes
from clusterwright.check.bench.training.trainings import ON_GPUS, exchange, shape_of
from clusterwright.check.bench.transport import Transport
from clusterwright.config.load import load_cluster

PROGRAMS = Path(folder.__file__).parent
EXAMPLE = Path(__file__).parents[3] / "examples/lab/cluster.yaml"
LO = "127.0.0.1"
ALL = "gpu-node[1-4]"
HOSTS = tuple(f"gpu-node{index}" for index in range(1, 5))


@pytest.mark.train
@pytest.mark.parametrize("ranks", [1, 2])
def test_real_ranks_agree_and_say_how_long_steps_took(ranks):
    """Gloo between processes of this machine; the gradients that DDP leaves are the mean of all ranks' own."""
    with socket.create_server((LO, 0)) as probe:
        free = probe.getsockname()[1]
    asked = {
        "program": "training", "backend": "gloo", "width": 64, "layers": 1, "sequences": 2, "tokens": 16,
        "seconds": 0.01, "address": LO, "port": free, "interface": "lo", "ranks": ranks, "first_rank": 0,
        "ranks_here": ranks,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, PROGRAMS / "collectives.py"],
        input=json.dumps(asked), capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    found = trained(("n1",), [StageAnswer(0, done.stdout, "")])
    assert found.wrong == ()
    assert found.ranks == ranks
    assert len(found.step_times) == len(found.compute_times) == 10
    assert found.gradient_bytes == 4 * (256 * 64 + 12 * 64**2 + 13 * 64 + 64 * 256 + 256)
    assert found.sent_bytes["n1"] >= (found.bus_bytes if ranks > 1 else 0)


def report(**more):
    """What one rank says; its exchange takes as long as half its own step."""
    return {
        "rank": 0, "together": [0.15] * 4, "alone": [0.1] * 4, "all_reduce": [0.05] * 3, "gradient_bytes": 8_000_000,
        "sent": 10**9, "loss": 5.0, "norm": 2.0, "off": 0.0,
    } | more  # fmt: skip


def said(*reports):
    """As a host prints it."""
    return StageAnswer(0, "\n".join(["a warning", *(json.dumps({"training": each}) for each in reports)]), "")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"loss": 5.1}, "losses differ"), ({"norm": 2.1}, "gradients differ"), ({"off": 0.5}, "off the mean"),
        ({"loss": float("nan")}, "losses differ"), ({"off": float("nan")}, "off the mean"),
    ],
)  # fmt: skip
def test_ranks_that_do_not_agree_are_told_of(bad, words):
    """Whatever their speed; what is no number agrees with nothing."""
    assert trained(("a", "b"), [said(report()), said(report())]).wrong == ()
    assert words in "; ".join(trained(("a", "b"), [said(report()), said(report(**bad))]).wrong)


def test_a_step_is_as_long_as_that_of_its_slowest_rank():
    """Each step of its own; hosts are told apart by their steps without the others."""
    slow = report(alone=[0.1, 0.1, 0.3, 0.3], together=[0.4] * 4)
    found = trained(("a", "b"), [said(report()), said(report(), slow)])

    assert found.step_times == (0.4,) * 4
    assert found.compute_times == (0.1, 0.1, 0.3, 0.3)
    assert found.by_host == {"a": 0.1, "b": pytest.approx(0.2)}
    assert found.compute_share == pytest.approx(0.5)
    assert found.bus_bw == pytest.approx(8e6 * 4 / 3 / 0.05)


def test_a_host_whose_ranks_say_nothing_is_named():
    """Not taken for one without waiting."""
    with pytest.raises(ValueError, match="no rank of b"):
        trained(("a", "b"), [said(report()), StageAnswer(0, "", "")])


def fabric(*, own=None, exchange_s=0.03, **more):
    """Hosts whose own step takes `own[host]` seconds, else 0.1; in a group all wait for the slowest."""
    own = own or {}

    def answer(host, part, asked, _stage):
        mine = [
            name
            for name, each in asked.items()
            if (each.given["address"], each.given["port"]) == (part.given["address"], part.given["port"])
        ]
        slowest = max(own.get(name, 0.1) for name in mine)
        together = slowest + (exchange_s if len(mine) > 1 else 0.0)
        return said(report(alone=[own.get(host, 0.1)] * 4, together=[together] * 4, **more))

    return answer


def told(outcome):
    """Status by subject and part."""
    return {(each.subject, each.part): each.status.value for each in outcome.verdicts}


WELL = {
    **{(host, "own steps"): "ok" for host in HOSTS},
    ("gpu-node[1-2]", "scaling, tcp"): "ok",
    ("gpu-node[3-4]", "scaling, tcp"): "ok",
    (ALL, "scaling, tcp"): "ok",
    (ALL, "data"): "ok",
}


def test_equal_hosts_are_well_and_the_table_is_told(site):
    """One host, two, four: one order each; samples a second, efficiency, waiting, and the share of the line."""
    lines = []
    made = site(fabric())
    outcome = training(replace(made, log=lines.append))

    assert told(outcome) == WELL
    assert [len({each.given["address"] for each in order.values()}) for order in made.stage.orders] == [
        4,
        2,
        1,
    ]
    head, one, two, four = lines[-1].splitlines()
    assert "efficiency" in head
    assert one.split()[:4] == ["-", "1", "1", "40"]
    assert two.split()[:7] == ["tcp", "2", "2", "61.54", "130", "0%", "77%"]
    assert four.split()[3:] == ["123.1", "130", "0%", "77%", "23%", "240", "MB/s,", "192%"]
    assert {each.quantity for each in outcome.measurements} >= {"training samples", "efficiency"}
    own = [each.value for each in outcome.measurements if each.quantity == "own samples"]
    assert own == [pytest.approx(40)] * 12
    assert outcome.notes == ()


@pytest.mark.parametrize("bad", HOSTS)
def test_a_slow_host_fails_and_its_groups_do_not(site, bad):
    """By its own steps, alone and in groups; the others wait for it, and are not blamed."""
    outcome = training(site(fabric(own={bad: 0.4})))

    assert told(outcome) == WELL | {(bad, "own steps"): "fail"}
    failed = next(each for each in outcome.verdicts if each.status == "fail")
    assert "4 hosts together train as fast as the planner expects" in failed.expected
    assert any("wait for the slowest" in note for note in outcome.notes)


TWO_KINDS = """    hosts: gpu-node[1-2]
    addresses: {management: 10.77.0.11, compute: 10.77.1.11, storage: 10.77.2.11}
    cpus: {sockets: 2, cores_per_socket: 8}
    memory: 16GiB
    switch: leaf1
  slower:
    role: compute
    hosts: gpu-node[3-4]
    addresses: {management: 10.77.0.13, compute: 10.77.1.13, storage: 10.77.2.13}
"""


def test_hosts_of_another_kind_are_not_held_against_each_other(site, tmp_path):
    """A node group of slower hosts is what it is; the faster ones need do no more than keep up with it."""
    file, example = tmp_path / "cluster.yaml", EXAMPLE.read_text()
    begin, end = example.index("    hosts: gpu-node"), example.index("    cpus: {sockets")
    file.write_text(
        (example[:begin] + TWO_KINDS + example[end:]).replace("nodes: [a100]", "nodes: [a100, slower]")
    )
    made = site(fabric(own={"gpu-node3": 0.4, "gpu-node4": 0.4}))
    outcome = training(BenchSite(load_cluster(file), made.stage, made.facts))

    assert told(outcome) == WELL


def test_a_slow_exchange_is_a_warning_that_shows_how_much_was_expected(site):
    """Measured twice; `bench collectives` finds the part, nobody is named here."""
    outcome = training(made := site(fabric(exchange_s=0.4)))

    warned = {key for key, status in told(outcome).items() if status == "warn"}
    assert warned == {(group, "scaling, tcp") for group in ("gpu-node[1-2]", "gpu-node[3-4]", ALL)}
    assert len(made.stage.orders) == 5
    words = next(each for each in outcome.verdicts if each.subject == ALL and each.part == "scaling, tcp")
    assert "bench collectives" in words.fix
    assert "all-reduce of 8 MB over 4 ranks" in words.expected
    assert "lab.rate_divisor 100" in words.expected
    assert "on a CPU, communication does not overlap with computation" in words.expected


def test_gradients_that_differ_fail(site):
    """However well it scales."""
    assert told(training(site(fabric(off=0.5))))[ALL, "data"] == "fail"


def test_gradients_on_another_interface_are_not_believed(site):
    """The groups are unknown, not slow or well; single hosts are judged by themselves."""
    outcome = training(site(fabric(sent=10)))

    assert told(outcome)[ALL, "scaling, tcp"] == "unknown"
    assert told(outcome)["gpu-node1", "own steps"] == "ok"


def test_a_host_that_dies_is_left_out(site):
    """The other three train by twos and as three."""
    outcome = training(site(fabric(), dies={"gpu-node2": 2}))

    assert told(outcome)["gpu-node[1,3-4]", "scaling, tcp"] == "ok"
    assert not any("gpu-node[1-2]" in subject for subject, _ in told(outcome))


def test_hosts_that_all_die_are_left_to_the_run(site):
    """Nothing is measured, nobody is judged here; the run says that they are lost."""
    outcome = training(site(fabric(), dies=dict.fromkeys(HOSTS, 1)))

    assert (outcome.measurements, outcome.verdicts) == ((), ())


def test_where_no_rank_runs_all_is_unknown(site):
    """Not green; and no figure is told."""
    outcome = training(site(lambda *_: StageAnswer(1, "", "no torch")))

    assert {*told(outcome).values()} == {"unknown"}
    assert outcome.measurements == ()


SEEN = trained(("a", "b"), [said(report()), said(report())])
SOCKET, IB = Transport("NET/Socket", ("eth0",), gdr=False), Transport("NET/IB", ("mlx5_0",), gdr=False)
DIRECT = replace(IB, gdr=True)


@pytest.mark.parametrize(
    ("route", "log", "right"),
    [
        (TCP, SOCKET, True), (TCP, IB, False), (RDMA, IB, True), (RDMA, DIRECT, False), (RDMA, SOCKET, False),
        (GPUDIRECT, DIRECT, True), (GPUDIRECT, IB, False), (GPUDIRECT, Transport(), False), (TCP, Transport(), False),
    ],
)  # fmt: skip
def test_a_forced_transport_is_believed_only_by_nccls_own_log(route, log, right):
    """What it took instead is told."""
    words = strayed(route, replace(SEEN, transport=log))

    assert (words == "") is right
    assert right or words.startswith("NCCL used")


@pytest.fixture
def metal(site, tmp_path):
    """Four hosts with GPUs and ports of RDMA."""
    file, lab = tmp_path / "cluster.yaml", EXAMPLE.read_text()
    file.write_text(lab[: lab.index("# This section makes it the file of a lab")])
    made = site(fabric())
    versions = {"nccl": "2.21.5", "driver": "550.1", "firmware": "28.39"}
    facts = {host: {**found, "versions": versions} for host, found in made.facts.items()}
    return BenchSite(load_cluster(file), made.stage, facts)


def test_gpus_train_over_every_transport_that_is_there(metal):
    """The planner knows TCP and GPUDirect; of RDMA without it nothing is expected."""
    group = replace(SEEN, hosts=HOSTS, gradient_bytes=10**9)
    tcp, rdma, gpudirect = (exchange(metal, route, group) for route in (TCP, RDMA, GPUDIRECT))

    assert shape_of(metal) is ON_GPUS
    assert routes(metal, "nccl") == (TCP, RDMA, GPUDIRECT)
    assert rdma is None
    assert tcp.seconds > gpudirect.seconds > 10**9 / 12.5e9
    assert "by the planner" in tcp.reason
    assert (
        tcp.rule
        == "the expected exposed communication is the longest of: 30% of the communication, the part of it that is "
        "longer than 67% of the step without communication, and one of its 39 buckets"
    )


def test_the_model_of_cpus_fits_the_declared_line(site):
    """Passed on once, its gradients take a line about 0.05 s."""
    shape = shape_of(made := site(fabric()))
    weights = shape.layers * 12 * shape.width**2

    assert routes(made, "gloo") == (GLOO,)
    assert 0.03 < weights * 4 / 117.6e6 < 0.08


seconds = st.floats(1e-4, 1e3)
exchanges = st.builds(
    Exchange, seconds, st.integers(1, 100), st.floats(0, 1), st.floats(0.1, 1), st.just("because")
)


@given(seconds, exchanges)
def test_an_exchange_leaves_a_share_and_less_at_less_bandwidth(own_s, exchange):
    """What is enough is never more than what is expected, and nothing hides more than all of it."""
    want = expected_compute_share(own_s, exchange)

    assert 0 < want.least <= want.value < 1
    assert 0 < exchange.exposed_s(own_s) <= exchange.seconds * (1 + 1e-9)
    assert exchange.exposed_s(own_s, bandwidth=0.5) >= exchange.exposed_s(own_s)


@given(st.integers(1, 300))
def test_sizes_double_and_end_with_all(hosts):
    """Powers of two below, then all hosts, each once."""
    found = sizes(hosts)

    assert found == tuple(sorted({*found}))
    assert all(size == hosts or size & (size - 1) == 0 for size in found)
    assert found[-1:] == ((hosts,) if hosts > 1 else ())


@given(st.integers(1, 40), st.integers(1, 40))
def test_groups_of_a_size_share_no_host(count, size):
    """As many as there are hosts for."""
    hosts = [f"n{index}" for index in range(count)]
    found = chunks(hosts, size)

    assert [host for group in found for host in group] == hosts[: count // size * size]
    assert {len(group) for group in found} <= {size}
