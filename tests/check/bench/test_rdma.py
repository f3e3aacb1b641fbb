"""Rails of pairs on a model of links: the port, way or setting that is slow is named, and nothing else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.check.bench import latency
from clusterwright.check.bench.kinds.rdma import rdma
from clusterwright.check.bench.rdma.expected import latency as bound_of
from clusterwright.check.bench.rdma.expected import rate as rate_of
from clusterwright.check.bench.rdma.verbs import GDR, PING, TESTS
from clusterwright.check.bench.stage import StageAnswer

RECORDED = Path(__file__).parent / "recorded"
TOOLS = dict.fromkeys((*(test.program for test in TESTS), "ib_write_bw"), "/usr/bin/it")
HOSTS = [f"gpu-node{index}" for index in range(1, 5)]


def text(name):
    """One recorded form."""
    return (RECORDED / f"{name}.txt").read_text()


def printed(argv, gbits, us):
    """What a program of perftest prints, with that rate or that latency."""
    options = dict(word.split("=", 1) for word in argv if "=" in word)
    gid = options.get("--gid-index")
    whole = text("perftest_heading").replace("{title}", "Test").replace("{device}", options["--ib-dev"])
    whole = whole.replace("{link}", "Ethernet" if gid else "IB").replace("{gid}", gid or "0")
    gpu = text("perftest_gpu") if "--use_cuda" in options else ""
    if argv[0].endswith("bw"):
        return gpu + whole + text("perftest_rate").replace("{rate}", f"{gbits:.2f}")
    heading, row = text("send_lat").splitlines()[1:3]
    return f"{whole}{heading}\n{row.replace('0.98', f'{us:.2f}')}\n"


def port(device, *, infiniband=False, state="4: ACTIVE", gids=True, lid=5):
    """One port as the kernel shows it, at 100 Gbit/s."""
    gid = {"index": "3", "gid": "::ffff:10.77.1.11", "type": "RoCE v2", "interface": "compute"}
    return {
        "device": device, "port": "1", "firmware": "", "board": "", "state": state,
        "phys_state": "5: LinkUp" if state.endswith("ACTIVE") else "3: Disabled", "rate": "100 Gb/sec (4X EDR)",
        "link_layer": "InfiniBand" if infiniband else "Ethernet", "lid": hex(lid), "sm_lid": "0x1",
        "interfaces": [], "gids": [gid] if gids else [],
    }  # fmt: skip


class Links:
    """Answers for every host; `rate(source, target, rail, times)` in Gbit/s, `us(client, server, rail)`."""

    def __init__(self, cluster, rate=lambda *_: 95.0, us=lambda *_: 0.9, *, ports=lambda _host: None, **more):
        """`cuda`, `ibping`, `dead` (a program that cannot start), `rails`, `infiniband`."""
        self.names = {str(host.addresses["compute"]): host.name for host in cluster.hosts("compute")}
        self.rate, self.us, self.ports, self.more, self.seen = rate, us, ports, more, {}

    def __call__(self, host, part, asked, stage):
        """One program."""
        role = part.given["role"]
        if role == "ports":
            infiniband = self.more.get("infiniband", False)
            usual = [port(f"mlx5_{n}", infiniband=infiniband) for n in range(self.more.get("rails", 1))]
            rows = {"ports": self.ports(host) or usual, "verbs": 1}
            about = {"cuda": self.more.get("cuda", False), "ibping": self.more.get("ibping", False)}
            return StageAnswer(0, json.dumps({"ports": json.dumps(rows), **about}), "")
        server = self.names[part.given["address"]]
        client = next(
            name
            for name, other in asked.items()
            if name != server and other.given["address"] == part.given["address"]
        )
        if role == "server":
            key = (server, client)
            self.seen[key] = self.seen.get(key, 0) + 1
        rails = [
            {test["name"]: self.one(test, number, server, client) for test in tests}
            for number, tests in enumerate(part.given["rails"])
        ]
        return StageAnswer(0, json.dumps({"rails": rails}), "")

    def one(self, test, rail, server, client):
        """One test."""
        if test["name"] == PING:
            return {"code": 0, "out": text("ibping")}
        if test["name"] == self.more.get("dead"):
            return {"code": 1, "out": "Couldn't allocate MR\n failed to create mr"}
        ends = (server, client) if "read" in test["name"] else (client, server)
        times = self.seen.get((server, client), 1)
        return {
            "code": 0,
            "out": printed(test["client"], self.rate(*ends, rail, times), self.us(client, server, rail)),
        }


@pytest.fixture
def metal(site, cluster):
    """`metal(...)`: the lab's hosts as real ones, whose links are `Links(...)`; `compute` is what differs of it."""

    def make(*links, compute=None, variables=None, tools=TOOLS, **more):
        answer = Links(cluster, *links, **more)
        networks = cluster.networks.model_copy(
            update={"compute": cluster.networks.compute.model_copy(update=compute or {})}
        )
        jobs = cluster.jobs.model_copy(update={"variables": variables or {}})
        other = cluster.model_copy(update={"lab": None, "networks": networks, "jobs": jobs})
        return replace(site(answer, tools=tools), cluster=other)

    return make


