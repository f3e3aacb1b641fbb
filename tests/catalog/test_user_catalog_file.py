"""A user's catalog file: read strictly, everything wrong at once, and its rows win."""

import pytest

from clusterwright.catalog import architecture, gpu, parts
from clusterwright.catalog.prices import price
from clusterwright.catalog.records import Deal
from clusterwright.catalog.user_catalog_file import load
from clusterwright.errors import WrightError
from clusterwright.plan.parameters import count

GOOD = """
[gpus.x1]
memory = "96GB"
usable = "94.5GiB"
bandwidth = "4TB/s"
link = "450GB/s"
power = "0.7kW"
pcie = 5
arch = "Hopper"
form = "sxm"
source = "data sheet of X"

[gpus.x1.peak]
bf16 = "1.2PFLOP/s"
fp8 = "2400TFLOP/s"

[gpus.slow-h100]
like = "h100"
power = "350W"

[models.mine]
layers = 4
hidden = 1024
heads = 16
ffn = 4096
vocab = 32000
tied = true

[models.longer]
like = "llama3-8b"
layers = 64

[nics.n]
protocols = "ethernet"
ports = 2
rate = "100Gbit/s"

[switches.s]
protocol = "ethernet"
ports = 32
rate = "100Gbit/s"
latency = "300ns"

[cables.c]
medium = "DAC"
rate = "100Gbit/s"
reach = "3m"

[storage.st]
kind = "system"
read = "10GB/s"
write = "4GB/s"
latency = "500us"

[servers.box]
like = "hgx-h100"
gpu = "x1"
power = "9kW"

[prices.x1.owned]
low = "20000 EUR"
likely = "22000 EUR"
high = "25000 EUR"
date = 2026-11-01

[prices.h100-sxm-80gb.on-demand]
likely = "2.2 EUR/h"
date = "2026-10"
source = "our contract"
"""


def read(tmp_path, text):
    """The file as the user wrote it."""
    file = tmp_path / "catalog.toml"
    file.write_text(text)
    return load(file)


def codes(tmp_path, text):
    """(code, line) of everything that is wrong with it."""
    with pytest.raises(WrightError) as caught:
        read(tmp_path, text)
    assert caught.value.exit_code == 2
    return [(each.code, each.places[0].line if each.places else None) for each in caught.value.findings]


def test_a_file_is_read_with_its_units(tmp_path):
    """Sizes in bytes, rates in bytes or bits a second, powers in watts."""
    own = read(tmp_path, GOOD)
    one = gpu("x1", own)

    assert one.peak == {"bf16": 1.2e15, "fp8": 2.4e15}
    assert (one.memory_bytes, one.usable_bytes) == (96e9, 94.5 * 2**30)
    assert (one.memory_bytes_per_s, one.link_bytes_per_s, one.power_w, one.pcie_gen) == (4e12, 450e9, 700, 5)
    assert parts.nic("n", own).port_bits_per_s == 100e9
    assert parts.switch("s", own).latency_s == pytest.approx(300e-9)
    assert parts.cable("c", own).reach_m == 3
    assert parts.storage("st", own).write_bytes_per_s == 4e9


def test_like_takes_the_rest_from_a_row_of_ours(tmp_path):
    """Only what differs is written."""
    own = read(tmp_path, GOOD)

    assert gpu("slow-h100", own).power_w == 350
    assert gpu("slow-h100", own).peak == gpu("h100").peak
    assert architecture("longer", own).layers == 64
    assert architecture("longer", own).hidden == 4096
    assert parts.server("box", own).gpu == "x1"
    assert parts.server("box", own).memory_bytes == parts.server("hgx-h100").memory_bytes


def test_what_is_changed_of_a_gpu_takes_along_what_hangs_on_it(tmp_path):
    """Rates that are not written stay; another memory is usable as a whole."""
    own = read(tmp_path, '[gpus.x]\nlike = "h100"\nmemory = "96GB"\npeak = {bf16 = "800TFLOP/s"}')
    one = gpu("x", own)

    assert one.usable_bytes == one.memory_bytes == 96e9
    assert one.peak == gpu("h100").peak | {"bf16": 800e12}


def test_a_model_may_leave_out_what_follows(tmp_path):
    """As many heads of keys as of queries, and heads that share the width; its name and file are its source."""
    mine = architecture("mine", read(tmp_path, GOOD))

    assert (mine.kv_heads, mine.head_dim, mine.tied) == (16, 64, True)
    assert count(mine).total > 0
    assert mine.source.endswith("catalog.toml")


