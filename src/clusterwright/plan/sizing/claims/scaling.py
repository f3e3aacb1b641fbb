"""Claim P5: ResNet-50 on CIFAR-10 over 25 GbE, on 1, 2 and 4 nodes of 4 A100."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.catalog.cnn import network
from clusterwright.i18n import _
from clusterwright.plan.cnn import CnnJob, scaling, step
from clusterwright.plan.sizing.claims.claim import Checked, judged
from clusterwright.plan.sizing.claims.hosts import a100_25gbe

if TYPE_CHECKING:
    from clusterwright.plan.cnn import Point

SAMPLES = {1: 1280.0, 2: 2350.0, 4: 4400.0}  # samples/s by number of nodes
BATCH = 128  # per GPU; the guides do not state theirs
CIFAR, IMAGENET = 32, 224  # pixels


def single_node() -> Checked:
    """Check the claim of 1280 samples/s on 4 A100, which is low for images of 32 pixels."""
    small, large = (step(_job(pixels)).images_per_s for pixels in (CIFAR, IMAGENET))
    slow = step(replace(_job(IMAGENET), precision="fp32")).images_per_s
    return Checked(
        "resnet50-one-node",
        "P5",
        _("ResNet-50 on CIFAR-10, 4 A100: 1280 samples/s"),
        SAMPLES[1],
        small,
        "samples/s",
        _(
            "images of {cifar} pixels, mixed precision, {batch} per GPU, no wait for data",
            cifar=CIFAR,
            batch=BATCH,
        ),
        judged(SAMPLES[1], small),
        _(
            "If 4 A100 never wait for data, they train ResNet-50 with {small:.0f} times the claimed 1280 "
            "samples/s, and with {large:,.0f} samples/s even on images of {imagenet} pixels; in fp32 without "
            "tensor cores, they reach {slow:,.0f} samples/s. The field guides do not state what limited their "
            "training of ResNet-50: data loaders, precision or image size.",
            small=small / SAMPLES[1],
            large=large,
            imagenet=IMAGENET,
            slow=slow,
        ),
    )


def two_nodes() -> Checked:
    """Check the claimed speed-up of 1.83 for ResNet-50 on two nodes."""
    return _speedup(2, "two-nodes")


def four_nodes() -> Checked:
    """Check the claimed speed-up of 3.44 for ResNet-50 on four nodes."""
    return _speedup(4, "four-nodes")


def _speedup(nodes: int, name: str) -> Checked:
    claimed_speedup = SAMPLES[nodes] / SAMPLES[1]
    theirs, ours = _point(nodes, SAMPLES[1]), _point(nodes, None)
    return Checked(
        f"resnet50-{name}",
        "P5",
        _(
            "ResNet-50 on CIFAR-10 on {nodes} nodes of 4 A100 over 25 GbE: {samples:,.0f} samples/s, "
            "{claimed_speedup:.2f}x of one node",
            nodes=nodes,
            samples=SAMPLES[nodes],
            claimed_speedup=claimed_speedup,
        ),
        claimed_speedup,
        theirs.speedup,
        "x",
        _(
            "the losses of {nodes} nodes on two ports of 25 GbE, with the guides' figure for one "
            "node, {batch} per GPU",
            nodes=nodes,
            batch=BATCH,
        ),
        judged(claimed_speedup, theirs.speedup),
        _(
            "At the claimed samples/s, a training of ResNet-50 on {nodes} nodes waits for the network only "
            "{share:.0%} of the time, so something other than the network limits the claimed speed-up. If the "
            "GPUs ran at full speed, the speed-up of ResNet-50 on {nodes} nodes would be {speedup:.2f}x.",
            share=theirs.step.communication / theirs.step.total,
            nodes=nodes,
            speedup=ours.speedup,
        ),
    )


def _point(nodes: int, node_images_per_s: float | None) -> Point:
    on = a100_25gbe(nodes)
    return scaling(_job(CIFAR), [nodes], on.network, node_images_per_s=node_images_per_s)[0]


def _job(pixels: int) -> CnnJob:
    return CnnJob(network("resnet50", pixels, 10 if pixels == CIFAR else 1000), a100_25gbe(1), BATCH, "fp16")
