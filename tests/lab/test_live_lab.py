"""The lab on real hosts: up, faults and their undo, crashes in the middle, down; needs root."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.errors import WrightError
from clusterwright.lab import able, cgroups, image

REASONS = "; ".join(f"{found.message} ({found.fix})" for found in able())
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(bool(REASONS), reason=f"hosts cannot be made here: {REASONS}"),
]
NAME = "wright-test"
HOSTS = ["control", "gpu-node1", "gpu-node2"]
# Each takes a second; the last one waits until a time of day (sem_timedwait).
WAITS = """import multiprocessing, threading, time
held = multiprocessing.Semaphore(0)
for wait in (lambda: time.sleep(1), lambda: threading.Event().wait(1), lambda: held.acquire(timeout=1)):
    began = time.monotonic()
    wait()
    print(round(time.monotonic() - began))
"""


@pytest.fixture
def standing(cluster):
    """The small lab, up and without faults; it stays up for the next test."""
    state = lab.up(cluster)
    lab.undo(NAME)
    return state


@pytest.fixture(scope="module", autouse=True)
def nothing_left(traces):
    """After the tests the machine is as it was."""
    yield
    for name in (NAME, "wright-other"):
        assert lab.down(name) == []
        assert traces(name) == []


def on(state, host, command, timeout_s=20):
    """What the command says on the host."""
    done = Ssh(config=state.ssh_config).run(host, command, timeout_s=timeout_s)
    assert done.ok, f"{host}: {command}: {done.err}"
    return done.out.strip()


def states():
    """How each host is doing, by name."""
    return {row.host: row.state for row in lab.status(NAME)}


def test_hosts_have_a_systemd_their_networks_and_gpus(standing):
    """Every host is a machine of its own; only compute hosts have GPUs and the compute network."""
    for host in HOSTS:
        assert on(standing, host, "hostname") == host
        assert on(standing, host, "systemctl is-system-running --wait") == "running"
    assert on(standing, "control", "ls /sys/class/net").split() == ["lo", "management"]
    assert on(standing, "gpu-node1", "ls /sys/class/net").split() == ["compute", "lo", "management"]
    assert on(standing, "gpu-node2", "ls /dev/nvidia*").split() == ["/dev/nvidia0", "/dev/nvidia1"]
    assert states() == dict.fromkeys(HOSTS, "running")


def test_the_shared_folder_is_one_for_all(standing):
    """What one host writes another reads."""
    on(standing, "gpu-node1", "echo seen > /shared/note")

    assert on(standing, "control", "cat /shared/note") == "seen"


def test_control_groups_and_own_network_settings_are_writable(standing):
    """Slurm's cgroup plugins and sysctl need them; the machine's own settings stay out of reach."""
    on(standing, "gpu-node1", "mkdir $(ls -d /sys/fs/cgroup/memory || echo /sys/fs/cgroup)/probe")
    on(standing, "gpu-node1", "sysctl -w net.core.somaxconn=1234; nft add table inet probe")

    assert not Ssh(config=standing.ssh_config).run("gpu-node1", "sysctl -w vm.swappiness=1").ok


def test_a_host_key_that_changed_is_noticed(standing):
    """Host keys are checked: a host with another key is refused."""
    path = standing.folder / "known_hosts"
    right = path.read_text()
    lines = right.splitlines()
    keys = [line.rsplit(" ", 1)[1] for line in lines]
    wrong = [
        line.replace(key, keys[index - 1]) for index, (line, key) in enumerate(zip(lines, keys, strict=True))
    ]
    path.write_text("\n".join(wrong) + "\n")
    try:
        argv = [
            "ssh",
            "-F",
            standing.ssh_config,
            "-o",
            "ControlPath=none",
            "-o",
            "BatchMode=yes",
            "gpu-node1",
            "true",
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=150, check=False)
    finally:
        path.write_text(right)

    assert done.returncode == 255
    assert "HOST IDENTIFICATION HAS CHANGED" in done.stderr


def test_up_again_changes_nothing(standing, cluster):
    """The journal is the same, byte for byte, and so are the processes."""
    journal = (standing.folder / "lab.json").read_bytes()
    said = []

    assert lab.up(cluster, log=said.append) == standing
    assert (standing.folder / "lab.json").read_bytes() == journal
    assert "already up" in said[-1]


def test_up_of_another_file_with_the_same_name_is_refused(standing, cluster_file):
    """A lab that stands is not silently another one."""
    path = cluster_file()
    path.write_text(path.read_text().replace("gpu-node[1-2]", "gpu-node[1-3]"))

    with pytest.raises(WrightError, match="lab-differs"):
        lab.up(load_cluster(path))


def test_two_labs_stand_side_by_side(traces, standing, cluster_file):
    """With names and subnets of their own; taking one down leaves the other."""
    other = lab.up(load_cluster(cluster_file("wright-other", 232)))
    assert on(other, "gpu-node1", "hostname -I") == "10.232.0.11 10.232.1.11"

    assert lab.down("wright-other") == []
    assert traces("wright-other") == []
    assert on(standing, "gpu-node1", "hostname -I") == "10.231.0.11 10.231.1.11"


def test_a_subnet_of_another_lab_is_refused(traces, standing, cluster_file):
    """The finding names both; nothing is made."""
    with pytest.raises(WrightError) as refused:
        lab.up(load_cluster(cluster_file("wright-other", 231)))

    assert "lab-subnet-in-use" in {finding.code for finding in refused.value.findings}
    assert "management subnet 10.231.0.0/24 overlaps 10.231.0.0/24" in str(refused.value)
    assert f"lab `{NAME}`" in str(refused.value)
    assert traces("wright-other") == []


def test_a_killed_host_is_silent_and_comes_back_with_its_disk(standing):
    """No process, no RST to a peer; undo boots it from the disk it had."""
    on(standing, "gpu-node1", "echo kept > /root/note; sync")
    watcher = subprocess.Popen(
        ["ssh", "-F", standing.ssh_config, "-o", "ControlPath=none", "gpu-node1", "sleep 60"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(1)
    lab.fault(NAME, "kill-host", "gpu-node1")

    assert states()["gpu-node1"] == "down"
    assert not lab.cgroups.processes(NAME, "gpu-node1")
    _, said = watcher.communicate(timeout=150)
    assert "not responding" in said  # and not "closed by remote host": nobody was told
    undone = lab.undo(NAME, "gpu-node1")
    assert [fault.kind for fault in undone] == ["kill-host"]
    assert on(standing, "gpu-node1", "cat /root/note") == "kept"
    assert states()["gpu-node1"] == "running"


def test_a_rebooted_host_comes_back_by_itself(standing):
    """It has another boot behind it, and nothing is left to undo."""
    before = on(standing, "gpu-node2", "cat /proc/sys/kernel/random/boot_id")
    state = lab.fault(NAME, "reboot-host", "gpu-node2")

    assert state.faults == ()
    assert on(standing, "gpu-node2", "cat /proc/sys/kernel/random/boot_id") != before
    assert on(standing, "gpu-node2", "ls /dev/nvidia0")


def test_a_host_that_was_switched_off_is_booted_by_up(standing, cluster):
    """`poweroff` on a host is no fault of the lab's; `up` brings it back."""
    Ssh(config=standing.ssh_config).run("gpu-node2", "poweroff")
    _wait_until(lambda: states()["gpu-node2"] == "down")

    lab.up(cluster)
    assert states()["gpu-node2"] == "running"


