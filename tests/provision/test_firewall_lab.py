"""The firewall, tried with real connections: nftables and firewalld, and the way from one to the other."""

import json
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
CONNECT = Path(__file__).parents[2] / "src/clusterwright/onhost/probes/connect.py"
NAME, NET = "test-firewall", "10.206"
OUTSIDE = "the machine"
MISSING = able()

# What the file means, read here by hand: service, port, network, who asks, who serves.
HOSTS, COMPUTE = ("control", "login", "gpu-node1", "gpu-node2"), ("gpu-node1", "gpu-node2")
SERVED = [
    ("ssh", 22, "management", (*HOSTS, OUTSIDE), HOSTS),
    ("slurmctld", 6817, "management", HOSTS, ("control",)),
    ("slurmd", 6818, "management", HOSTS, COMPUTE),
    ("slurmdbd", 6819, "management", ("control", "login"), ("control",)),
    ("srun", 60001, "management", ("control", *COMPUTE), HOSTS),
    ("srun", 63000, "management", ("control", *COMPUTE), HOSTS),
    ("node_exporter", 9100, "management", (*HOSTS, OUTSIDE), HOSTS),
    ("exporter", 9105, "management", ("control",), HOSTS),
    ("trainings", 29500, "management", COMPUTE, COMPUTE),
    ("trainings", 29500, "compute", COMPUTE, COMPUTE),
]
# slurmdbd's and srun's ports are among those of trainings between compute hosts; 2049: no NFS is served.
PORTS = (22, 80, 1023, 2049, 3306, 6817, 6818, 6819, 9100, 9105, 29500, 60000, 60001, 63000, 63001)
ADDRESSES = {
    ("control", "management"): f"{NET}.0.10",
    ("control", "storage"): f"{NET}.2.10",
    ("login", "management"): f"{NET}.0.9",
    **{(f"gpu-node{i}", "management"): f"{NET}.0.{10 + i}" for i in (1, 2)},
    **{(f"gpu-node{i}", "compute"): f"{NET}.1.{10 + i}" for i in (1, 2)},
    **{(f"gpu-node{i}", "storage"): f"{NET}.2.{10 + i}" for i in (1, 2)},
}

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """The lab, and what was tried in it."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.write()
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def write(self, **security):
        """Four hosts on three networks, a login host on one."""
        yaml = YAML()
        document = yaml.load(EXAMPLE.read_text().replace("10.77.", f"{NET}."))
        document["name"] = NAME
        document["nodes"]["a100"]["hosts"] = "gpu-node[1-2]"
        document["nodes"]["login"] = {
            "role": "login", "hosts": "login", "addresses": {"management": f"{NET}.0.9"},
            "cpus": {"cores_per_socket": 2}, "memory": "4GiB",
        }  # fmt: skip
        document["security"] = security
        yaml.dump(document, self.file)

    def apply(self, **security):
        """An apply of the file with this section `security`."""
        self.write(**security)
        cluster = load_cluster(self.file)
        return apply(cluster, str(self.file), remote_of(cluster))

    def run(self, host, text, stdin=b"", timeout_s=60):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, stdin=stdin, timeout_s=timeout_s)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def reached(self, host, targets):
        """Of these (address, port), those that a packet of the host came through to: open or refused."""
        words = [f"{address}:{port}" for address, port in targets]
        if host == OUTSIDE:
            argv = [sys.executable, str(CONNECT), *words]
            out = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout
        else:
            out = self.run(host, f"python3 - {' '.join(words)}", CONNECT.read_bytes(), timeout_s=120)
        states = json.loads(out)
        return {
            (address, port) for address, port in targets if states[f"{address}:{port}"] in ("open", "refused")
        }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Four hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("firewall")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            report = site.apply(firewall_program="nftables")
            assert report.ok, [f"{host.host}: {host.error}" for host in report.hosts]
            site.program = "nftables"
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@pytest.fixture(scope="module", params=["firewalld", "nftables"])
def program(request, site):
    """Each program over what the other left; a host outside tries the door all the while."""
    if site.program == request.param:
        site.apply(firewall_program={"firewalld": "nftables", "nftables": "firewalld"}[request.param])
    stop, site.knocks = threading.Event(), []
    knocking = threading.Thread(target=knock, args=(stop, site.knocks))
    knocking.start()
    time.sleep(1)
    try:
        report = site.apply(firewall_program=request.param)
    finally:
        stop.set()
        knocking.join()
    assert report.ok, report
    site.program = request.param
    return request.param


def knock(stop, answers):
    """From outside at slurmd, twenty times a second, until told to stop; how each one ended."""
    waiting = []
    while not stop.is_set() or waiting:
        if not stop.is_set():
            link = socket.socket()
            link.setblocking(False)
            link.connect_ex((ADDRESSES["gpu-node1", "management"], 6818))
            waiting.append((time.monotonic(), link))
        time.sleep(0.05)
        ended = select.select([], [link for _, link in waiting], [], 0)[1]
        for since, link in list(waiting):
            if link in ended or time.monotonic() > since + 1:
                answers.append("answered" if link in ended else "silent")
                waiting.remove((since, link))
                link.close()


def allowed(source):
    """What the source may reach, by address and port."""
    return {
        (ADDRESSES[host, network], port)
        for _service, port, network, asking, serving in SERVED
        for host in serving
        if source in asking and host != source
    } | (between_trainings(source) if source in COMPUTE else set())


def between_trainings(source):
    """Every unprivileged port of the other compute hosts, on two networks."""
    return {
        (ADDRESSES[host, network], port)
        for host in COMPUTE
        for network in ("management", "compute")
        for port in PORTS
        if host != source and port >= 1024
    }


@pytest.mark.parametrize("source", [*HOSTS, OUTSIDE])
def test_each_source_reaches_what_the_file_says_and_no_more(site, program, source):
    """14 ports of every other host on every network that both are on: let in or silent, for both programs."""
    networks = {network for host, network in ADDRESSES if host == source} or {"management"}
    targets = [
        (address, port)
        for (host, network), address in ADDRESSES.items()
        for port in PORTS
        if host != source and network in networks
    ]

    assert site.reached(source, targets) == allowed(source) & set(targets)


def test_the_door_was_shut_all_the_while(site, program):
    """Also while one program took over from the other."""
    assert len(site.knocks) > 20
    assert set(site.knocks) == {"silent"}


def test_one_program_leaves_no_rules_of_the_other(site, program):
    """Neither tables nor units nor files."""
    tables = site.run("gpu-node1", "nft list tables").split("\n")
    active = site.run("gpu-node1", "systemctl is-active firewalld clusterwright-firewall; true").split()
    files = site.run("gpu-node1", "ls /etc/clusterwright/firewall.nft /etc/firewalld/zones 2>/dev/null; true")

    if program == "firewalld":
        assert ("table inet clusterwright" in tables, active) == (False, ["active", "active"])
        assert "firewall.nft" not in files
    else:
        assert ("table inet firewalld" in tables, active) == (False, ["inactive", "active"])
        assert "cw-" not in files


def test_a_second_apply_changes_no_firewall(site, program):
    """Neither program writes into the files that we gave it."""
    report = site.apply(firewall_program=program)

    assert not [change.id for host in report.hosts for change in host.changes if "firewall" in change.id]


def test_slurm_works_behind_it(site, program):
    """Srun from control and from login, on all hosts, with its steps calling back."""
    for host in ("control", "login"):
        assert sorted(site.run(host, "timeout 60 srun -N2 hostname").split()) == list(COMPUTE)


TALK = """
import socket, sys, time
def serve():
    with socket.create_server(("%(server)s", 29511)) as door:
        link, _ = door.accept()
        while data := link.recv(1):
            link.sendall(data)
