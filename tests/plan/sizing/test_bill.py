"""A bill of materials."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.catalog.records import Deal, Price
from clusterwright.errors import WrightError
from clusterwright.plan.sizing.materials import BillLine, bill


def price(low, likely, high, currency="USD"):
    """A price of somebody's."""
    return Price("x", Deal.OWNED, "one", low, likely, high, currency, "2026-10", source="a vendor")


PRICES = st.tuples(*[st.floats(0, 1e7)] * 3).map(lambda three: price(*sorted(three)))
ONE = st.builds(
    BillLine, st.sampled_from(["server", "switch"]), st.text("abc", min_size=1), st.integers(0, 999), st.none() | PRICES
)  # fmt: skip
LINES = st.lists(ONE)


@settings(max_examples=40)
@given(LINES)
def test_the_total_is_the_sum_of_the_lines(lines):
    """At its low end, as it is likely, and at its high end."""
    made = bill(lines)

    for end in ("low", "likely", "high"):
        each = [getattr(line.price, end) * line.count for line in lines if line.price]
        assert getattr(made.total, end) == pytest.approx(sum(each))


@settings(max_examples=40)
@given(LINES)
def test_kinds_add_up_to_the_total(lines):
    """Nothing is counted twice."""
    made = bill(lines)

    assert made.filter_kinds("server").total.likely + made.filter_kinds(
        "switch"
    ).total.likely == pytest.approx(made.total.likely)


def test_what_has_no_price_is_named():
    """The total does not pretend."""
    made = bill(
        [
            BillLine("switch", "q9", 2, None),
            BillLine("server", "s", 1, price(1, 2, 3)),
            BillLine("cable", "c", 0, None),
        ]
    )

    assert made.without_price == ("q9",)
    assert made.total.likely == 2


def test_two_currencies_are_refused():
    """Both sides are shown."""
    lines = [BillLine("server", "s", 1, price(1, 2, 3)), BillLine("rack", "r", 1, price(1, 2, 3, "CNY"))]

    with pytest.raises(WrightError, match="currency-mixed") as caught:
        bill(lines)
    assert "2 CNY" in str(caught.value)


def test_old_prices_are_named():
    """Half a year on."""
    made = bill([BillLine("server", "s", 1, price(1, 2, 3))])

    assert made.old("2026-11-21") == ()
    assert made.old("2027-11-21") == ("s",)
