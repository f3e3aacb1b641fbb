from __future__ import annotations

from dataclasses import replace

import pytest

from clusterwright.plan.memory.overheads import MIB, communicators, outside, stored, workspace

PLAIN = replace(stored(), rest=0.0, context=0.0)


@pytest.mark.parametrize(("arch", "model", "expected"), [("Ampere", "llama", 68), ("Hopper", "llama", 96)])
def test_workspace_by_generation(plan_of, arch, model, expected):
    """Transformer Engine takes 32 MiB from Hopper on, 4 before; cuBLAS 32 of each thread."""
    run = plan_of(model)
    machine = replace(run.machine, gpu=replace(run.machine.gpu, arch=arch))

    assert workspace(replace(run, machine=machine), PLAIN) == expected * MIB


def test_experts_take_four_more(plan_of):
    """Grouped products run on four streams, a workspace each."""
    assert workspace(plan_of("moe"), PLAIN) == (96 + 4 * 32) * MIB
    assert workspace(plan_of("moe", grouped_experts=False), PLAIN) == 96 * MIB


def test_buffers_by_communicator(plan_of):
    """No buffers on one GPU; 128 MiB of each group of ranks."""
    assert communicators(plan_of(dp=1).layout) == 0
    assert communicators(plan_of(dp=2, tp=2, pp=2, ep=2).layout) == 4
    assert outside(plan_of(dp=2), PLAIN) == 128 * MIB
