"""What was inferred gives way until the run fits."""

import pytest

from clusterwright.plan import memory
from clusterwright.plan.predict.runs import run_of
from clusterwright.plan.run import Recompute


def fits(run):
    """Unless it is called out of memory."""
    return memory.classify_fit(memory.peak(run), run.machine.gpu) is not memory.MemoryFit.OOM


BIG = {"model": "llama2-70b", "gpu_type": "H100", "num_gpus": "64", "seq_len": "4096", "global_batch": "128",
       "micro_batch": "2", "dp_or_fsdp": "FSDP", "source": "MaxText 2024", "precision": "bf16"}  # fmt: skip


def test_recomputation_is_taken_where_it_does_not_fit_without():
    """And said; the time follows from it."""
    run, notes = run_of(BIG)

    assert run.layout.recompute is Recompute.FULL
    assert "assumed recomputation: full, as the run does not fit otherwise" in notes
    assert fits(run)


def test_what_is_said_is_never_changed():
    """A row that says how it ran is taken at its word, whether we think it fits or not."""
    run, notes = run_of(BIG | {"recompute": "none"})

    assert run.layout.recompute is Recompute.NONE
    assert not fits(run)
    assert not any("fit otherwise" in note for note in notes)


@pytest.mark.parametrize("gpus", ["8", "64"])
def test_an_inferred_microbatch_shrinks_first(gpus):
    """Before anything is recomputed in full."""
    bare = {"model": "llama3-8b", "gpu_type": "A100-SXM-40GB", "num_gpus": gpus, "dp_or_fsdp": "FSDP",
            "seq_len": "8192", "global_batch": "512"}  # fmt: skip

    run, _ = run_of(bare)

    assert fits(run) or run.layout.micro_batch == 1


def test_a_run_that_fits_in_no_way_stays_as_it_is():
    """Its memory says so."""
    run, notes = run_of(BIG | {"num_gpus": "1", "global_batch": "2"})

    assert not fits(run)
    assert not any("fit otherwise" in note for note in notes)