def test_a_cut_link_loses_packets_in_both_directions(standing):
    """Only the network named; the host stays reachable by the other."""
    lab.fault(NAME, "link-down", "gpu-node1", network="compute")

    assert not Ssh(config=standing.ssh_config).run("gpu-node2", "ping -c 1 -W 1 10.231.1.11").ok
    assert not Ssh(config=standing.ssh_config).run("gpu-node1", "ping -c 1 -W 1 10.231.1.12").ok
    lab.undo(NAME, "gpu-node1")
    assert on(standing, "gpu-node2", "ping -c 1 -W 15 10.231.1.11")


def test_a_slow_link_has_the_rate_asked_for(standing):
    """Measured by what a socket gets through; undo gives the file's rate again."""
    fast = _rate_bits_per_s(standing)
    lab.fault(NAME, "slow-link", "gpu-node2", network="compute", rate="5Mbit/s")
    slow = _rate_bits_per_s(standing)
    lab.undo(NAME, "gpu-node2")

    assert 0 < slow < 8e6 < fast < 110e6  # the file says 10 Gbit/s, divided by 100
    assert 8e6 < _rate_bits_per_s(standing) < 110e6


def test_a_full_disk_refuses_writes_and_spares_the_machine(standing):
    """ENOSPC for root as well; undo gives the space back."""
    before = os.statvfs("/var/lib").f_bavail
    lab.fault(NAME, "fill-disk", "gpu-node1")
    done = Ssh(config=standing.ssh_config).run("gpu-node1", "dd if=/dev/zero of=/root/big bs=64k count=1")

    assert "No space left on device" in done.err
    disk = os.statvfs("/var/lib")
    assert (before - disk.f_bavail) * disk.f_frsize < 200e6
    lab.undo(NAME, "gpu-node1")
    on(standing, "gpu-node1", "dd if=/dev/zero of=/root/big bs=64k count=1 && rm /root/big")


