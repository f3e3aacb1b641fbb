from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.supervisor.replicas.recall import choose

HOSTS = ("a", "b", "c")


def report(*parts, fence=(0, 0)):
    """What a host says; a part is generation, step, world size, rank."""
    return {"parts": [list(part) for part in parts], "fence": list(fence)}


def test_the_newest_whole_set_is_chosen():
    """Step 91 lacks rank 1; step 90 is there."""
    chosen = choose({"a": report((1, 90, 2, 0), (1, 91, 2, 0)), "b": report((1, 90, 2, 1))})

    assert (chosen.step, chosen.holders) == (90, (("a",), ("b",)))


def test_a_dead_hosts_part_comes_from_its_neighbor():
    """Host `a` is gone, and `b` holds what it had."""
    chosen = choose({"b": report((1, 90, 2, 0), (1, 90, 2, 1))})

    assert chosen.holders == (("b",), ("b",))


def test_a_newer_checkpoint_on_disk_is_better():
    """Equal steps are read from memory, which is faster."""
    held = {"a": report((1, 90, 1, 0))}

    assert choose(held, 91) is None
    assert choose(held, 90).step == 90


def test_parts_of_two_generations_never_mix():
    """Both made step 90, each with one part left."""
    assert choose({"a": report((1, 90, 2, 0)), "b": report((2, 90, 2, 1))}) is None


def test_parts_of_two_world_sizes_never_mix():
    """Rank 0 of two and rank 1 of three are no set."""
    assert choose({"a": report((1, 90, 2, 0)), "b": report((1, 90, 3, 1))}) is None


def test_a_history_that_was_left_is_not_taken_up_again():
    """Generation 2 resumed from 90; the host that was cut off comes back with generation 1's step 95, whole."""
    late = report((1, 95, 1, 0))
    new = report((1, 90, 1, 0), (2, 92, 1, 0), fence=(2, 90))

    assert choose({"a": late, "b": new}).step == 92


def test_a_generation_that_made_no_copy_leaves_the_set_that_it_began_with():
    """A second failure in a row, right after the first."""
    held = {"a": report((1, 90, 1, 0), (1, 91, 2, 0), fence=(2, 90))}

    assert choose(held).step == 90


def test_readers_are_spread_over_the_holders():
    """Rank 0's part from one host first, rank 1's from the other."""
    both = report((1, 90, 2, 0), (1, 90, 2, 1))

    assert choose({"a": both, "b": both}).holders == (("a", "b"), ("b", "a"))


def test_agents_are_told_where_each_part_is():
    """Address and port of each holder."""
    chosen = choose({"a": report((1, 90, 2, 0), (1, 90, 2, 1))})

    assert chosen.message({"a": ("10.0.0.1", 20000)}) == {
        "generation": 1, "step": 90, "world_size": 2, "places": [[["10.0.0.1", 20000]], [["10.0.0.1", 20000]]],
    }  # fmt: skip


parts = st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2))
reports = st.dictionaries(
    st.sampled_from(HOSTS),
    st.builds(
        lambda held, fence: report(*held, fence=fence),
        st.lists(parts, max_size=25),
        st.tuples(st.integers(0, 3), st.integers(0, 6)),
    ),
)


@given(reports, st.integers(-1, 6))
def test_whatever_is_held_the_choice_is_whole_of_one_moment_and_the_newest(reports, disk):
    """Checked against all that is there, by looking at every moment."""
    chosen = choose(reports, disk)
    fence = max([tuple(each["fence"]) for each in reports.values()], default=(0, 0))
    held = {host: {tuple(part) for part in each["parts"]} for host, each in reports.items()}
    everything = set().union(*held.values())
    whole = {
        (step, generation, world_size)
        for generation, step, world_size, _ in everything
        if all((generation, step, world_size, rank) in everything for rank in range(world_size))
        and not (generation < fence[0] and step > fence[1])
        and step >= disk
    }

    assert (chosen is None) == (not whole)
    if chosen:
        assert (chosen.step, chosen.generation, chosen.world_size) == max(whole)
        for rank, hosts in enumerate(chosen.holders):
            part = (chosen.generation, chosen.step, chosen.world_size, rank)
            assert set(hosts) == {host for host in held if part in held[host]}
