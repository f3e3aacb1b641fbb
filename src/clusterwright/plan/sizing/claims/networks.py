"""Claims P3 and V2: latency and bandwidth of networks, and their effect on training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.catalog import architecture, architectures, gpu
from clusterwright.i18n import _
from clusterwright.plan.collectives import Collective, seconds
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.expected import TCP_PORT_BYTES_PER_S
from clusterwright.plan.fabric.parts import FabricKind, FabricSwitch
from clusterwright.plan.machines import Wiring, machine
from clusterwright.plan.parameters import count
from clusterwright.plan.run import Layout, Run, Stack, Training
from clusterwright.plan.sizing.claims.claim import Checked, Verdict, judged
from clusterwright.plan.sizing.claims.hosts import GBIT, a100_hdr, a100_hdr100, over
from clusterwright.plan.sizing.fewest import searched
from clusterwright.plan.speed import iteration

if TYPE_CHECKING:
    from clusterwright.catalog.records import Architecture
    from clusterwright.plan.run import Machine

HDR = FabricSwitch(40, 200 * GBIT, "QM8700")  # 40 ports of HDR
NODES = 16
LATE_BYTES = 8 * 1024  # a message whose time is only latency
MATTERS = 0.10  # a network matters if it costs more than a tenth of the throughput


def leaf_spine() -> Checked:
    """Check the claim that leaf-spine gives 35% more than a star at 16 nodes: with one port each, and with eight.

    It is judged by one port, with which a single switch connects all; it disagrees if the gain is under half.
    """
    few, eight_port_gain = _gain(1), _gain(8)
    star = design(FabricKind.STAR, NODES, 8, HDR)
    return Checked(
        "leaf-spine-over-star",
        "P3",
        _("Leaf-spine gives 35% more GPU utilization than a star at 16 nodes"),
        35.0,
        100 * few,
        "%",
        _("LLaMA-2-7B on {nodes} servers of 8 A100 with one HDR port each; 40-port switches", nodes=NODES),
        Verdict.DISAGREE if few < 0.35 / 2 else judged(0.35, few),
        _(
            "If each of 16 servers has one network port, a single switch connects all servers, and no topology is"
            " faster than one non-blocking switch. If each of 16 servers has 8 network ports, a star has "
            "{switches} switches with an oversubscription of {oversubscription:.1f} to 1 in the middle, and "
            "leaf-spine increases the throughput of the training by {gain:.0f}%.",
            switches=star.switches,
            oversubscription=star.oversubscription,
            gain=100 * eight_port_gain,
        ),
    )


def _gain(ports: int) -> float:
    """Return the throughput gain of leaf-spine over star with `ports` ports per server."""
    star, clos = (design(kind, NODES, ports, HDR) for kind in (FabricKind.STAR, FabricKind.LEAF_SPINE))
    slow, fast = (
        _step_s("llama2-7b", a100_hdr(NODES, ports, fabric.oversubscription)) for fabric in (star, clos)
    )
    return slow / fast - 1


def latency() -> Checked:
    """Judge the guides' claim that InfiniBand cuts the latency of a small all-reduce by 40%, by predicted times.

    It agrees if so against Ethernet and RoCE, partly against Ethernet alone, else disagrees.
    """
    hosts = a100_hdr(NODES)
    infiniband, roce, ethernet = (
        seconds(Collective.ALL_REDUCE, LATE_BYTES, over(hosts, kind, 8, 200 * GBIT), 8 * NODES, 8)
        for kind in ("infiniband", "roce", "ethernet")
    )
    saved, of_roce = 1 - infiniband / ethernet, 1 - infiniband / roce
    verdict = (
        Verdict.AGREE if saved >= 0.40 <= of_roce else Verdict.PARTLY if saved >= 0.40 else Verdict.DISAGREE
    )
    return Checked(
        "infiniband-latency",
        "P3",
        _("InfiniBand cuts the latency of NCCL's synchronization by 40% and more"),
        40.0,
        100 * float(saved),
        "%",
        _(
            "all-reduce of {size} KiB over {nodes} servers of 8 A100: {infiniband:.0f} us on "
            "InfiniBand, {ethernet:.0f} us on Ethernet with TCP, {roce:.0f} us on RoCE",
            size=LATE_BYTES // 1024,
            nodes=NODES,
            infiniband=1e6 * infiniband,
            ethernet=1e6 * ethernet,
            roce=1e6 * roce,
        ),
        verdict,
        _(
            "Compared with TCP over Ethernet, InfiniBand cuts the latency of NCCL's all-reduce by as much as is "
            "claimed. Compared with RoCE, which is RDMA too, InfiniBand cuts the latency of NCCL's all-reduce by "
            "{share:.0f}%: in published runs, NCCL has the same latency on both.",
            share=100 * of_roce,
        ),
    )


def a_billion() -> Checked:
    """Check the claim that InfiniBand matters above 1 B parameters: find the size at which 25 GbE loses a tenth.

    It agrees from 0.5 to 2 B, else partly; inconclusive if no model loses so much.
    """
    losses = sorted((count(model).total / 1e9, _loss(model)) for model in _gpts())
    threshold = next((size for size, loss in losses if loss > MATTERS), None)
    loss_list = ", ".join(f"{100 * loss:.0f}% at {size:.2g} B" for size, loss in losses)
    largest = _gpts()[-1]
    verdict = (
        Verdict.INCONCLUSIVE
        if threshold is None
        else Verdict.AGREE
        if 0.5 <= threshold <= 2
        else Verdict.PARTLY
    )
    return Checked(
        "infiniband-above-1b",
        "P3",
        _("InfiniBand matters above 1 B parameters, or with DDP or FSDP"),
        1.0,
        threshold,
        _("B parameters"),
        _(
            "throughput lost on two ports of 25 GbE against eight of HDR, 4 servers of 8 A100, "
            "ZeRO 2, batch 256: {loss_list}",
            loss_list=loss_list,
        ),
        verdict,
        _(
            "With data parallelism, a fast network such as InfiniBand matters for models of any size, because the"
            " gradient bytes per second of computation depend on the batch and hardly on the size of the model. "
            "With one HDR100 port per server in place of eight HDR ports, the training of a model of {size:.2g} B"
            " parameters loses {loss:.0f}% of its throughput.",
            size=count(largest).total / 1e9,
            loss=100 * _loss_hdr100(largest),
        ),
    )


def _gpts() -> list[Architecture]:
    """Return models of one shape from 0.1 to 7 B parameters, ascending; LLaMA-2-7B if the catalog has none."""
    names = ("mpt-125m", "mpt-350m", "mpt-760m", "mpt-1b", "mpt-3b", "mpt-7b")
    return [architectures()[name] for name in names if name in architectures()] or [architecture("llama2-7b")]


def _loss(model: Architecture) -> float:
    return _throughput_loss(model, over(a100_hdr(4), "ethernet", 2, 25 * GBIT))


def _loss_hdr100(model: Architecture) -> float:
    return _throughput_loss(model, a100_hdr100(4))


def _throughput_loss(model: Architecture, slow: Machine) -> float:
    """Return the share of throughput that `slow` loses against 4 nodes with eight HDR ports each.

    With data parallelism only, as with DDP and FSDP.
    """
    fast, layout = a100_hdr(4), Layout(dp=32, zero=2, micro_batch=4)
    training = Training(model, 2048, 256, task="sft")
    quick, late = (float(iteration(Run(training, layout, on, Stack("fsdp"))).total) for on in (fast, slow))
    return 1 - quick / late


def _step_s(model: str, on: Machine) -> float:
    planned_layout = searched(Training(architecture(model), 2048, 256, task="sft"), on, Stack("fsdp"))
    assert planned_layout is not None  # noqa: S101 (a model of this size fits on 128 A100 with any coefficients)
    return float(planned_layout.time.total)


HALF = 50.0  # percent


def wrong_network() -> Checked:
    """Judge the guides' claim that a wrong network keeps GPU use under 50 %.

    It is compared with the planned share of a step that does not wait for a network.
    """
    hosts, narrow = a100_hdr(4), over(a100_hdr(4), "ethernet", 2, 25 * GBIT)
    networks = ((hosts, "8 x HDR"), (a100_hdr100(4), "1 x HDR100"), (narrow, "2 x 25 GbE"))
    shares = ", ".join(f"{_gpu_use(on):.0%} {name}" for on, name in networks)
    computed = 100 * _gpu_use(narrow)
    return Checked(
        "wrong-network-half-use",
        "P1",
        _("A wrong network keeps GPU use under 50%"),
        HALF,
        computed,
        "%",
        _(
            "LLaMA-2-7B on 4 servers of 8 A100, ZeRO 2, batch 256; share of a step that does not wait: {shares}",
            shares=shares,
        ),
        Verdict.AGREE if computed < HALF else Verdict.DISAGREE,
        _(
            "With two ports of 25 GbE per server, GPUs wait for the network during most of a training step with "
            "data parallelism. nvidia-smi shows GPUs that wait for the network in NCCL as 100% used; the share of"
            " SMs that compute (DCGM's SM_ACTIVE) and the MFU show the loss."
        ),
        "" if computed < HALF else _("one port for each pair of GPUs at least"),
    )


def _gpu_use(on: Machine) -> float:
    """Return the share of a step of LLaMA-2-7B that does not wait for the network, with data parallelism only."""
    training = Training(architecture("llama2-7b"), 2048, 256, task="sft")
    time = iteration(Run(training, Layout(dp=on.gpus, zero=2, micro_batch=4), on, Stack("fsdp")))
    return 1 - float(time.data_parallel) / float(time.total)


GAIN = 25.0  # points
A40_BATCH = 8  # sequences of each GPU


def multi_node_efficiency() -> Checked:
    """Check the claim of 25% more multi-node efficiency by RDMA, on two servers of 4 A40 with 100 Gbit/s.

    Partly true if the gain is less over the same port, but more compared with 25 GbE.
    """
    names = (
        ("ethernet", 25.0),
        ("ethernet", TCP_PORT_BYTES_PER_S * 8 / GBIT),
        ("roce", 100.0),
        ("infiniband", 100.0),
    )
    slow, tcp, roce, infiniband = (_efficiency(kind, rate) for kind, rate in names)
    same_port, from_25 = 100 * (infiniband - tcp), 100 * (infiniband - slow)
    is_between = same_port <= GAIN <= from_25
    return Checked(
        "multi-node-efficiency",
        "V6",
        _("100 Gbit/s of RDMA gives 25% more multi-node efficiency"),
        GAIN,
        same_port,
        _("points"),
        _(
            "a GPT of 1.3 B parameters on two servers of 4 A40, batch {batch} for each GPU; efficiency is the "
            "throughput of two servers over twice that of one",
            batch=A40_BATCH,
        ),
        Verdict.PARTLY if is_between else judged(GAIN, same_port),
        _(
            "The efficiency of a training on two servers is {slow:.0%} with TCP on 25 GbE, {tcp:.0%} with TCP on "
            "a port of 100 Gbit/s, {roce:.0%} with RoCE and {infiniband:.0%} with InfiniBand. In place of TCP, "
            "RDMA increases the efficiency on two servers by {gain:.0f} points on the port of 100 Gbit/s, and by "
            "{from_25:.0f} points compared with 25 GbE; with a smaller batch, RDMA gains more.",
            slow=slow,
            tcp=tcp,
            roce=roce,
            infiniband=infiniband,
            gain=same_port,
            from_25=from_25,
        ),
    )


def _efficiency(kind: str, gbit_per_s: float) -> float:
    """Return the scaling efficiency from one server to two of 4 A40 each: their throughput over twice that of one.

    They have one port each, of this kind and rate.
    """
    one_server = machine(gpu("a40"), 4, Wiring(4, 4, "infiniband", 1, 100 * GBIT))
    two = over(machine(gpu("a40"), 8, Wiring(4, 4, "infiniband", 1, 100 * GBIT)), kind, 1, gbit_per_s * GBIT)
    return _a40_step_s(one_server) / _a40_step_s(two)


def _a40_step_s(on: Machine) -> float:
    """Return the seconds of a step of MPT-1B with the same batch for each GPU, on any number of GPUs."""
    training = Training(architecture("mpt-1b"), 2048, A40_BATCH * on.gpus)
    layout = Layout(dp=on.gpus, zero=2, micro_batch=4)
    return float(iteration(Run(training, layout, on, Stack("fsdp"))).total)