def statuses(outcome):
    """Subject, part and status of everything that is not ok."""
    return {(each.subject, each.part, each.status.value) for each in outcome.verdicts if each.status != "ok"}


def test_clean_rails_are_all_well(metal):
    """One verdict for each rail of each host; bandwidth both ways, both latencies, GPUDirect; three rounds, twice."""
    outcome = rdma(made := metal(cuda=True, rails=2, compute={"rails": 2}))

    assert statuses(outcome) == set()
    assert {(each.subject, each.part) for each in outcome.verdicts} == {
        (host, f"rail {rail}") for host in HOSTS for rail in range(2)
    }
    assert len(outcome.measurements) == 12 * 2 * 5
    assert len(made.stage.orders) == 1 + 2 * 3
    row = next(each for each in outcome.measurements if each.quantity == GDR)
    assert row.value == 95e9 / 8
    assert row.conditions["transport"] == "verbs over roce"
    assert row.subject.endswith(("rail 0", "rail 1"))


def test_the_slow_rail_of_one_host_is_named_with_its_device(metal):
    """Its other rail is well, and so are its partners; measured twice."""
    slow = lambda a, b, rail, _: 40.0 if rail == 1 and "gpu-node3" in (a, b) else 95.0
    outcome = rdma(metal(slow, rails=2, compute={"rails": 2}))

    assert statuses(outcome) == {("gpu-node3", "rail 1", "fail")}
    failed = [each for each in outcome.verdicts if each.status == "fail"]
    assert {each.observed.partition(":")[0] for each in failed} == {
        "mlx5_1 send bandwidth, sending", "mlx5_1 read bandwidth, sending",
    }  # fmt: skip
    assert "90% of 12.5 GB/s: networks.compute.rate 100Gbit/s" in failed[0].expected
    assert "cable" in failed[0].fix


def test_a_slow_way_between_two_good_hosts_is_named_as_such(metal):
    """Both do well with others."""
    bad = {"gpu-node1", "gpu-node4"}
    outcome = rdma(metal(lambda a, b, *_: 40.0 if {a, b} == bad else 95.0))

    assert {(subject, status) for subject, _, status in statuses(outcome)} == {
        ("gpu-node1>gpu-node4", "fail"), ("gpu-node4>gpu-node1", "fail"),
    }  # fmt: skip


def test_a_disturbance_that_does_not_come_again_is_no_fault(metal):
    """Slow once, well when measured again."""
    outcome = rdma(metal(lambda a, b, _, times: 40.0 if times == 1 and "gpu-node2" in (a, b) else 95.0))

    assert statuses(outcome) == set()


def test_where_all_are_slow_nobody_is_blamed(metal):
    """The declared rate is wrong, say."""
    outcome = rdma(metal(lambda *_: 50.0))

    assert statuses(outcome) == {(host, "rail 0", "warn") for host in HOSTS}


def test_a_host_that_is_late_is_named(metal):
    """Its processors sleep too deeply, say; its bandwidth is well."""
    late = lambda a, b, _: 9.0 if "gpu-node2" in (a, b) else 0.9
    outcome = rdma(metal(lambda *_: 95.0, late))

    assert statuses(outcome) == {("gpu-node2", "rail 0", "fail")}
    failed = next(each for each in outcome.verdicts if each.status == "fail")
    assert failed.observed.startswith("mlx5_0 send latency: 9 us, best of 2")
    assert "adapters and 3 switches of roce, networks.compute.fabric leaf-spine" in failed.expected
    assert "C-states" in failed.fix


def test_a_rail_that_is_down_fails_and_the_others_keep_their_numbers(metal):
    """The port after it does not take its place."""
    down = [port("mlx5_0", state="1: DOWN"), port("mlx5_1")]
    outcome = rdma(
        metal(ports=lambda host: down if host == "gpu-node2" else None, rails=2, compute={"rails": 2})
    )

    assert statuses(outcome) == {("gpu-node2", "rail 0", "fail")}
    assert (
        next(each.observed for each in outcome.verdicts if each.status == "fail")
        == "mlx5_0:1 is DOWN, Disabled"
    )
    assert any("gpu-node2" in each.subject and "rail 1" in each.subject for each in outcome.measurements)


