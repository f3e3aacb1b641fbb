"""Lines of guides in many wordings, each judged by the judge that it is for."""

import pytest

from clusterwright.catalog import guides, parts
from clusterwright.plan.sizing.claims import Verdict, checked, judge_text
from clusterwright.plan.sizing.claims.perftest import find_link

AGREE, PARTLY, DISAGREE, UNKNOWN = Verdict.AGREE, Verdict.PARTLY, Verdict.DISAGREE, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("line", "verdict", "computed"),
    [
        ("HDR100: ib_send_bw 90+ GB/s", DISAGREE, 12.5),
        ("With `ib_send_bw` the HDR100 network reaches more than 90 GB/s", DISAGREE, 12.5),
        ("HDR100 网络下 ib_send_bw 带宽超过 90GB/s", DISAGREE, 12.5),
        ("ib_write_bw: 90 GB/s over NDR", DISAGREE, 50),
        ("HDR100: ib_send_bw 90+ Gb/s", AGREE, 100),
        ("over HDR100, ib_write_bw -d mlx5_0 shows 96.4 Gbit/s", AGREE, 100),
        ("HDR: ib_read_bw 24.5 GB/s", AGREE, 25),
        ("HDR: ib_read_bw 11500 MB/sec", DISAGREE, 25),
        ("HDR: ib_write_bw 23400 MB/sec", AGREE, 25),
        ("2 x 25 GbE: ib_read_bw about 50 Gbit/s", PARTLY, 25),
        ("Two ports of 25 GbE: about 50 Gbit/s with ib_read_bw", PARTLY, 25),
        ("双 25GbE 网卡,ib_read_bw 约 50 Gbps", PARTLY, 25),
        ("25GbE x 2, `ib_read_bw` ~ 50Gb/s", PARTLY, 25),
        ("25 GbE: ib_read_bw about 50 Gbit/s", DISAGREE, 25),
        ("100G RoCE v2: ib_write_bw reaches 97 Gbit/s", AGREE, 100),
        ("100G RoCE v2: ib_write_bw reaches 40 Gbit/s", DISAGREE, 100),
        ("NDR400: ib_write_bw 400+ Gb/s", AGREE, 400),
        ("NDR: ib_write_bw 800 Gb/s", DISAGREE, 400),
    ],
)  # fmt: skip
def test_bandwidths_are_judged_by_the_line_rate_of_one_port(line, verdict, computed):
    """A unit that is a misprint, more than the line, the sum of two ports, and a slow link each differ."""
    (claim,) = judge_text(line)

    assert (claim.verdict, claim.computed) == (verdict, pytest.approx(computed, rel=0.03))
    assert bool(claim.right) == (verdict is not AGREE)


@pytest.mark.parametrize(
    ("line", "verdict", "turns"),
    [
        ("HDR100: ib_send_lat < 1.5 us", AGREE, 1),
        ("HDR100 latency with ib_send_lat is below 1.5us", AGREE, 1),
        ("HDR100 ib_write_lat 延迟低于 1.5 微秒", AGREE, 1),
        ("HDR100: ib_send_lat under 0.5 us", DISAGREE, 1),
        ("HDR100: ib_read_lat about 1.5 us", AGREE, 2),
        ("2 x 25 GbE: ib_read_lat about 1.5 us", PARTLY, 2),
        ("2 x 25 GbE: ib_read_lat below 1.5 usec", DISAGREE, 2),
        ("25GbE: ib_write_lat 1500 ns", PARTLY, 1),
    ],
)
def test_latencies_are_judged_by_adapters_and_a_switch(line, verdict, turns):
    """A read is a round trip, a send and a write are half of one."""
    (claim,) = judge_text(line)

    hop = 0.13 if find_link(line).kind == "infiniband" else 0.5
    assert claim.verdict is verdict
    assert claim.computed == pytest.approx(turns * (0.6 + hop))


def test_the_network_of_an_earlier_line_holds():
    """A guide names its network once, and prints results of the tests below; two figures of a line are two claims."""
    found = judge_text("## Nodes with HDR100\n\n- `ib_send_bw`: 90+ GB/s, under 1.5 us\n")

    assert [(claim.unit, claim.verdict) for claim in found] == [("GB/s", DISAGREE), ("us", AGREE)]


