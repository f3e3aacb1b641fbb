from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from clusterwright.catalog import architecture
from clusterwright.catalog.records import Architecture, Gpu
from clusterwright.plan.memory import peak
from clusterwright.plan.run import Layout, Machine, Network, Offload, Recompute, Run, Schedule, Training
from clusterwright.plan.search.engine import Searcher
from clusterwright.plan.search.fastest import search
from clusterwright.plan.search.meshes import meshes
from clusterwright.plan.search.options import Options
from clusterwright.plan.search.outcome import LayoutFamily as Family
from clusterwright.plan.search.space import block_of, rows_of
from clusterwright.plan.speed import iteration


def dense(layers=4, heads=4, kv_heads=4):
    """A small dense model; 16 MB a layer."""
    return Architecture("small", layers, 1024, heads, kv_heads, 1024 // heads, 4096, 32000)


def mixture(layers=4, experts=4):
    """A small mixture of experts."""
    return replace(dense(layers), experts=experts, experts_per_token=2, expert_ffn=1024)


def gpu(memory=20e9):
    """An H100 with as much memory as the test wants."""
    return Gpu(
        "h100-sxm-80gb", {"bf16": 989e12, "fp16": 989e12}, memory, 3.35e12, 450e9, arch="Hopper", form="SXM5"
    )


def machine(gpus=8, memory=20e9, per_node=4):
    """Nodes of four."""
    return Machine(gpu(memory), gpus, per_node, per_node, Network())


def every_layout(training, on, options):
    """All layouts by plain loops: written from the rules, not from the code that is tested."""
    model, gpus, seq, batch = training.architecture, on.gpus, training.seq_len, training.global_batch
    sizes = range(1, gpus + 1)
    experts = range(1, max(model.experts, 1) + 1)
    for tp, pp, cp, ep, etp in product(sizes, sizes, sizes, experts, sizes if model.experts else [1]):
        if gpus % (tp * pp * cp) or tp > on.nvlink_domain or pp > model.layers:
            continue
        dp = gpus // (tp * pp * cp)
        if model.heads % tp or model.kv_heads % tp or model.ffn % tp or batch % dp:
            continue
        if (cp > 1 and seq % (256 * cp)) or (model.layers % pp and not options.uneven):
            continue
        if model.experts and (
            tp % etp or (dp * cp * tp) % (ep * etp) or model.experts % ep or model.expert_ffn % etp
        ):
            continue
        yield from _variants(Layout(dp=dp, tp=tp, pp=pp, cp=cp, ep=ep, etp=etp), training, on, options)


def _variants(mesh, training, on, options):
    model, batch, seq = training.architecture, training.global_batch, training.seq_len
    chunks = [v for v in range(1, model.layers + 1) if mesh.pp > 1 and model.layers % (mesh.pp * v) == 0] or [
        1
    ]
    ranks, node = mesh.dp * mesh.cp, on.gpus_per_node // mesh.tp
    shards = [(z, 0) for z in options.zero if z in (0, min(options.zero)) or ranks > 1]
    if 1 < node < ranks and ranks % node == 0:
        shards += [(z, node) for z in options.zero if z]
    shards = [(z, s) for z, s in shards if not (z == 2 and mesh.pp > 1)]
    spread = [1]
    if mesh.tp > 1:
        spread = [1] * (seq % (mesh.tp * mesh.cp) == 0) + [0] * (mesh.ep == 1)
    sizes = [m for m in range(1, batch // mesh.dp + 1) if batch % (mesh.dp * m) == 0]
    for schedule, v, m in product(options.schedules, chunks, sizes):
        if (v > 1 and batch // mesh.dp // m % mesh.pp) or (
            schedule is not Schedule.ONE_F_ONE_B and (mesh.pp == 1 or v > 1)
        ):
            continue
        for (z, s), sp, r, o in product(shards, spread, options.recompute, options.offload):
            if (o == Offload.ALL and z != 3 and ranks > 1) or (z == 2 and batch > mesh.dp * m):
                continue
            yield replace(
                mesh, interleave=v, micro_batch=m, zero=z, shard=s, sequence_parallel=sp, recompute=int(r),
                offload=int(o), schedule=schedule,
            )  # fmt: skip


some = st.sampled_from
# A case takes a second, which is too long to look for a smaller one that fails, too.
slow = settings(deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
cases = st.fixed_dictionaries(
    {
        "model": some([dense(), dense(6, 6 - 2, 2), dense(3), mixture(), mixture(2, 6)]),
        "gpus": some([1, 2, 4, 6, 8]),
        "per_node": some([1, 2, 4]),
        "batch": some([1, 2, 4, 6, 8, 12]),
        "seq": some([256, 512, 1000, 2048]),
        "memory": some([4e9, 6e9, 9e9, 80e9]),
        "recompute": some([(Recompute.NONE,), (Recompute.SELECTIVE, Recompute.FULL)]),
        "zero": some([(0, 1), (0, 3), (1, 2, 3)]),
        "offload": some([(Offload.NONE,), (Offload.NONE, Offload.OPTIMIZER), (Offload.NONE, Offload.ALL)]),
        "schedules": some([(Schedule.ONE_F_ONE_B,), (Schedule.ONE_F_ONE_B, Schedule.ZB_H1)]),
        "uneven": st.booleans(),
        "lot": some([40, 400]),
        "top": some([1, 3, 10]),
    }
)


def asked(case):
    """The question of a case."""
    training = Training(case["model"], case["seq"], case["batch"])
    names = ("recompute", "zero", "offload", "schedules", "uneven", "lot", "top")
    return (
        training,
        machine(case["gpus"], case["memory"], case["per_node"]),
        Options(**{n: case[n] for n in names}),
    )


FIELDS = (
    "dp", "tp", "pp", "cp", "ep", "etp", "interleave", "micro_batch", "zero", "shard", "recompute",
    "sequence_parallel", "offload",
)  # fmt: skip


def listed(training, on, options):
    """Every cell of every block that is a layout."""
    for rows in rows_of(meshes(training, on, options)[0], training, options):
        for schedule in options.schedules:
            block = block_of(rows, training, on, options, schedule)
            columns = block.columns(np.nonzero(block.valid))
            table = zip(*(columns[name].astype(int).tolist() for name in FIELDS), strict=True)
            yield from ((*row, schedule) for row in table)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases)
def test_the_space_holds_every_layout_once(case):
    """What the arrays hold is what plain loops over the rules give, each once."""
    training, on, options = asked(case)
    found = list(listed(training, on, options))
    wanted = [
        (*(int(getattr(cut, name)) for name in FIELDS), cut.schedule)
        for cut in every_layout(training, on, options)
    ]

    assert sorted(found) == sorted(wanted)
    assert len(found) == len(set(found))


@settings(slow, max_examples=10)
@given(cases)
def test_the_optimum_is_that_of_trying_every_layout(case):
    """One layout at a time with plain numbers gives the same counts, the same best time and the same order."""
    training, on, options = asked(case)
    runs = [Run(training, layout, on) for layout in every_layout(training, on, options)]
    assume(0 < len(runs) < 500)
    memory = [peak(run).total for run in runs]
    fitting = [run for run, size in zip(runs, memory, strict=True) if size <= on.gpu.usable_bytes]
    times = sorted(iteration(run).total for run in fitting)
    said = search(training, on, options=options)

    assert said.counts.considered == len(runs)
    assert said.counts.too_large == len(runs) - len(fitting)
    assert [plan.time.total for plan in said.ranked] == pytest.approx(times[: options.top], rel=1e-8)
    assert fastest_of_families(said) == pytest.approx(expected_of_families(fitting), rel=1e-8)
    if not fitting:
        assert said.best is None
        assert said.nearest.memory.total == pytest.approx(min(memory), rel=1e-9)


def fastest_of_families(said):
    """Seconds of the fastest that fits, by family."""
    best = {said.best.family: said.best.time.total} if said.best else {}
    return best | {loss.family: loss.plan.time.total for loss in said.families if loss.fits_memory}


def expected_of_families(runs):
    """The same by trying all of them; the rules are those of Family's comments."""
    found = {}
    for run in runs:
        cut = run.layout
        tensor, pipeline = cut.tp > 1, cut.pp > 1
        family = (
            Family.OFFLOAD if cut.offload else Family.EXPERT if cut.ep > 1 else Family.CONTEXT if cut.cp > 1
            else Family.TENSOR_PIPELINE if tensor and pipeline else Family.TENSOR if tensor
            else Family.PIPELINE if pipeline else Family.SHARDED if cut.zero else Family.REPLICATED
        )  # fmt: skip
        found[family] = min(found.get(family, float("inf")), iteration(run).total)
    return found


@settings(slow, max_examples=5)
@given(cases)
def test_the_pareto_set_is_that_of_trying_every_layout(case):
    """Nothing is both faster and smaller than one of it, and everything else is slower and larger than one of it."""
    training, on, options = asked(case)
    layouts = list(every_layout(training, on, options))
    assume(0 < len(layouts) < 400)
    front = [(p.time.total, p.memory.total) for p in search(training, on, options=options).pareto]
    for layout in layouts:
        run = Run(training, layout, on)
        time, memory = iteration(run).total, peak(run).total
        if memory <= on.gpu.usable_bytes:
            assert any(t <= time * (1 + 1e-8) and m <= memory * (1 + 1e-8) for t, m in front)
    assert all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(front))


@settings(slow, max_examples=5)
@given(cases)
def test_every_layout_offered_uses_all_gpus_and_divides(case):
    """GPUs are dp x tp x pp x cp; the batch is a multiple of dp x microbatch."""
    training, on, options = asked(case)
    found, _ = meshes(training, on, options)
    assume(found)
    said = search(training, on, options=options)

    for plan in (*said.ranked, *said.pareto, *said.meshes, *(loss.plan for loss in said.families)):
        cut = plan.run.layout
        assert cut.dp * cut.tp * cut.pp * cut.cp == on.gpus
        assert training.global_batch % (cut.dp * cut.micro_batch) == 0
        assert training.architecture.heads % cut.tp == 0


def test_the_answer_is_the_same_twice():
    """Nothing is left to chance."""
    training, on = Training(mixture(4, 4), 2048, 16), machine(8, 6e9)

    assert search(training, on) == search(training, on)


def test_ties_go_to_less_memory():
    """Of layouts that take equally long, the one that needs less memory is ranked first."""
    said = search(Training(dense(), 2048, 16), machine(), options=Options(top=50))
    ties = [
        (a, b) for a, b in pairwise(said.ranked) if a.time.total == pytest.approx(b.time.total, rel=1e-12)
    ]

    assert all(a.memory.total <= b.memory.total * (1 + 1e-8) for a, b in ties)


def test_each_family_is_told_with_its_best():
    """The families that lose are told with a plan of their own and numbers; the winner's own is not among them."""
    said = search(Training(dense(8), 2048, 16), machine(16, 4e9))
    families = [loss.family for loss in said.families]

    assert said.best.family not in families
    assert {Family.REPLICATED, Family.SHARDED, Family.TENSOR, Family.PIPELINE} - {said.best.family} <= set(
        families
    )
    for loss in said.families:
        assert loss.plan.family is loss.family
        assert loss.fits_memory == (loss.plan.memory.total <= said.machine.gpu.usable_bytes)
        assert "slower" in loss.reason if loss.fits_memory else "does not fit" in loss.reason


def test_what_the_user_fixes_stays():
    """A fixed size is kept by every layout."""
    said = search(Training(dense(8), 2048, 16), machine(16), options=Options(tp=2, micro_batch=2))

    assert {(p.run.layout.tp, p.run.layout.micro_batch) for p in said.ranked} == {(2, 2)}


@pytest.mark.parametrize("name", ["gpt3-175b", "kimi-1t", "llama3-70b"])
def test_no_layout_takes_less_than_its_floor(name):
    """What is left out unseen could not have been faster: the floor lies under every time, also of large models."""
    model = architecture(name)
    training, on = Training(model, 4096, 256), machine(256, 80e9, 8)
    searcher = Searcher(training, on, Options(), meshes(training, on, Options())[0][::7])
    for rows in rows_of(searcher.meshes, training, searcher.options):
        for schedule in searcher.options.schedules:
            block = block_of(rows, training, on, searcher.options, schedule)
            with np.errstate(all="ignore"):
                time = np.broadcast_to(iteration(searcher.plan(block.layout)).total, block.valid.shape)
                floor = np.broadcast_to(searcher.floor(rows), block.valid.shape)

            assert (floor <= time * (1 + 1e-9))[block.valid].all()


@pytest.mark.parametrize(("name", "memory"), [("llama3-8b", 24e9), ("mixtral-8x7b", 60e9)])
def test_the_answer_does_not_depend_on_how_much_is_looked_at_in_one_go(name, memory):
    """Small lots leave out what cannot fit or matter; one lot leaves out nothing of its own. They say the same."""
    training, on = Training(architecture(name), 4096, 64), machine(32, memory, 8)
    small, large = (search(training, on, options=Options(lot=lot)) for lot in (2_000, 10**9))

    assert small.counts.evaluated < large.counts.evaluated
    for field in ("ranked", "meshes", "pareto", "families"):
        assert getattr(small, field) == getattr(large, field), field
    for field in ("considered", "too_large", "decided"):
        assert getattr(small.counts, field) == getattr(large.counts, field), field