def ask():
    for _ in range(100):
        try:
            link = socket.create_connection(("%(server)s", 29511), timeout=5)
            break
        except OSError:
            time.sleep(0.1)
    end = time.time() + %(seconds)d
    count = 0
    while time.time() < end:
        link.sendall(b"x")
        assert link.recv(1) == b"x"
        count += 1
        time.sleep(0.05)
    print("said", count)
import os
serve() if os.environ["SLURM_PROCID"] == "0" else ask()
"""


@pytest.mark.parametrize("verb", ["reload", "restart"])
def test_a_running_job_keeps_its_connections(site, program, verb):
    """Two hosts talk on the compute network while the firewall of both is loaded anew."""
    seconds = 8
    text = TALK % {"server": ADDRESSES["gpu-node1", "compute"], "seconds": seconds}
    found = []
    job = threading.Thread(
        target=lambda: found.append(
            site.run(
                "control", "cat >/shared/talk.py; timeout 60 srun -N2 python3 /shared/talk.py", text.encode()
            )
        )
    )
    job.start()
    time.sleep(2)
    units = "firewalld clusterwright-firewall" if program == "firewalld" else "clusterwright-firewall"
    for host in COMPUTE:
        site.run(host, f"systemctl {verb} {units}")
    job.join()

    assert int(found[0].split()[1]) > seconds * 10


def test_an_address_that_comes_by_another_network_is_made_up(site, program):
    """From the compute network's address to the management address: dropped, at any port."""
    code = (
        "import socket,sys\n"
        "for port in (22, 6818, 29500):\n"
        " s=socket.socket(); s.settimeout(1); s.bind((sys.argv[1],0))\n"
        " try: s.connect((sys.argv[2],port)); print('open')\n"
        " except TimeoutError: print('silent')\n"
        " except OSError as why: print(why)\n"
    )
    words = f"{ADDRESSES['gpu-node1', 'compute']} {ADDRESSES['gpu-node2', 'management']}"

    assert site.run("gpu-node1", f"python3 - {words}", code.encode()).split() == ["silent"] * 3


