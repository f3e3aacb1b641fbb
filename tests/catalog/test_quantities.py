"""Quantities of a catalog file: with their unit, or not at all."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import quantities
from clusterwright.i18n import in_language
from clusterwright.units import QuantityError


@pytest.mark.parametrize(
    ("read", "written", "value"),
    [
        (quantities.size, "80GB", 80e9), (quantities.size, "79.5GiB", 79.5 * 2**30),
        (quantities.byte_rate, "3.35TB/s", 3.35e12), (quantities.byte_rate, "400Gbit/s", 50e9),
        (quantities.bit_rate, "400Gbit/s", 400e9), (quantities.bit_rate, "50GB/s", 400e9),
        (quantities.flops, "989.4TFLOP/s", 989.4e12), (quantities.flops, "1 PFLOP/s", 1e15),
        (quantities.power, "700W", 700), (quantities.power, "10.2kW", 10_200),
        (quantities.seconds, "130ns", 130e-9), (quantities.metres, "50m", 50),
        (quantities.money, "30000 USD", (30_000, "USD", "piece")),
        (quantities.money, "3.5EUR/h", (3.5, "EUR", "GPU-hour")),
        (quantities.money, "0.1 CNY/kWh", (0.1, "CNY", "kWh")),
        (quantities.money, "200 USD/kW/month", (200, "USD", "kW-month")),
        (quantities.texts, "ethernet", ("ethernet",)), (quantities.texts, ["a", "b"], ("a", "b")),
        (quantities.rates, {"bf16": "1TFLOP/s"}, {"bf16": 1e12}),
        (quantities.day, dt.date(2026, 11, 2), "2026-11-02"),
        (quantities.day, "2026-11", "2026-11"),
    ],
)  # fmt: skip
def test_a_quantity_is_read(read, written, value):
    """Into the base unit."""
    assert read(written) == pytest.approx(value) if isinstance(value, float | int) else read(written) == value


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (quantities.size, 80), (quantities.size, "80"), (quantities.size, "0GB"), (quantities.byte_rate, "3.35TB"),
        (quantities.flops, "989TFLOPS"),
        (quantities.flops, 989), (quantities.power, "700"), (quantities.power, "-1W"), (quantities.seconds, "1h"),
        (quantities.metres, "3ft"), (quantities.money, "3.5"), (quantities.money, "$3"),
        (quantities.money, "3 USD/week"),
        (quantities.integer, -1), (quantities.integer, True), (quantities.integer, 1.5), (quantities.flag, 1),
        (quantities.text, ""), (quantities.text, 3), (quantities.texts, []), (quantities.texts, [1]),
        (quantities.rates, {}),
        (quantities.rates, {"bf17": "1TFLOP/s"}), (quantities.rates, "1TFLOP/s"), (quantities.day, "2026-13"),
        (quantities.day, "yesterday"),
    ],
)  # fmt: skip
def test_what_is_none_says_how_to_write_it(read, written):
    """Never a guess at the unit."""
    with pytest.raises(QuantityError) as caught:
        read(written)

    assert caught.value.fix


def test_errors_of_quantities_are_chinese_in_chinese():
    """Description and fix, too, are translated, not the sentence around them only."""
    with in_language("zh"), pytest.raises(QuantityError) as caught:
        quantities.power("700")

    assert str(caught.value) == "`700` 不是功率; 请将功率写为 700W 或 10.2kW"


@given(st.integers(1, 10**9), st.sampled_from(["", "k", "M", "G", "T", "P", "E"]))
def test_arithmetic_scales_by_a_thousand(number, prefix):
    """Each prefix is a thousand times the one before."""
    power = 1000.0 ** ["", "k", "M", "G", "T", "P", "E"].index(prefix)

    assert quantities.flops(f"{number}{prefix}FLOP/s") == pytest.approx(number * power)