def test_a_price_of_ones_own_takes_the_place_of_ours(tmp_path):
    """Low and high are the likely one where they are not given."""
    own = read(tmp_path, GOOD)
    bought, rented = price("x1", Deal.OWNED, own), price("h100-sxm-80gb", Deal.ON_DEMAND, own)

    assert (bought.low, bought.likely, bought.high, bought.currency) == (20000, 22000, 25000, "EUR")
    assert (rented.low, rented.high, rented.per, rented.date) == (2.2, 2.2, "GPU-hour", "2026-10")
    assert price("h100-sxm-80gb", Deal.SPOT, own).currency == "USD"


def test_everything_wrong_is_said_at_once_with_its_line(tmp_path):
    """Each with its code."""
    text = """
[gpus.x]
memory = 80
bandwith = "3TB/s"
bandwidth = "3"
peak = {bf16 = "989TFLOPS", bf17 = "1TFLOP/s"}

[models.m]
layers = "4"
hidden = 100
heads = 3

[nicks.n]
ports = 1

[prices.h100-sxm-80gb.bought]
likely = "1 USD"

[prices.h100-sxm-80gb.owned]
likely = "3 USD"
high = "2 USD"
low = "1 EUR"
date = "yesterday"
"""
    assert codes(tmp_path, text) == [
        ("unknown-key", 13),
        ("bad-quantity", 3), ("unknown-key", 4), ("bad-quantity", 5), ("bad-quantity", 6),
        ("bad-quantity", 9), ("out-of-range", 11), ("missing-key", 8), ("missing-key", 8),
        ("not-a-choice", 16), ("bad-quantity", 23),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[gpus", "toml-syntax"), ("gpus = 3", "wrong-type"), ("[gpus]\nx = 3", "wrong-type"),
        ('[gpus.x]\nlike = "h1000"', "unknown-gpu"), ("[gpus.x]\nlike = 3", "bad-quantity"),
        ('[prices.x.owned]\nlikely = "3 USD"\nhigh = "2 USD"\ndate = "2026-01"', "out-of-range"),
        ('[prices.x.owned]\nlikely = "3 USD"\nhigh = "4 EUR"\ndate = "2026-01"', "currency-mixed"),
        ('[prices.x.owned]\nlikely = "3 dollars"\ndate = "2026-01"', "bad-quantity"),
        ('[prices.x.owned]\nlikely = "3 USD"', "missing-key"), ("[prices]\nx = 3", "wrong-type"),
        ('[servers.s]\nlike = "hgx-h100"\ngpu = "x9"', "unknown-gpu"),
        ('[models.m]\nlike = "llama3-8b"\nlayers = 0', "out-of-range"),
        ('[models.m]\nlike = "llama3-8b"\nkv_heads = 3', "out-of-range"),
        ('[gpus.x]\nlike = "h100"\nbandwidth = "0GB/s"', "bad-quantity"),
        ("[models.m]\nlayers = 4\nhidden = 100\nheads = 3\nffn = 400\nvocab = 1000", "out-of-range"),
        ('[models.m]\nlike = "deepseek-v3"\ndense_layers = 62', "out-of-range"),
        ('[models.m]\nlike = "mixtral-8x7b"\nexperts = 1', "out-of-range"),
        ('[servers.s]\nlike = "hgx-h100"\nnic = "x9"', "unknown-part"),
    ],
)  # fmt: skip
def test_each_slip_has_its_code(tmp_path, text, code):
    """Never a traceback."""
    assert [each for each, _ in codes(tmp_path, text)] == [code]


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    """Not there, or not text."""
    with pytest.raises(WrightError, match="file-unreadable"):
        load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(WrightError, match="file-unreadable"):
        load(tmp_path / "bytes.toml")


def test_a_misspelt_key_is_met_with_the_right_one(tmp_path):
    """As in the other files."""
    with pytest.raises(WrightError, match="did you mean `bandwidth`"):
        read(tmp_path, '[gpus.x]\nlike = "h100"\nbandwith = "3TB/s"')


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 100_000,
        "x = " + "9" * 100_000,
        f"[{'.'.join('a' * 100_000)}]",
        f"{'.'.join('a' * 100_000)} = 1",
        "# comment\n" * 200_000,
    ],
    ids=["nested", "number", "header", "key", "size"],
)
def test_a_file_that_python_refuses_to_parse_is_an_error_of_the_file(tmp_path, text):
    """It may lie in any folder."""
    (tmp_path / "catalog.toml").write_text(text)
    with pytest.raises(WrightError, match="toml-syntax"):
        load(tmp_path / "catalog.toml")
