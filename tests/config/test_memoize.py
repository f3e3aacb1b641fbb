"""What is computed once for a cluster."""

from clusterwright.config.memoize import cache_per_instance


class Thing:
    """Stands for a cluster: no hash by its values."""

    __hash__ = None


def test_a_value_is_kept_for_its_object_and_its_other_arguments():
    """Another object, or another argument, is another value."""
    asked = []

    @cache_per_instance
    def length(thing, word, *, more=0):
        asked.append((id(thing), word, more))
        return len(word) + more

    one, other = Thing(), Thing()
    values = [
        length(one, "a"),
        length(one, "a"),
        length(other, "a"),
        length(one, "bc"),
        length(one, "a", more=2),
    ]

    assert values == [1, 1, 1, 2, 3]
    assert asked == [(id(one), "a", 0), (id(other), "a", 0), (id(one), "bc", 0), (id(one), "a", 2)]


def test_nothing_is_kept_of_what_is_gone():
    """A long-lived program does not fill up, and a new object at an old address is not taken for the old."""
    kept = cache_per_instance(lambda thing: [thing.value])
    for value in range(200):
        thing = Thing()
        thing.value = value
        assert kept(thing) == [value]
        del thing

    assert kept.__closure__ is not None
    assert [cell.cell_contents for cell in kept.__closure__ if isinstance(cell.cell_contents, dict)] == [{}]
