"""Sizes, rates and durations: every form in, the shortest exact form out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright import units
from clusterwright.units import (
    human_bit_rate,
    human_byte_rate,
    human_duration,
    human_number,
    human_percent,
    human_size,
)

NUMBERS = st.integers(min_value=0, max_value=units.MAX_INT64)


@given(NUMBERS)
def test_a_formatted_size_reads_as_itself(number):
    """parse(format(x)) == x for sizes."""
    assert units.parse_size(units.format_size(number)) == number


@given(NUMBERS)
def test_a_formatted_rate_reads_as_itself(number):
    """parse(format(x)) == x for rates."""
    assert units.parse_rate(units.format_rate(number)) == number


@given(NUMBERS)
def test_a_formatted_duration_reads_as_itself(number):
    """parse(format(x)) == x for durations."""
    assert units.parse_duration(units.format_duration(number)) == number


@given(st.text())
def test_any_text_is_a_quantity_or_is_refused_with_a_mend(text):
    """No text makes a parser fail in another way than by QuantityError, which has both halves."""
    for parse in (units.parse_size, units.parse_rate, units.parse_duration):
        assert read_or_refused(parse, text)


def read_or_refused(parse, text):
    """True when it is a number that 64 bits hold, or is refused with a message and a fix."""
    try:
        return 0 <= parse(text) <= units.MAX_INT64
    except units.QuantityError as why:
        return bool(why.message and why.fix)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("512GiB", 2**39),
        ("3.2TB", 3_200_000_000_000),
        ("1 KiB", 1024),
        ("0.5kB", 500),
        ("8EB", None),
        ("7PiB", 7 * 2**50),
    ],
)
def test_sizes(text, number):
    """GB is 10^9 and GiB 2^30; a unit that is not known is refused."""
    if number is None:
        with pytest.raises(units.QuantityError, match="is not a size"):
            units.parse_size(text)
    else:
        assert units.parse_size(text) == number


@pytest.mark.parametrize(
    ("text", "number"), [("400Gbit/s", 400 * 10**9), ("50GB/s", 400 * 10**9), ("1KiB/s", 8192)]
)
def test_rates_are_bits_unless_bytes_are_written(text, number):
    """400 Gbit/s and 50 GB/s are the same."""
    assert units.parse_rate(text) == number


@pytest.mark.parametrize(
    ("text", "number"), [("90s", 90), ("15m", 900), ("12h30m", 45000), ("1d 12h", 129600), ("2w", 1209600)]
)
def test_durations(text, number):
    """Units add up."""
    assert units.parse_duration(text) == number


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (units.parse_duration, "12:30:00", "clock time"),
        (units.parse_duration, "90", "not a duration"),
        (units.parse_duration, "", "not a duration"),
        (units.parse_duration, "12h30", "not a duration"),
        (units.parse_duration, "٣h", "not a duration"),
        (units.parse_duration, f"{2**63}s", "not fit into 64 bits"),
        (units.parse_size, "512", "not a size"),
        (units.parse_size, "-1GiB", "not a size"),
        (units.parse_size, "0.3B", "fraction"),
        (units.parse_size, "99999999999GiB", "not fit into 64 bits"),
        (units.parse_size, "9" * 5000 + "GiB", "not a size"),
        (units.parse_rate, "25Gbit", "not a rate"),
        (units.parse_rate, "25GiB", "not a rate"),
    ],
)
def test_what_is_no_quantity(parse, text, said):
    """Bare numbers, clock forms, fractions of the smallest unit and 64-bit overflow are refused."""
    with pytest.raises(units.QuantityError, match=said):
        parse(text)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("64G", "write 64GiB"),
        ("64gb", "write 64GB"),
        ("64mib", "write 64MiB"),
        ("64 gigs", "write 64GB"),
        ("10 terabytes", "write 10TB"),
    ],
)
def test_a_slip_in_the_letters_is_mended_with_the_users_own_number(text, fix):
    """The fix can be copied as it is."""
    with pytest.raises(units.QuantityError) as caught:
        units.parse_size(text)

    assert caught.value.fix == fix


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0-00:00:00"), (45000, "0-12:30:00"), (7 * 86400 + 61, "7-00:01:01")]
)
def test_slurm_time(seconds, text):
    """Slurm's own form has days, hours, minutes and seconds, so that nothing is taken for minutes."""
    assert units.format_slurm_time(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.4, "0.4"), (0.0042, "0.0042"), (1, "1"), (12.54, "12.5"), (999.6, "1,000"), (1000, "1,000"),
        (4109, "4,109"), (1e9, "1,000,000,000"), (-2.5, "-2.5"), (1e-30, "0"),
    ],
)  # fmt: skip
def test_a_number_has_no_exponent(value, text):
    """Three figures, thousands grouped."""
    assert human_number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (5e-7, "0.5 us"), (0.00085, "850 us"), (0.0012, "1.2 ms"), (0.9996, "1,000 ms"), (1, "1 s"),
        (45, "45 s"), (99, "99 s"), (100, "1 min 40 s"), (119.7, "2 min"), (3600, "1 h"), (3599.7, "1 h"),
        (7500, "2 h 5 min"), (86399, "1 d"), (273600, "3 d 4 h"), (31536000 * 3, "1,095 d"), (-200, "-3 min 20 s"),
    ],
)  # fmt: skip
def test_a_duration_reads_in_two_units(seconds, text):
    """Rounded to the smaller one, which never overflows."""
    assert human_duration(seconds) == text


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_a_duration_is_within_one_and_a_half_percent(seconds):
    """Whatever its unit; the smaller of two units is rounded, at the worst in 1 d 12 h."""
    units = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
    words = human_duration(seconds).replace(",", "").split()

    read = sum(float(number) * units[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
    assert read == pytest.approx(seconds, rel=0.015)


@pytest.mark.parametrize(
    ("formatter", "value", "text"),
    [
        (human_size, 512, "512 B"), (human_size, 1.5 * 2**30, "1.5 GiB"), (human_size, 0, "0 B"),
        (human_byte_rate, 48.2e9, "48.2 GB/s"), (human_byte_rate, 900, "900 B/s"),
        (human_bit_rate, 400e9, "400 Gbit/s"), (human_bit_rate, 1.6e12, "1.6 Tbit/s"),
        (human_percent, 0, "0%"), (human_percent, 0.004, "<1%"), (human_percent, 0.84, "84%"),
        (human_percent, 0.996, ">99%"), (human_percent, 1, "100%"),
    ],
)  # fmt: skip
def test_sizes_rates_and_shares_have_their_unit(formatter, value, text):
    """One formatter each."""
    assert formatter(value) == text


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("3 weeks", "write 3w"),
        ("5hours", "write 5h"),
        ("1.5h", "write 1h30m"),
        ("30", "write 30s, 30m or 30h"),
        ("1-00:00:00", "write 1d"),
        ("12:30:00", "write 12h30m"),
        ("12:30", "write the duration with units, e.g. 12h30m or 90s"),
        ("2 months", "write the duration with units, e.g. 90s, 15m, 12h30m or 2d"),
    ],
)
def test_a_duration_in_another_spelling_is_spelled_out(text, fix):
    """Words, decimals and Slurm's form; what may mean minutes or hours is not guessed."""
    with pytest.raises(units.QuantityError) as caught:
        units.parse_duration(text)
    assert caught.value.fix == fix


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("400Gbps", "write 400Gbit/s"),
        ("400 Gb/s", "write 400Gbit/s"),
        ("400GB", "write 400Gbit/s or 400GB/s"),
        ("400G", "write 400Gbit/s or 400GB/s"),
        ("fast", "write the rate in bits as 400Gbit/s, or in bytes as 50GB/s"),
    ],
)
def test_a_rate_in_another_spelling_is_spelled_out(text, fix):
    """Both readings are named where the letters may mean bits or bytes."""
    with pytest.raises(units.QuantityError) as caught:
        units.parse_rate(text)
    assert caught.value.fix == fix
