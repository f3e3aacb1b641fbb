"""The model that the bench trains on this cluster, and the planner's estimate of its gradient exchange."""

from __future__ import annotations

from dataclasses import replace

from clusterwright import catalog
from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.culprits.groups import ranks_of
from clusterwright.check.bench.kinds import network
from clusterwright.check.bench.kinds.collectives import GLOO_ENOUGH, NCCL_ENOUGH, plan_of
from clusterwright.check.bench.parsers.trained import Trained
from clusterwright.check.bench.site import BenchSite
from clusterwright.check.bench.training.routes import RDMA, TCP, Route
from clusterwright.check.bench.training.scaling import NOTHING_HIDES, Exchange, buckets_of
from clusterwright.check.bench.training.trials import Shape
from clusterwright.i18n import _
from clusterwright.plan.cnn.coefficients import stored
from clusterwright.plan.collectives import domain_size, seconds
from clusterwright.plan.fabric.expected import TCP_PORT_BYTES_PER_S
from clusterwright.plan.machines import machine_of

# 303 million parameters, GPT-2 medium's layers: its gradients, 1.2 GB, take 0.2 s on a line of 100 Gbit/s.
ON_GPUS = Shape("nccl", width=1024, layers=24, sequences=8, tokens=1024, seconds=10.0)
# On CPUs a model whose gradients take 0.05 s on the line, sent once: a step of 256 tokens takes a core as long.
LINE_S, LAYERS, HEAD, MOST_WIDTH = 0.05, 4, 64, 512
WEIGHTS_OF_LAYER = 12  # times the square of the width
FLOAT_BYTES = 4


def shape_of(site: BenchSite) -> Shape:
    """Return the model to train: a fixed one for NCCL on GPUs; on CPUs one whose gradients take about LINE_S to send.

    LINE_S is counted at the expected rate of one port; the model is HEAD to MOST_WIDTH wide.
    """
    if plan_of(site).backend == "nccl":
        return ON_GPUS
    weights = network.expectation(site).value * LINE_S / FLOAT_BYTES
    width = (weights / LAYERS / WEIGHTS_OF_LAYER) ** 0.5
    rounded_width = min(MOST_WIDTH, max(HEAD, round(width / HEAD) * HEAD))
    return Shape("gloo", rounded_width, LAYERS, sequences=4, tokens=64, seconds=5.0)


def line_bytes_per_s(site: BenchSite, backend: str) -> float:
    """Return the declared bytes/s of a host's ports: of one for Gloo, of all for NCCL."""
    ports = site.network.rails if backend == "nccl" else 1
    return site.network.rate / site.rate_divisor / 8 * ports


def exchange(site: BenchSite, route: Route, group: Trained) -> Exchange | None:
    """Return the expected gradient exchange of the group; None where the planner has no estimate for the transport."""
    if route is RDMA:
        return None  # InfiniBand without GPUDirect: no published rows to fit
    buckets = buckets_of(group.gradient_bytes)
    description = _(
        "an all-reduce of {amount} over {ranks} ranks",
        amount=amount(group.gradient_bytes, "bytes"),
        ranks=group.ranks,
    )
    if not route.net:
        line = network.expectation(site)
        return Exchange(
            group.bus_bytes / line.value, buckets, NOTHING_HIDES, GLOO_ENOUGH, f"{description}; {line.reason}"
        )
    host = site.host(group.hosts[0])
    machine = machine_of(site.cluster, host.group_name, catalog.gpus().values())
    machine = replace(machine, gpus=sum(ranks_of(site, name, "nccl") for name in group.hosts))
    if route is TCP:
        port = min(machine.network.nic_bytes_per_s, TCP_PORT_BYTES_PER_S)
        machine = replace(machine, network=replace(machine.network, kind="ethernet", nic_bytes_per_s=port))
    domain = min(domain_size(machine), machine.gpus)
    bucket_s = float(seconds("all_reduce", group.gradient_bytes / buckets, machine, machine.gpus, domain))
    shows = stored().software["pytorch"].exposed
    reason = _(
        "{description} of {gpu} by the planner, {kind}",
        description=description,
        gpu=machine.gpu.name,
        kind=machine.network.kind,
    )
    return Exchange(bucket_s * buckets, buckets, shows, NCCL_ENOUGH, reason)