def test_a_slow_disk_is_slow_for_direct_synced_and_cached_bytes_alike(standing):
    """4 MiB at 2 MB/s take two seconds at least, however fast the machine is; undone, no limit is left."""
    write = (
        "dd if=/dev/zero of=/root/slow bs=1M count=4 {} 2>&1 | tail -n 1 | sed 's/.*, \\(.*\\) s, .*/\\1/'"
    )
    ways = ("oflag=direct", "conv=fsync", "; sync -f /root/slow; true")
    lab.fault(NAME, "slow-disk", "gpu-node1", rate="2MB/s")
    held = [float(on(standing, "gpu-node1", write.format(how), timeout_s=90)) for how in ways[:2]]
    began = time.monotonic()
    on(standing, "gpu-node1", f"dd if=/dev/zero of=/root/slow bs=1M count=4 {ways[2]}", timeout_s=90)
    held.append(time.monotonic() - began)
    lab.undo(NAME, "gpu-node1")

    assert min(held) > 1.5
    device = (standing.host_folder("gpu-node1") / "disk").stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)} "
    limits = [
        *Path("/sys/fs/cgroup").rglob("blkio.throttle.*_bps_device"),
        *Path("/sys/fs/cgroup").rglob("io.max"),
    ]
    assert limits
    assert not [place for place in limits if number in place.read_text()]


def test_a_half_open_link_hears_and_does_not_answer(standing):
    """Requests come in, nothing goes out; the other networks are as they were."""
    ping = "ping -c1 -W1 10.231.1.11"
    on(standing, "gpu-node2", ping)
    lab.fault(NAME, "half-open-link", "gpu-node1", network="compute")
    heard = "cat /sys/class/net/compute/statistics/rx_packets"
    before = int(on(standing, "gpu-node1", heard))
    assert "100% packet loss" in on(standing, "gpu-node2", f"{ping}; true")
    assert int(on(standing, "gpu-node1", heard)) > before
    lab.undo(NAME, "gpu-node1")
    on(standing, "gpu-node2", ping)


def test_a_killed_service_stays_dead_until_the_fault_is_undone(standing):
    """Also one that systemd would start again."""
    lab.fault(NAME, "kill-service", "gpu-node1", service="ssh")
    with socket.socket() as there:
        assert there.connect_ex((standing.layout.host("gpu-node1").address, 22)) != 0
    lab.undo(NAME, "gpu-node1")
    assert on(standing, "gpu-node1", "systemctl is-active ssh") == "active"
    assert "Restart=no" not in on(standing, "gpu-node1", "systemctl cat ssh")


def test_a_disk_that_is_read_only_takes_no_file(standing):
    """The kernel's log says why; undone, no mount of ours is left."""
    mounts = on(standing, "gpu-node1", "wc -l < /proc/self/mountinfo")
    lab.fault(NAME, "read-only-disk", "gpu-node1")
    refused = on(standing, "gpu-node1", "touch /var/x 2>&1; touch /tmp/x 2>&1; dmesg | tail -n 1")
    assert refused.count("Read-only file system") == 2
    assert "Remounting filesystem read-only" in refused
    lab.undo(NAME, "gpu-node1")
    on(standing, "gpu-node1", "touch /var/x /tmp/x")
    assert on(standing, "gpu-node1", "wc -l < /proc/self/mountinfo") == mounts


def test_a_skewed_clock_is_another_time_for_all_that_begins(standing):
    """Other hosts have the machine's, and waiting takes as long as it should; undone, or booted, the time is right."""
    lab.fault(NAME, "clock-skew", "gpu-node1", by="-90m")
    assert minutes_ahead(standing, "gpu-node1") == -90
    assert minutes_ahead(standing, "gpu-node2") == 0
    assert on(standing, "gpu-node1", f"python3 -c '{WAITS}'").split() == ["1", "1", "1"]
    lab.undo(NAME, "gpu-node1")
    assert minutes_ahead(standing, "gpu-node1") == 0
    lab.fault(NAME, "clock-skew", "gpu-node1", by="1h")
    lab.fault(NAME, "reboot-host", "gpu-node1")
    assert minutes_ahead(standing, "gpu-node1") == 0
    lab.undo(NAME, "gpu-node1")
    assert on(standing, "gpu-node1", "test ! -e /etc/ld.so.preload && echo gone") == "gone"


