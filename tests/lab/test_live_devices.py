"""Simulated GPUs and RDMA ports on real hosts, asked by those who ask them on metal; needs root."""

import time

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.errors import WrightError
from clusterwright.lab import compiling
from clusterwright.provision.apply import apply, remote_of

NAME = "simgpu-test"
GPU_HOST = "gpu-node1"
MENDED = (
    "systemd-run --unit=clusterwright-repair -p SyslogIdentifier=clusterwright"
    " printf 'repaired %s\\n' $(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader)"
)
HEALTH = f"SLURMD_NODENAME={GPU_HOST} /etc/slurm/clusterwright/health"
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(compiling.compiler() is None, reason="no C compiler (apt-get install gcc libc6-dev)"),
]


@pytest.fixture(scope="module")
def applied(tmp_path_factory, text_of_small_lab):
    """A control host and one with two A100 and two InfiniBand ports, with Slurm on them; gone at the end."""
    path = tmp_path_factory.mktemp("lab") / "cluster.yaml"
    text = text_of_small_lab.format(name=NAME, net=193).replace("gpu-node[1-2]", GPU_HOST)
    text = text.replace("memory: 80GiB", "memory: 80GiB, nvlink: true")
    path.write_text(text.replace("rate: 10Gbit/s", "rate: 200Gbit/s, kind: infiniband, rails: 2"))
    cluster = load_cluster(path)
    try:
        lab.up(cluster)
        report = apply(cluster, str(path), remote_of(cluster))
        assert not report.failed, report
        yield Ssh(config=lab.state.require(NAME).ssh_config)
    finally:
        assert lab.down(NAME) == []


@pytest.fixture
def hosts(applied):
    """The same, without faults before the test and after."""
    lab.undo(NAME)
    yield applied
    lab.undo(NAME)


def on(hosts, command, *, host=GPU_HOST, timeout_s=60):
    """What the command says on the host."""
    done = hosts.run(host, command, timeout_s=timeout_s)
    assert done.ok, f"{host}: {command}: {done.code}: {done.last_lines(20)}"
    return done.out


def field(hosts, names):
    """What nvidia-smi says of each GPU."""
    lines = on(hosts, f"nvidia-smi --query-gpu={names} --format=csv,noheader,nounits").splitlines()
    return [line.split(", ") for line in lines]


def test_nvidia_s_own_reader_finds_the_gpus_of_the_file(hosts):
    """In the environment of trainings, as an ordinary user."""
    pytest.importorskip("torch")
    pytest.importorskip("pynvml")
    code = (
        "import pynvml as n; n.nvmlInit(); gpu = n.nvmlDeviceGetHandleByIndex(1); "
        "print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetMemoryInfo(gpu).total, n.nvmlDeviceGetName(gpu))"
    )
    said = on(
        hosts,
        "setpriv --reuid=65534 --regid=65534 --clear-groups /opt/clusterwright/env/bin/python"
        f' -W ignore -c "{code}"',
    )

    assert said == f"2 {80 * 2**30} Simulated NVIDIA A100-SXM-80GB\n"


def test_a_job_sees_them_and_the_hooks_let_it_through(hosts):
    """Prolog and epilog ask the driver before and after; the host is as it was."""
    said = on(hosts, "srun --gres=gpu:1 nvidia-smi -L", host="control")

    assert said.count("Simulated NVIDIA A100-SXM-80GB") == 2
    _wait_until(lambda: on(hosts, "sinfo -h -o %T", host="control") == "idle\n")  # the epilog has ended


def test_a_host_without_gpus_has_no_driver_and_no_such_fault(hosts):
    """As on metal."""
    assert not hosts.run("control", "command -v nvidia-smi", timeout_s=20).ok
    with pytest.raises(WrightError, match="lab-no-gpus"):
        lab.fault(NAME, "gpu-lost", "control")
    with pytest.raises(WrightError, match="from 0 to 1"):
        lab.fault(NAME, "gpu-lost", GPU_HOST, gpu="2")
    assert lab.state.require(NAME).faults == ()


