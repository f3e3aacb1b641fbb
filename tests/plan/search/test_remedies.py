from clusterwright.catalog import architecture, gpu
from clusterwright.plan.machines import machine
from clusterwright.plan.run import Offload, Recompute, Training
from clusterwright.plan.search.fastest import search
from clusterwright.plan.search.options import Options

H100 = gpu("h100-sxm-80gb")


def test_when_nothing_fits_it_says_what_would():
    """70B on two GPUs: how much it lacks, which savings do not do, how many GPUs and which would."""
    said = search(
        Training(architecture("llama3-70b"), 8192, 64), machine(H100, 2), options=Options(advise=True)
    )
    told = "\n".join(said.remedies)

    assert said.best is None
    assert said.nearest.memory.total > H100.usable_bytes
    assert all(not loss.fits_memory and "GiB more than a GPU has" in loss.reason for loss in said.families)
    assert "use 8-bit Adam: still" in told
    assert "GPUs: fits" in told


def test_what_the_user_kept_from_the_search_is_a_remedy():
    """With recomputation and sharding ruled out, the first remedies are to allow them."""
    kept = {"zero": (0,), "recompute": (Recompute.NONE,), "offload": (Offload.NONE,)}
    options = Options(advise=True, tp=1, pp=1, **kept)
    said = search(Training(architecture("llama3-8b"), 8192, 64), machine(H100, 8), options=options)

    assert said.remedies[0].startswith("recompute every layer: ")
    assert any(remedy.startswith("shard everything (ZeRO 3): ") for remedy in said.remedies)
    assert any(remedy.startswith("leave tp to the search: ") for remedy in said.remedies)


def test_advice_is_given_only_where_it_is_asked():
    """Sizing asks many questions whose answer is that nothing fits; it gets no more than that."""
    said = search(Training(architecture("llama3-70b"), 8192, 64), machine(H100, 2))

    assert said.remedies == ()