def minutes_ahead(state, host):
    """By how much what begins on the host is told another time than we are."""
    return round((float(on(state, host, "date +%s.%N")) - time.time()) / 60)


def test_a_slow_host_gets_a_share_of_a_processor(standing):
    """Held back by the kernel while it computes, and no longer afterwards."""
    compute = "python3 -c 'sum(range(20_000_000))'"
    lab.fault(NAME, "slow-host", "gpu-node1", percent="10")
    on(standing, "gpu-node1", compute, timeout_s=120)
    counts = [place.read_text() for place in of_host("cpu.stat")]
    assert any(int(text.partition("nr_throttled ")[2].split()[0]) for text in counts)
    lab.undo(NAME, "gpu-node1")
    limits = [place.read_text() for name in ("cpu.cfs_quota_us", "cpu.max") for place in of_host(name)]
    assert limits
    assert all(text.startswith(("-1", "max")) for text in limits)


def of_host(name):
    """The files of that name in the control groups of the first GPU host."""
    found = (group / name for group in cgroups.groups(NAME, "gpu-node1"))
    return [place for place in found if place.exists()]


def test_a_slow_disk_leaves_no_limit_behind_when_the_lab_goes(cluster_file):
    """The next lab that is given that device finds it as fast as it is."""
    path = cluster_file("wright-other", 232)
    state = lab.up(load_cluster(path))
    lab.fault("wright-other", "slow-disk", "gpu-node2")
    device = (state.host_folder("gpu-node2") / "disk").stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)} "
    limits = Path("/sys/fs/cgroup").rglob("blkio.throttle.*_bps_device")
    assert lab.down("wright-other") == []

    assert not [place for place in limits if number in place.read_text()]


def test_a_paused_host_stands_still_and_goes_on(standing):
    """Its processes are frozen, not gone."""
    on(
        standing,
        "gpu-node1",
        "nohup sh -c 'while :; do date +%s.%N > /root/tick; sleep 0.1; done' >/dev/null 2>&1 &",
    )
    tick = standing.host_folder("gpu-node1") / "root/root/tick"
    _wait_until(tick.exists)
    lab.fault(NAME, "pause-host", "gpu-node1")
    first = tick.read_text()
    time.sleep(1)

    assert tick.read_text() == first
    assert states()["gpu-node1"] == "paused"
    lab.undo(NAME, "gpu-node1")
    _wait_until(lambda: tick.read_text() != first)


def test_faults_on_top_of_each_other_are_undone_in_order(standing):
    """The same fault twice is one; a link that was cut before the host was killed is fixed too."""
    for kind in ("link-down", "pause-host", "kill-host", "kill-host", "fill-disk"):
        state = lab.fault(NAME, kind, "gpu-node1")
    assert sorted(fault.kind for fault in state.faults) == [
        "link-down",
        "fill-disk",
        "kill-host",
        "pause-host",
    ]

    lab.undo(NAME)
    assert states() == dict.fromkeys(HOSTS, "running")
    assert on(standing, "gpu-node1", "ping -c 1 -W 2 10.231.1.12")


@pytest.mark.parametrize("step", ["networks:", "booting control", "booting gpu-node1", "booting gpu-node2"])
def test_an_up_that_died_is_taken_away_or_done_again(traces, step, cluster_file):
    """SIGKILL in the middle: down leaves nothing, and so does an up that follows, which works."""
    path = cluster_file("wright-other", 232)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom clusterwright import lab\n"
        "from clusterwright.config.load import load_cluster\n"
        "die = lambda text: sys.argv[2] in text and os.kill(os.getpid(), 9)\n"
        "lab.up(load_cluster(Path(sys.argv[1])), log=die)"
    )
    crash = [sys.executable, "-c", code, str(path), step]
    assert subprocess.run(crash, check=False, timeout=60).returncode == -signal.SIGKILL
    assert traces("wright-other")

    assert lab.down("wright-other") == []
    assert traces("wright-other") == []
    assert subprocess.run(crash, check=False, timeout=60).returncode == -signal.SIGKILL
    state = lab.up(load_cluster(path))
    assert on(state, "gpu-node2", "hostname") == "gpu-node2"
    assert lab.down("wright-other") == []


def test_a_down_that_died_is_done_again(traces, cluster_file):
    """Whatever half of it is gone."""
    lab.up(load_cluster(cluster_file("wright-other", 232)))
    for delay_s in (0.15, 0.3):
        code = "from clusterwright import lab; print('ready', flush=True); lab.down('wright-other')"
        half = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        half.stdout.readline()
        time.sleep(delay_s)
        half.kill()
        half.communicate()

    assert lab.down("wright-other") == []
    assert traces("wright-other") == []