def test_a_figure_without_a_network_cannot_be_judged():
    """Neither right nor wrong; the answer names what is missing."""
    (claim,) = judge_text("ib_read_bw shows 50 Gbit/s")

    assert claim.verdict is UNKNOWN
    assert "HDR100" in claim.right


@pytest.mark.parametrize(
    ("line", "threads"),
    [
        ("EPYC 7543: 32 cores, 128 threads", 64),
        ("AMD EPYC 7543 (32C/128T)", 64),
        ("CPU: AMD EPYC 7543,32 核 128 线程", 64),
        ("a 32-core EPYC 7543 with 128 hardware threads", 64),
        ("dual EPYC 7713 (128 cores, 512 threads)", 256),
        ("Xeon Platinum 8480+ with 56 cores and 224 threads", 112),
        ("NVIDIA Grace: 72 cores, 144 threads", 72),
    ],
)
def test_wrong_threads_of_a_cpu_are_corrected(line, threads):
    """By cores and threads per core of the catalog, in every wording and for two sockets."""
    (claim,) = judge_text(line)

    assert (claim.verdict, claim.computed) == (DISAGREE, threads)
    assert claim.right.startswith(f"CPUs={threads} Sockets=")


@pytest.mark.parametrize("name", parts.cpus())
def test_the_rule_holds_for_every_cpu_of_the_catalog(name):
    """Cores times threads per core is right, twice of that is two sockets or wrong."""
    cpu = parts.cpus()[name]

    (right,) = judge_text(f"{name}: {cpu.cores} cores, {cpu.threads} threads")
    (both,) = judge_text(f"2 x {name}: {2 * cpu.cores} cores, {2 * cpu.threads} threads")
    (wrong,) = judge_text(f"{name}: {cpu.cores} cores, {2 * cpu.threads} threads")

    assert [claim.verdict for claim in (right, both, wrong)] == [AGREE, AGREE, DISAGREE]


def test_every_cpu_of_a_server_is_in_the_catalog():
    """So that its threads can be judged; `Xeon Gold` alone names no model."""
    names = {server.cpu for server in parts.servers().values()} - {"Intel Xeon Gold"}

    assert names <= set(parts.cpus())
    for server in parts.servers().values():
        if server.cpu in parts.cpus():
            assert server.cores == server.cpus * parts.cpu(server.cpu).cores


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("srun --mpi=pmix_v3 -N4 -n32 python a.py", "srun --gpus-per-node=8 --mpi=pmix_v3 -N4 -n32 python a.py"),
        ("$ srun -N 2 -n 8 python3 main.py", "srun --gpus-per-node=4 -N 2 -n 8 python3 main.py"),
        ("srun --nodes=4 --ntasks=32 torchrun x.py", "srun --gpus-per-node=8 --nodes=4 --ntasks=32 torchrun x.py"),
        ("run `srun -n3 python train.py` now", "srun --gpus-per-task=1 -n3 python train.py"),
    ],
)  # fmt: skip
def test_srun_without_gpus_gets_them(line, right):
    """As many on each node as it has tasks; one for each task where that is not known."""
    (claim,) = judge_text(line)

    assert claim.verdict is DISAGREE
    assert claim.right == right


@pytest.mark.parametrize(
    "text",
    [
        "srun --gres=gpu:8 -N4 -n32 python train.py",
        "srun --gpus-per-node=8 -N4 -n32 python train.py",
        "srun -G 32 -N4 -n32 python train.py",
        "srun -N4 hostname",
        "#SBATCH --gres=gpu:8\nsrun -N4 -n32 python train.py",
        "#SBATCH --gpus-per-node=8\nsrun python train.py",
    ],
)
def test_srun_with_gpus_or_without_a_training_is_no_claim(text):
    """The GPUs may be requested in the batch script around it."""
    assert judge_text(text) == ()