def test_a_slower_port_beside_the_rails_is_none_of_them(metal):
    """It is for storage; a rail that is down keeps its number beside it."""
    storage = port("mlx5_1") | {"rate": "25 Gb/sec (1X EDR)"}
    ports = [port("mlx5_0", state="1: DOWN"), storage, port("mlx5_2")]
    outcome = rdma(metal(ports=lambda _: ports, rails=2, compute={"rails": 2}))

    assert {each.observed for each in outcome.verdicts if each.part == "rail 0"} == {
        "mlx5_0:1 is DOWN, Disabled"
    }
    assert all(each.observed.startswith("mlx5_2 ") for each in outcome.verdicts if each.part == "rail 1")
    assert {each.subject.rpartition(" ")[2] for each in outcome.measurements} == {"1"}


def test_the_gid_that_jobs_use_must_be_there(metal):
    """Where NCCL is told of one that a port does not have, the rail cannot be measured as jobs would use it."""
    outcome = rdma(metal(variables={"NCCL_IB_GID_INDEX": "5"}))

    assert {status for *_, status in statuses(outcome)} == {"fail"}
    assert "mlx5_0:1 has no IPv4 GID for RoCE v2 at NCCL_IB_GID_INDEX=5 (jobs.variables)" in {
        each.observed for each in outcome.verdicts
    }
    assert outcome.measurements == ()


def test_gpudirect_that_starts_nowhere_is_unknown_and_quoted(metal):
    """All the rest is measured."""
    outcome = rdma(metal(cuda=True, dead=GDR))

    assert statuses(outcome) == {(host, "rail 0", "unknown") for host in HOSTS}
    assert all("Couldn't allocate MR" in each.observed for each in outcome.verdicts)


def test_over_infiniband_ibping_is_asked_and_kept(metal):
    """By LID; where the job's user may not, it is said."""
    kind = {"kind": "infiniband"}
    outcome = rdma(metal(compute=kind, infiniband=True, ibping=True))
    without = rdma(metal(compute=kind, infiniband=True))

    pings = [each.value for each in outcome.measurements if each.quantity == "ibping round trip"]
    assert pings == [20e-6] * 12
    assert statuses(outcome) == statuses(without) == set()
    assert any("umad" in note for note in without.notes)


def test_without_the_tools_it_is_unknown_which_package_brings_them(metal):
    """No host is asked."""
    outcome = rdma(made := metal(tools={**TOOLS, "ib_read_lat": ""}))

    assert statuses(outcome) == {(host, "", "unknown") for host in HOSTS}
    assert "ib_read_lat not installed on gpu-node1, " in outcome.verdicts[0].observed
    assert "apt-get install perftest" in outcome.verdicts[0].fix
    assert made.stage.orders == []


def test_in_a_lab_and_over_plain_ethernet_there_is_no_figure(site, metal):
    """Simulated ports carry nothing; Ethernet has no RDMA to measure."""
    in_lab, plain = rdma(site(lambda *_: None, tools=TOOLS)), rdma(metal(compute={"kind": "ethernet"}))

    assert {each.status.value for each in in_lab.verdicts} == {"unknown"}
    assert {each.status.value for each in plain.verdicts} == {"skipped"}
    assert in_lab.measurements == plain.measurements == ()


def test_what_is_expected_says_its_source(cluster):
    """Of bandwidth, of GPUDirect, of latency."""
    compute, gpus = cluster.networks.compute, cluster.nodes["a100"].gpus

    assert rate_of("send bandwidth", compute, gpus).least == pytest.approx(0.9 * 12.5e9)
    assert rate_of(GDR, compute, gpus).least == pytest.approx(180 / 200 * 12.5e9)
    assert "gpu_copies.csv" in rate_of(GDR, compute, gpus).reason
    single = compute.model_copy(update={"kind": "infiniband", "fabric": "single-switch"})
    assert bound_of("send latency", single).most == pytest.approx(2 * 0.73e-6)
    assert bound_of("read latency", single).most == pytest.approx(4 * 0.73e-6)


ENDS = [f"n{index}/rail 0" for index in range(5)]
times = st.fixed_dictionaries({(a, b): st.floats(1e-7, 1e-4) for a in ENDS for b in ENDS if a != b})


@given(st.lists(times, min_size=1, max_size=2))
def test_nobody_is_late_that_was_quick_with_somebody_or_measured_once(cluster, passes):
    """Whatever the others do; and a pair that was late is measured again."""
    bound = bound_of("send latency", cluster.networks.compute)

    for each in latency.verdicts("rdma", passes, bound, "fix"):
        if each.status == "fail":
            ends = each.subject.split(">")
            mine = [[found[both] for both in found if {*ends} <= {*both}] for found in passes]
            assert len(passes) > 1
            assert all(max(several) > bound.most for several in mine)
            assert len(ends) > 1 or min(map(min, mine)) > bound.most
    assert {*latency.late(passes, bound)} == {
        both for both, seconds in passes[0].items() if seconds > bound.most
    }