def test_hosts_outlive_ctrl_c_at_the_terminal_after_up(cluster_file):
    """They are in sessions of their own: a signal to the group of `up` does not reach them."""
    path = cluster_file("wright-other", 232)
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom clusterwright import lab\n"
        "from clusterwright.config.load import load_cluster\n"
        "lab.up(load_cluster(Path(sys.argv[1]))); print('up', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, start_new_session=True
    )
    assert child.stdout.readline() == b"up\n"
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    time.sleep(0.5)

    _wait_until(lambda: {row.state for row in lab.status("wright-other")} == {"running"})
    assert lab.down("wright-other") == []


def test_no_space_for_the_image_is_said_before_it_is_begun(tmp_path):
    """On a real small file system."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=True)
    try:
        with pytest.raises(WrightError, match="no-space") as refused:
            image.build("debian-12", print, images=tmp_path)
        assert "0 MB are free" in str(refused.value) or "1 MB are free" in str(refused.value)
        assert list(tmp_path.iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_an_image_that_was_cut_short_leaves_nothing(tmp_path):
    """Interrupted while packages are downloaded."""

    def interrupt(text):
        if "running apt-get update" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        image.build("debian-12", interrupt, images=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_up_without_root_says_what_to_do(cluster_file):
    """Before anything is touched."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom clusterwright import lab\n"
        "from clusterwright.config.load import load_cluster\n"
        "cluster = load_cluster(Path(sys.argv[1])); os.setgid(65534); os.setuid(65534); lab.up(cluster)"
    )
    argv = [sys.executable, "-c", code, str(cluster_file("wright-other", 232))]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

    assert "error[lab-needs-root]" in done.stderr
    assert "sudo" in done.stderr
    assert not Path("/var/lib/clusterwright/labs/wright-other").exists()


def _wait_until(true, limit_s=150):
    """Patience on a busy machine."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _rate_bits_per_s(state, seconds=2):
    """What goes from gpu-node1 to gpu-node2 over the compute network."""
    receive = (
        "import socket, time\ns = socket.create_server(('0.0.0.0', 5999)); c, _ = s.accept()\n"
        "t = time.time(); n = 0\n"
        "while b := c.recv(1 << 20): n += len(b)\n"
        "print(n * 8 / (time.time() - t))"
    )
    send = (
        "import contextlib, socket, time; c = None\n"
        "while c is None:\n"  # until the receiver has got so far; timeout ends us
        "  with contextlib.suppress(ConnectionRefusedError): c = socket.create_connection(('10.231.1.12', 5999))\n"
        f"e = time.time() + {seconds}\n"
        "while time.time() < e: c.sendall(bytes(65536))"
    )
    argv = ["ssh", "-F", state.ssh_config, "gpu-node2", f'timeout 30 python3 -c "{receive}"']
    receiver = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    with receiver:
        on(state, "gpu-node1", f'timeout 30 python3 -c "{send}"', timeout_s=40)
        return float(receiver.stdout.read())


@pytest.mark.train
def test_an_ordinary_user_of_a_host_has_torch(standing):
    """At the path that jobs use, though the environment may lie in root's own folder."""
    pytest.importorskip("torch")
    command = (
        "setpriv --reuid=65534 --regid=65534 --clear-groups"
        " /opt/clusterwright/env/bin/python -c 'import torch; print(torch.ones(2).sum().item())'"
    )

    assert on(standing, "gpu-node1", command, timeout_s=60) == "2.0"


def test_the_command_line_says_and_does_the_same(standing):
    """Status as JSON, one command on a host, a fault and its undo, down of what is not there."""

    def wright(*words):
        argv = [Path(sys.executable).with_name("wright"), "lab", *words]
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)

    rows = json.loads(wright("status", NAME, "--json").stdout)
    assert [(row["host"], row["state"]) for row in rows] == [(host, "running") for host in HOSTS]
    assert (
        wright("shell", "gpu-node1", "--name", NAME, "--", "printf", "%s|", "a b", "$HOME").stdout
        == "a b|$HOME|"
    )
    assert "to undo it:" in wright("fault", "pause-host", "gpu-node1", "--name", NAME).stderr
    assert "pause-host" in wright("status", NAME).stdout
    assert "fault undone: pause-host on gpu-node1" in wright("fault", "undo", "all", "--name", NAME).stderr
    assert wright("fault", "burn-host", "gpu-node1", "--name", NAME).returncode == 2
    assert wright("down", "no-such-lab").returncode == 0
