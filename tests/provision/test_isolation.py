"""Users apart: real packets between two hosts of network namespaces, real user ids, the prolog and epilog of jobs."""

import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from clusterwright.provision.render.firewall import firewall
from clusterwright.provision.render.isolation import JOBS, host_addresses, isolation
from clusterwright.provision.render.job_hooks import FOLDER, declared, hook_texts

EVE, BOB = 41001, 41002
ROOT = 0
MPTCP = getattr(socket, "IPPROTO_MPTCP", 262)
HOSTS = {"gpu-node1": "10.77.{net}.11", "gpu-node2": "10.77.{net}.12"}

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="needs root"),
    pytest.mark.skipif(not shutil.which("nft") or not shutil.which("ip"), reason="needs nft and ip"),
]


def sh(*argv, check=True, **options):
    """A command that must end well."""
    return subprocess.run(argv, check=check, capture_output=True, text=True, timeout=60, **options)


class Network:
    """Two compute hosts with the firewall and the rules, as network namespaces joined by one cable."""

    def __init__(self, folder, cluster):
        self.folder, self.spaces = folder, {}
        for number, host in enumerate(HOSTS, 1):
            self.spaces[host] = f"cw-apart-{os.getpid()}-{number}"
            sh("ip", "netns", "add", self.spaces[host])
        first, second = self.spaces.values()
        sh(
            "ip",
            "link",
            "add",
            "eth0",
            "netns",
            first,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            second,
        )
        for number, host in enumerate(HOSTS, 1):
            for net in (0, 1):
                self.run(host, "ip", "address", "add", f"{self.address(host, net)}/24", "dev", "eth0")
            self.run(host, "ip", "address", "add", f"fd00::{number}/64", "dev", "eth0", "nodad")
            self.run(host, "ip", "link", "set", "lo", "up")
            self.run(host, "ip", "link", "set", "eth0", "up")
            self._install(cluster, host)

    def _install(self, cluster, host):
        place = self.folder / host
        (place / "jobs").mkdir(parents=True)
        files = hook_texts("# header\n") | {
            f"{FOLDER}/host_addresses": host_addresses(cluster, "# header\n"),
            f"{FOLDER}/declared": declared(cluster, cluster.host(host), "")
            + f"RUN={place}/jobs STATE={place} KEPT={place} ISOLATION={place}/rules.nft\n"
            "MOUNTS='' NETWORKS='' RDMA_PORTS=0 SCRATCH='' LOCAL=/\n",
        }
        for path, text in files.items():
            (place / Path(path).name).write_text(text)
            (place / Path(path).name).chmod(0o755)
        (place / "rules.nft").write_text(isolation(cluster, "# header\n").replace(JOBS, f"{place}/jobs"))
        (place / "firewall.nft").write_text(firewall(cluster, cluster.host(host), "# header\n"))
        self.run(host, "nft", "-f", place / "firewall.nft")
        self.run(host, place / "isolate", "load")

    def run(self, host, *argv, **options):
        """A command on a host."""
        return sh("ip", "netns", "exec", self.spaces[host], *argv, **options)

    def address(self, host, net=1):
        """Of the compute network, or of the management network (0)."""
        return HOSTS[host].format(net=net)

    def hook(self, program, job, user, nodes):
        """Prolog or epilog on the hosts of a job."""
        env = {
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_UID": str(user),
            "SLURM_NODELIST": nodes,
            "PATH": os.environ["PATH"],
        }
        for host in HOSTS:
            if nodes in (host, "gpu-node[1-2]"):
                self.run(host, self.folder / host / program, env=env)

    def open(self, host, user, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
        """A socket that a process of the user opens on the host; the kernel keeps both for the socket's life."""
        libc = ctypes.CDLL(None, use_errno=True)
        with (
            Path("/proc/thread-self/ns/net").open() as home,
            Path(f"/run/netns/{self.spaces[host]}").open() as there,
        ):
            assert libc.setns(there.fileno(), 0) == 0
            os.seteuid(user)
            try:
                return socket.socket(family, kind, protocol)
            finally:
                os.seteuid(ROOT)
                assert libc.setns(home.fileno(), 0) == 0

    @contextmanager
    def listener(self, host, user, family=socket.AF_INET, address="0.0.0.0", port=0):
        """The port on which a process of the user listens."""
        with self.open(host, user, family) as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind((address, port))
            door.listen()
            yield door.getsockname()[1]

    def reaches(self, host, user, target, port, family=socket.AF_INET, protocol=0, wait_s=0.4):
        """Whether a process of the user connects."""
        with self.open(host, user, family, protocol=protocol) as link:
            link.settimeout(wait_s)
            try:
                link.connect((target, port))
            except OSError:
                return False
            return True

    def down(self):
        """Nothing stays."""
        for space in self.spaces.values():
            sh("ip", "netns", "delete", space)


@pytest.fixture
def network(tmp_path, cluster):
    """Two hosts without jobs."""
    network = Network(tmp_path, cluster)
    try:
        yield network
    finally:
        network.down()


def test_a_user_reaches_hosts_of_own_jobs_only(network):
    """Without a job, and with a job on another host, the listener of another user's job is out of reach."""
    network.hook("prolog", 7, BOB, "gpu-node[1-2]")
    target = network.address("gpu-node2")
    with network.listener("gpu-node2", BOB) as port:
        assert network.reaches("gpu-node1", BOB, target, port)
        assert not network.reaches("gpu-node1", EVE, target, port)
        network.hook("prolog", 8, EVE, "gpu-node1")
        assert not network.reaches("gpu-node1", EVE, target, port)
        assert not network.reaches("gpu-node1", EVE, network.address("gpu-node2", net=0), port)
        assert not network.reaches("gpu-node1", EVE, target, port, protocol=MPTCP)
        assert network.reaches("gpu-node1", ROOT, target, port)


def test_the_entries_go_with_the_job(network):
    """Those that another job of the user needs stay; a reload in between changes nothing."""
    target = network.address("gpu-node2")
    network.hook("prolog", 7, BOB, "gpu-node[1-2]")
    network.hook("prolog", 8, BOB, "gpu-node[1-2]")
    with network.listener("gpu-node2", BOB) as port:
        network.hook("epilog", 7, BOB, "gpu-node[1-2]")
        network.run("gpu-node1", network.folder / "gpu-node1/isolate", "load")
        assert network.reaches("gpu-node1", BOB, target, port)
        network.hook("epilog", 8, BOB, "gpu-node[1-2]")
        assert not network.reaches("gpu-node1", BOB, target, port)


def test_the_next_prolog_loads_rules_that_were_removed(network):
    """`nft flush ruleset`, with which /etc/nftables.conf of most distributions begins."""
    network.hook("prolog", 7, BOB, "gpu-node[1-2]")
    network.run("gpu-node1", "nft", "flush", "ruleset")
    network.hook("prolog", 8, EVE, "gpu-node1")
    with network.listener("gpu-node2", BOB) as port:
        assert network.reaches("gpu-node1", BOB, network.address("gpu-node2"), port)
        assert not network.reaches("gpu-node1", EVE, network.address("gpu-node2"), port)


def test_a_listener_accepts_hosts_of_own_jobs_only(network):
    """The receiver refuses too: one host whose rules are gone opens no other."""
    network.hook("prolog", 7, BOB, "gpu-node2")
    network.run("gpu-node1", "nft", "flush", "ruleset")
    with network.listener("gpu-node2", BOB) as port:
        assert not network.reaches("gpu-node1", EVE, network.address("gpu-node2"), port)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_within_a_host_a_user_reaches_own_programs_only(network, family):
    """On a host that two users share; by loopback and by the host's own address."""
    network.hook("prolog", 7, BOB, "gpu-node1")
    network.hook("prolog", 8, EVE, "gpu-node1")
    anywhere, *targets = {
        socket.AF_INET: ("0.0.0.0", "127.0.0.1", "127.9.9.9", network.address("gpu-node1")),
        socket.AF_INET6: ("::", "::1", "fd00::1"),
    }[family]
    with network.listener("gpu-node1", BOB, family, anywhere) as port:
        for target in targets:
            assert network.reaches("gpu-node1", BOB, target, port, family)
            assert network.reaches("gpu-node1", ROOT, target, port, family)
            assert not network.reaches("gpu-node1", EVE, target, port, family)
            assert not network.reaches("gpu-node1", EVE, target, port, family, MPTCP)
    with network.listener("gpu-node1", ROOT, family, anywhere) as port:
        assert network.reaches("gpu-node1", EVE, targets[0], port, family)


def test_a_flood_of_connections_opens_nothing(network):
    """Under a flood the kernel replies with cookies, which belong to no socket."""
    network.hook("prolog", 7, BOB, "gpu-node1")
    network.run("gpu-node1", "sysctl", "-w", "net.ipv4.tcp_syncookies=2")
    with network.listener("gpu-node1", BOB) as port:
        assert network.reaches("gpu-node1", ROOT, "127.0.0.1", port)
        assert not network.reaches("gpu-node1", EVE, "127.0.0.1", port)


def test_ipv6_leads_to_no_other_host(network):
    """Nobody's."""
    network.hook("prolog", 7, BOB, "gpu-node[1-2]")
    with network.listener("gpu-node2", BOB, socket.AF_INET6, "::") as port:
        assert not network.reaches("gpu-node1", EVE, "fd00::2", port, socket.AF_INET6)
        assert not network.reaches("gpu-node1", BOB, "fd00::2", port, socket.AF_INET6)


def test_a_syn_that_fits_a_tracked_connection_opens_nothing(network):
    """The kernel's state table counts it as established."""
    network.hook("prolog", 7, EVE, "gpu-node[1-2]")
    lost = "table inet lost { chain output { type filter hook output priority -400; tcp flags & rst == rst drop; }; }"
    target, first = network.address("gpu-node2"), network.open("gpu-node1", EVE)
    with network.listener("gpu-node2", EVE, port=25000):
        first.connect((target, 25000))
        source = first.getsockname()
        for host in HOSTS:
            network.run(host, "nft", lost)
        first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        first.close()  # by a reset that the table does not see
    for host in HOSTS:
        network.run(host, "nft", "delete", "table", "inet", "lost")
    network.hook("epilog", 7, EVE, "gpu-node[1-2]")
    network.hook("prolog", 8, BOB, "gpu-node[1-2]")
    with network.listener("gpu-node2", BOB, port=25000), network.open("gpu-node1", EVE) as link:
        link.bind(source)
        link.settimeout(1)
        with pytest.raises(OSError, match="timed out"):
            link.connect((target, 25000))


def test_datagrams_reach_hosts_of_own_jobs_only(network):
    """Each packet counts."""
    network.hook("prolog", 7, BOB, "gpu-node[1-2]")
    with network.open("gpu-node2", BOB, kind=socket.SOCK_DGRAM) as door:
        door.bind((network.address("gpu-node2"), 0))
        door.settimeout(0.4)
        for user, arrives in ((EVE, False), (BOB, True)):
            with network.open("gpu-node1", user, kind=socket.SOCK_DGRAM) as link:
                try:
                    link.sendto(b"x", door.getsockname())
                    received = door.recv(1) == b"x"
                except OSError:
                    received = False
            assert received is arrives


def test_jobs_of_one_user_on_different_hosts_reach_each_other(network, tmp_path):
    """Parts of a heterogeneous job, Dask, Ray: Slurm names the hosts while the first packet is sent again."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "squeue").write_text(
        f"#!/bin/sh\ncase \"$*\" in *'-u {BOB} '*) echo gpu-node1; echo gpu-node2 ;; esac\n"
    )
    (tools / "id").write_text("#!/bin/sh\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    network.hook("prolog", 7, BOB, "gpu-node1")
    network.hook("prolog", 8, BOB, "gpu-node2")
    watches = []
    for host in HOSTS:
        program = network.folder / host / "isolate"
        common = program.with_name("common")
        common.write_text(common.read_text().replace("PATH=/usr/local/sbin", f"PATH={tools}:/usr/local/sbin"))
        watches.append(
            subprocess.Popen(
                ["ip", "netns", "exec", network.spaces[host], program, "watch"], start_new_session=True
            )
        )
    try:
        with network.listener("gpu-node2", BOB) as port:
            assert network.reaches("gpu-node1", BOB, network.address("gpu-node2"), port, wait_s=20)
            assert not network.reaches("gpu-node1", EVE, network.address("gpu-node2"), port, wait_s=4)
    finally:
        for watch in watches:
            os.killpg(watch.pid, 15)
            watch.wait()


def test_start_loads_the_rules_before_it_returns_and_leaves_the_watch(network):
    """The unit is `forking`: what comes after it, slurmd, starts with the rules; a failure starts nothing."""
    program = network.folder / "gpu-node1" / "isolate"
    network.run("gpu-node1", "nft", "delete", "table", "inet", "clusterwright_users")
    start = subprocess.Popen(
        ["ip", "netns", "exec", network.spaces["gpu-node1"], program, "start"], start_new_session=True
    )
    code = start.wait(timeout=60)
    rules = network.run("gpu-node1", "nft", "list", "table", "inet", "clusterwright_users").stdout
    os.killpg(start.pid, 15)  # ProcessLookupError without a watch

    assert code == 0
    assert "job_hosts" in rules
    (network.folder / "gpu-node1/rules.nft").write_text("nonsense\n")
    assert network.run("gpu-node1", program, "start", check=False).returncode != 0


def test_without_dropped_packets_only_a_tick_in_ten_seconds_starts_programs(network):
    """A compute host has better use for its cores: nft reports a dropped packet; the tick is for a lost report."""
    program = network.folder / "gpu-node1" / "isolate"
    trace = network.run("gpu-node1", "timeout", "15", "sh", "-x", program, "watch", check=False).stderr
    commands = [line.lstrip("+ ") for line in trace.splitlines() if line.startswith("+")]
    programs = [
        line for line in commands if line.split()[0] in {"sleep", "nft", "stdbuf", "grep", "awk", "id"}
    ]

    ticks = programs.count("sleep 10")  # lines of two processes in one trace may run into each other
    assert 1 <= ticks <= 2, trace
    assert sorted(set(programs)) == [
        "nft -n list set inet clusterwright_users requests",
        "sleep 10",
        "stdbuf -oL nft monitor trace",
    ], trace
    assert len(programs) == ticks + 2, trace


def test_the_service_ends_without_its_reports(network):
    """So that systemd starts it again."""
    program, space = network.folder / "gpu-node1" / "isolate", network.spaces["gpu-node1"]
    watch = subprocess.Popen(["ip", "netns", "exec", space, program, "watch"], start_new_session=True)
    try:
        time.sleep(1)
        for pid in sh("ip", "netns", "pids", space).stdout.split():
            if Path(f"/proc/{pid}/comm").read_text() == "nft\n":
                os.kill(int(pid), signal.SIGKILL)

        assert watch.wait(timeout=20) is not None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(watch.pid, signal.SIGTERM)


def test_further_rails_are_for_users_with_a_job_of_several_hosts(tmp_path, altered):
    """The cluster file names the first rail's address of each host alone."""
    network = Network(tmp_path, altered({"networks.compute.rails": 2}))
    rail = "10.77.1.201"
    try:
        network.run("gpu-node2", "ip", "address", "add", f"{rail}/24", "dev", "eth0")
        network.hook("prolog", 7, BOB, "gpu-node[1-2]")
        network.hook("prolog", 8, EVE, "gpu-node1")
        with network.listener("gpu-node2", BOB) as port:
            assert network.reaches("gpu-node1", BOB, rail, port)
            assert not network.reaches("gpu-node1", EVE, rail, port)
    finally:
        network.down()


def test_a_thousand_hosts_load_fast(network):
    """A prolog may cost 0.3 s in all."""
    elements = ", ".join(f"{BOB} . 10.{80 + n // 65536}.{n // 256 % 256}.{n % 256}" for n in range(3072))
    jobs = network.folder / "gpu-node1/jobs"
    (jobs / "9.hosts").write_text(f"add element inet clusterwright_users job_hosts {{ {elements} }}\n")
    began = time.monotonic()
    network.run("gpu-node1", network.folder / "gpu-node1/isolate", "load")
    assert time.monotonic() - began < 2  # 0.1 s on an idle machine