@pytest.mark.parametrize(
    ("kind", "options", "names", "sound", "struck"),
    [
        ("gpu-hot", {"gpu": "1"}, "temperature.gpu,clocks_event_reasons.hw_thermal_slowdown",
         ["31", "Not Active"], ["93", "Active"]),
        ("gpu-slow", {"gpu": "1"}, "clocks.sm,clocks_event_reasons.hw_slowdown",
         ["1410", "Not Active"], ["345", "Active"]),
        ("gpu-ecc", {"gpu": "1"},
         "ecc.errors.uncorrected.volatile.total,ecc.errors.uncorrected.aggregate.total", ["0", "0"], ["1", "1"]),
        ("gpu-remap", {"gpu": "1"}, "remapped_rows.pending,remapped_rows.uncorrectable", ["0", "0"], ["1", "1"]),
    ],
)  # fmt: skip
def test_a_fault_shows_on_its_gpu_alone_until_it_is_undone(hosts, kind, options, names, sound, struck):
    """As nvidia-smi says it."""
    before = field(hosts, names)
    lab.fault(NAME, kind, GPU_HOST, **options)

    assert before[1] == sound
    assert field(hosts, names) == [before[0], struck]
    lab.undo(NAME)
    assert field(hosts, names) == before


def test_a_link_that_is_down_is_inactive(hosts):
    """One of twelve."""
    lab.fault(NAME, "nvlink-down", GPU_HOST, gpu="0", link="3")

    assert on(hosts, "nvidia-smi nvlink -s").count("<inactive>") == 1
    assert "NV11" in on(hosts, "nvidia-smi topo -m")
    lab.undo(NAME)
    assert "NV12" in on(hosts, "nvidia-smi topo -m")


def test_an_xid_is_in_the_kernel_log_of_its_host_alone(hosts):
    """As the kernel's, by journalctl -k and by dmesg; a second one is a second line."""
    for number in ("43", "31"):
        lab.fault(NAME, "gpu-xid", GPU_HOST, gpu="1", xid=number)
    lines = [line for line in on(hosts, "dmesg").splitlines() if "Xid" in line]

    assert [line.partition("] ")[2].split(",")[0] for line in lines[-2:]] == [
        "NVRM: Xid (PCI:0000:17:00): 43",
        "NVRM: Xid (PCI:0000:17:00): 31",
    ]
    assert "kernel: NVRM: Xid (PCI:0000:17:00): 31" in on(hosts, "journalctl -k")
    assert "Missed" not in on(hosts, "journalctl -b -o cat")
    assert "NVRM" not in on(hosts, "journalctl -k", host="control")
    assert lab.state.require(NAME).faults == ()


def test_the_kernel_log_of_every_host_begins_by_itself(hosts):
    """It is never empty: that would look like a container's that has none."""
    for host in ("control", GPU_HOST):
        _wait_until(lambda host=host: "] Linux version " in on(hosts, "dmesg", host=host))


def test_another_driver_version_is_said_and_gone_after_a_reboot(hosts):
    """Though the fault is still to be undone."""
    lab.fault(NAME, "driver-mismatch", GPU_HOST)
    done = hosts.run(GPU_HOST, "nvidia-smi", timeout_s=20)

    assert (done.code, "version mismatch" in done.out) == (18, True)
    assert "API mismatch" in on(hosts, "dmesg")
    lab.fault(NAME, "reboot-host", GPU_HOST)
    assert len(field(hosts, "index")) == 2


def test_a_driver_that_hangs_holds_up_whoever_asks(hosts):
    """Until it goes on."""
    lab.fault(NAME, "driver-hang", GPU_HOST)
    asked = on(hosts, "nvidia-smi -L >/root/said 2>&1 </dev/null & timeout 2 nvidia-smi >/dev/null; echo $?")

    assert asked == "124\n"
    assert on(hosts, "cat /root/said") == ""
    lab.undo(NAME)
    _wait_until(lambda: on(hosts, "cat /root/said").count("Simulated") == 2)


