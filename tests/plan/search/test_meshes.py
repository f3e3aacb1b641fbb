from math import prod

from clusterwright.catalog import architecture, gpu
from clusterwright.plan.machines import machine
from clusterwright.plan.numbers import divisors
from clusterwright.plan.run import Training
from clusterwright.plan.search.meshes import interleaves, meshes, micro_batches
from clusterwright.plan.search.options import Options

GPT3 = architecture("gpt3-175b")
H100 = gpu("h100-sxm-80gb")


def test_a_mesh_is_refused_for_one_reason_only():
    """Meshes found and refused are all ways to write the GPUs as a product within the bounds."""
    found, refused = meshes(Training(GPT3, 2048, 1536), machine(H100, 4096), Options())
    ways = sum(
        4096 % (tp * pp * cp) == 0
        for tp in (1, 2, 4, 8)
        for pp in divisors(4096)
        for cp in divisors(4096)
        if pp <= GPT3.layers
    )

    assert len(found) + sum(refused.values()) == ways
    assert all(prod((m.dp, m.tp, m.pp, m.cp)) == 4096 for m in found)


def test_tp_stays_in_the_nvlink_domain_unless_asked():
    """8 on H100 nodes; further with max_tp; up to 64 in a GB200 rack."""
    work = Training(GPT3, 2048, 1536)
    rack = machine(gpu("gb200"), 64)

    assert max(m.tp for m in meshes(work, machine(H100, 64), Options())[0]) == 8
    assert max(m.tp for m in meshes(work, machine(H100, 64), Options(max_tp=64))[0]) == 32
    assert max(m.tp for m in meshes(work, rack, Options())[0]) == 32


def test_experts_spread_over_gpus_that_hold_the_same_layers():
    """The product ep x etp divides dp x cp x tp, and the experts."""
    mixtral = architecture("mixtral-8x7b")
    found, _ = meshes(Training(mixtral, 4096, 512), machine(H100, 64), Options())

    assert {m.ep for m in found} == {1, 2, 4, 8}
    assert all((m.dp * m.cp * m.tp) % (m.ep * m.etp) == 0 for m in found)


def test_chunks_divide_the_layers_of_a_stage():
    """96 layers on 8 stages: 12 each; an uneven pipeline is not interleaved."""
    assert interleaves(GPT3, 8, Options()) == [1, 2, 3, 4, 6, 12]
    assert interleaves(GPT3, 64, Options()) == [1]
    assert interleaves(GPT3, 8, Options(interleave=5)) == []


def test_microbatches_divide_a_replicas_share():
    """1,536 sequences over 128 replicas: 12 each."""
    assert micro_batches(Training(GPT3, 2048, 1536), 128, Options()) == [1, 2, 3, 4, 6, 12]