def test_a_management_address_on_the_storage_network_is_refused(site, program):
    """The way to control is bent over the storage network, with the host's own management address as sender.

    Our rules look at it; firewalld leaves it to the kernel, which Rocky and Alma set so, and Debian does not.
    """
    target = ADDRESSES["control", "management"]
    own = ADDRESSES["gpu-node1", "management"]
    strict = program == "firewalld"
    site.run("control", f"sysctl -qw net.ipv4.conf.all.rp_filter={strict:d}")
    site.run("gpu-node1", f"ip route add {target}/32 dev storage src {own}")
    try:
        bent = site.reached("gpu-node1", [(target, 6817), (target, 22)])
    finally:
        site.run("gpu-node1", f"ip route del {target}/32 dev storage")
        site.run("control", "sysctl -qw net.ipv4.conf.all.rp_filter=0")

    assert bent == set()
    assert site.reached("gpu-node1", [(target, 6817)]) == {(target, 6817)}


def test_the_rules_are_there_after_a_boot(site, program):
    """Loaded before anybody can connect, and no unit waits for itself."""
    lab.fault(NAME, "reboot-host", "gpu-node2")
    lab.undo(NAME, "gpu-node2")
    site.run(
        "gpu-node2",
        "systemctl is-system-running --wait >/dev/null; systemctl is-active clusterwright-firewall",
    )
    target = [(ADDRESSES["gpu-node2", "management"], 80)]

    assert site.reached(OUTSIDE, target) == set()
    assert "ordering cycle" not in site.run("gpu-node2", "journalctl -b --no-pager -o cat")


def test_ipv6_is_shut_but_for_its_own_needs(site, program):
    """By link-local addresses: neighbors are found and answer an echo, sshd does not answer."""
    own = site.run("gpu-node2", "ip -6 -br addr show dev management scope link").split()[2].partition("/")[0]
    target = f"{own}%management"
    code = (
        "import socket,sys\n"
        "s=socket.socket(socket.AF_INET6); s.settimeout(1.5)\n"
        "try: s.connect(socket.getaddrinfo(sys.argv[1],22)[0][4]); print('open')\n"
        "except TimeoutError: print('silent')\n"
        "except OSError as why: print(why)\n"
    )
    said = site.run(
        "gpu-node1", f"ping -6 -c1 -W2 {target} >/dev/null && echo echo; python3 - {target}", code.encode()
    )

    assert said.split() == ["echo", "silent"]


def test_containers_reach_the_world(site, program):
    """A link with a namespace behind it: what is passed on is not ours to drop.

    With firewalld it is in a zone of its own, as podman and docker put theirs.
    """
    zone = "firewall-cmd -q --zone=trusted --add-interface=outer" if program == "firewalld" else "true"
    outside = f"{NET}.0.{254}"
    setup = f"""set -e
ip netns add box; ip link add inside type veth peer name outer; ip link set inside netns box
ip addr add 172.30.9.1/24 dev outer; ip link set outer up
ip -n box addr add 172.30.9.2/24 dev inside; ip -n box link set inside up; ip -n box route add default via 172.30.9.1
sysctl -qw net.ipv4.ip_forward=1; nft add table ip box
nft 'add chain ip box post {{ type nat hook postrouting priority 100; }}'
nft 'add rule ip box post ip saddr 172.30.9.0/24 masquerade'
{zone}
ip netns exec box ping -c1 -W2 {outside} >/dev/null && echo passed
"""
    try:
        assert site.run("gpu-node2", "sh -s", setup.encode()).strip() == "passed"
    finally:
        site.remote.run(
            "gpu-node2",
            "nft delete table ip box; ip netns del box; sysctl -qw net.ipv4.ip_forward=0",
            timeout_s=20,
        )


def test_a_network_that_we_do_not_come_from_is_refused_before_it_is_shut(site, program):
    """ssh_from without the machine: no host is touched; with it, strangers are shut out and we are not."""
    refused = site.apply(firewall_program=program, ssh_from=["10.99.0.0/24"])
    still = site.reached(OUTSIDE, [(ADDRESSES["control", "management"], 22)])
    site.apply(firewall_program=program)

    assert {host.host for host in refused.hosts if "security.ssh_from" in host.error} == set(HOSTS)
    assert still


def test_a_file_without_a_firewall_takes_it_away(site, program):
    """Every port answers again; the next apply shuts them."""
    target = [(ADDRESSES["gpu-node1", "management"], 6818)]
    off = site.apply(firewall=False)
    bare = site.reached(OUTSIDE, target)
    site.apply(firewall_program=program)

    assert off.ok
    assert bare == set(target)
    assert site.reached(OUTSIDE, target) == set()
