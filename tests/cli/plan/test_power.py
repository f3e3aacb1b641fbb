"""`wright plan power`."""

import json

import pytest

GUIDE = ("--gpus-per-node", 4, "--cpus", 1, "--cpu-w", 225, "--dimms", 8, "--disks", 2, "--nics", 1)


def test_sixteen_nodes_of_h100(plan):
    """By their maker's rating: three in a rack of 40 kW, behind rear doors."""
    code, out, _ = plan("power", "--gpu", "h100", "--nodes", 16, "--rack-limit", "40kW")

    assert code == 0
    for word in ("10,200 W", "rear door", "163.2 kW"):
        assert word in out


def test_the_guides_supply_holds_cards_and_not_modules(plan):
    """2200 W and four A100: exit code 0 for the cards, 1 for the modules."""
    cards = plan("power", "--gpu", "a100-pcie-40gb", *GUIDE, "--psu", "2200W")
    modules = plan("power", "--gpu", "a100-sxm-40gb", *GUIDE, "--psu", "2200W")

    assert (cards[0], modules[0]) == (0, 1)
    assert "1,804 W is 82% of 1 x 2200 W, which is sufficient" in cards[1]
    assert "which is not sufficient" in modules[1]


def test_json_is_in_watts(plan):
    """One rack of GB200."""
    document = json.loads(plan("power", "--gpu", "gb200", "--rack-limit", "132kW", "--json")[1])

    assert document["hall"]["cooling"] == "liquid"
    assert document["node"]["planned_w"] == 120_000


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("usage", ("--gpu", "h100", "--nodes", 0)),
        ("usage", ("--gpu", "h100", "--pue", 0.5)),
        ("usage", ("--gpu", "h100", "--cpus", -2)),
        ("power-size", ("--gpu", "h100", "--gpus-per-node", 0, "--cpus", 0)),
        ("power-size", ("--gpu", "h100", "--psu", "2200W", "--psus", 1)),
        ("power-rack", ("--gpu", "h100", "--rack-limit", "5kW")),
        ("bad-quantity", ("--gpu", "h100", "--rack-limit", "40")),
        ("unknown-gpu", ("--gpu", "h1000")),
    ],
)
def test_bad_input_is_told(plan, code, arguments):
    """With its code and a fix, on stderr, exit code 2."""
    exit_code, out, err = plan("power", *arguments)

    assert exit_code == 2
    assert f"error[{code}]" in err
    assert out == ""