@pytest.mark.parametrize(
    "line",
    [
        "num_workers=4*cpus_per_task",
        "num_workers = 4 x cpus_per_task",
        "DataLoader(dataset, num_workers=args.cpus_per_task * 4, pin_memory=True)",
        "num_workers=4*os.cpu_count()",
        "use four loader workers for each CPU",
        "2 workers per core",
        "set the number of workers to 4 times the number of CPUs",
        "DataLoader 的 num_workers 设为 CPU 核数的 4 倍",
    ],
)
def test_more_workers_than_cpus_are_wrong(line):
    """In code, prose and Chinese."""
    (claim,) = judge_text(line)

    assert claim.verdict is DISAGREE
    assert "SLURM_CPUS_PER_TASK" in claim.right


@pytest.mark.parametrize(
    ("version", "verdict"), [("10.2", AGREE), ("11.8", AGREE), ("12.1", DISAGREE), ("13.0", DISAGREE)]
)
@pytest.mark.parametrize(
    "line", ["conda install cudatoolkit={}", "mamba install -c nvidia cudatoolkit=={} -y", "  - cudatoolkit {}"]
)  # fmt: skip
def test_cudatoolkit_ends_at_11_8(line, version, verdict):
    """Any version above is refused, with the package that has it."""
    (claim,) = judge_text(line.format(version))

    assert claim.verdict is verdict
    assert (f"cuda-toolkit={version}" in claim.right) == (verdict is DISAGREE)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("systemctl stop firewalld", "firewall-off"),
        ("sudo systemctl disable --now firewalld", "firewall-off"),
        ("systemctl --now disable ufw", "firewall-off"),
        ("ufw disable", "firewall-off"),
        ("iptables -F", "firewall-off"),
        ("First, turn off the firewall on all nodes.", "firewall-off"),
        ("The firewall must be disabled", "firewall-off"),
        ("关闭防火墙", "firewall-off"),
        ("setenforce 0", "selinux-off"),
        ("sed -i 's/SELINUX=enforcing/SELINUX=disabled/' /etc/selinux/config", "selinux-off"),
        ("Disable SELinux and reboot", "selinux-off"),
        ("set SELinux to permissive", "selinux-off"),
        ("关闭 SELinux", "selinux-off"),
        ("Conda or vLLM for environments", "vllm-environment"),
        ("Environments are managed with conda/vLLM", "vllm-environment"),
        ("use vLLM to manage environments", "vllm-environment"),
        ("用 Conda 或 vLLM 管理环境", "vllm-environment"),
    ],
)
def test_wrong_instructions_are_found_in_other_words(line, name):
    """Each has the reason and the right line."""
    (claim,) = judge_text(line)

    assert (claim.name, claim.verdict) == (name, DISAGREE)
    assert claim.right
    assert len(claim.reason) > 40


@pytest.mark.parametrize(
    "line",
    [
        "Do not disable the firewall.",
        "Never turn off SELinux",
        "不要关闭防火墙",
        "Open the ports in firewalld instead of stopping it: don't stop the firewall",
        "set SELinux to enforcing",
        "systemctl enable --now firewalld",
        "We serve the model with vLLM in a conda environment.",
        "pip install vllm",
        "num_workers=8",
        "workers on 4 x A100 nodes",
        "EPYC 7543 with 32 cores",
        "iperf3 shows 23 Gbit/s on 25 GbE",
        "",
    ],
)
def test_right_lines_and_warnings_are_no_claims(line):
    """A warning of a wrong instruction is right."""
    assert judge_text(line) == ()


def test_every_guide_line_of_the_catalog_is_one_claim():
    """Data and judges belong together: an entry that no judge recognizes would be lost without a word."""
    names = [claim.name for claim in checked()]

    assert [names.count(line.name) for line in guides.guide_lines()] == [1] * len(guides.guide_lines())


def test_a_long_hostile_line_is_read_in_time():
    """No expression takes longer than linear time; what is behind 2,000 characters is not read."""
    for text in ("worker" + "4 times " * 5000, "srun " + "'" * 9999, "9" * 100_000, "disable the " * 20_000):
        assert judge_text(text) == judge_text(text[:2000])