def test_a_reboot_finds_a_lost_gpu_and_keeps_what_is_counted_for_ever(hosts):
    """Volatile counters begin anew."""
    names = "ecc.errors.uncorrected.volatile.total,ecc.errors.uncorrected.aggregate.total"
    lab.fault(NAME, "gpu-ecc", GPU_HOST, gpu="0")
    lab.fault(NAME, "gpu-lost", GPU_HOST, gpu="1")
    assert hosts.run(GPU_HOST, "nvidia-smi", timeout_s=20).code == 15

    lab.fault(NAME, "reboot-host", GPU_HOST)
    assert field(hosts, names) == [["0", "1"], ["0", "0"]]


@pytest.mark.parametrize("kind", ["gpu-lost", "gpu-ecc"])
def test_health_drains_the_host_and_gives_it_back(hosts, kind):
    """Slurm's own health program, asked now; an Xid counts until somebody says that the GPU is fixed."""
    on(hosts, f"{MENDED}; {HEALTH}")
    lab.fault(NAME, kind, GPU_HOST)
    assert hosts.run(GPU_HOST, HEALTH, timeout_s=60).code == 1
    reason = on(hosts, "sinfo -h -o %E", host="control")
    assert reason.startswith("wright: gpu-xid")
    assert f"; {kind} " in reason

    lab.undo(NAME)
    on(hosts, f"{MENDED}; {HEALTH}")
    assert "drain" not in on(hosts, "sinfo -h -o %T", host="control")


PORT = "/sys/class/infiniband/mlx5_1/ports/1"


def test_ports_are_where_the_kernel_shows_them(hosts):
    """With device files, and beside the host's own interfaces; a host off the compute network has none."""
    assert on(hosts, f"cat {PORT}/state {PORT}/rate") == "4: ACTIVE\n200 Gb/sec (4X HDR)\n"
    assert on(hosts, "ls /dev/infiniband /sys/class/net").split() == [
        "/dev/infiniband:", "uverbs0", "uverbs1", "/sys/class/net:", "compute", "lo", "management",
    ]  # fmt: skip
    assert not hosts.run("control", "ls /sys/class/infiniband", timeout_s=20).ok


def test_node_exporter_reads_the_ports(hosts):
    """A program of others', that knows nothing of labs."""
    tls = "/etc/clusterwright/tls"
    words = (
        "import ssl, urllib.request",
        f"context = ssl.create_default_context(cafile='{tls}/ca.crt')",
        f"context.load_cert_chain('{tls}/host.crt', '{tls}/host.key')",
        "said = urllib.request.urlopen('https://10.193.0.11:9100/metrics', context=context)",
        "print(said.read().decode())",
    )
    said = on(hosts, f'python3 -c "{"; ".join(words)}"')

    assert 'node_infiniband_link_downed_total{device="mlx5_1",port="1"} 0' in said
    assert 'node_scrape_collector_success{collector="infiniband"} 1' in said


def test_a_port_that_is_down_is_up_again_after_undo(hosts):
    """Counted and logged; the other port is as it was."""
    lab.fault(NAME, "ib-down", GPU_HOST, port="1")

    assert on(hosts, f"cat {PORT}/phys_state {PORT}/counters/link_downed") == "2: Polling\n1\n"
    assert on(hosts, f"cat {PORT.replace('mlx5_1', 'mlx5_0')}/state") == "4: ACTIVE\n"
    assert "mlx5_core 0000:28:00.0: Port: 1 Link DOWN" in on(hosts, "dmesg")
    lab.undo(NAME)
    assert on(hosts, f"cat {PORT}/state {PORT}/counters/link_downed") == "4: ACTIVE\n0\n"


def test_a_port_that_flaps_or_errs_tells_by_its_counters(hosts):
    """It is up whenever one looks; a reboot sets counters back, and the cable is as bad as before."""
    for kind in ("ib-flap", "ib-errors"):
        lab.fault(NAME, kind, GPU_HOST, port="1")
    words = f"cat {PORT}/state {PORT}/counters/link_downed {PORT}/counters/symbol_error"

    assert on(hosts, words) == "4: ACTIVE\n6\n5000\n"
    lab.fault(NAME, "reboot-host", GPU_HOST)
    assert on(hosts, words) == "4: ACTIVE\n0\n0\n"
    with pytest.raises(WrightError, match="lab-no-rdma"):
        lab.fault(NAME, "ib-down", "control")


def _wait_until(true, limit_s=30):
    """Patience on a busy machine."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)
