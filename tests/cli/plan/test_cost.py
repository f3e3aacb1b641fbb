"""`wright plan cost`."""

import json

import pytest

from clusterwright.catalog.exchange import find_rate
from clusterwright.cli.plan._inputs import MachineOptions, MoneyOptions
from clusterwright.cli.plan._workload import Amount
from clusterwright.cli.plan.cost import RentOptions, cost
from clusterwright.cli.plan.fabric import Join, fabric
from clusterwright.cli.plan.size import size
from clusterwright.errors import WrightError


def test_it_says_what_an_hour_costs_each_way(capsys):
    """A table on stdout, old prices on stderr."""
    assert cost(gpu="a100-80g", nodes=4) == 0

    said = capsys.readouterr()
    for word in ("owned", "on-demand", "reserved", "spot", "break-even (h/year)", "main drivers"):
        assert word in said.out
    assert "32 GPUs" in said.out


def test_json_holds_every_input_with_its_source(capsys):
    """So that nothing is taken on trust."""
    cost(gpu="h100", nodes=2, hours=8000, json=True)

    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document["currency"] == "USD"
    assert all(each["source"] for each in document["inputs"].values())
    assert [way["name"] for way in document["costs"]["options"]] == ["owned", "on-demand", "reserved", "spot"]


def test_a_figure_of_ones_own(capsys):
    """Free energy is cheaper by all of it."""
    cost(gpu="h100", nodes=2, figure=("energy=0", "colocation=0:0:0"), json=True)

    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document["costs"]["energy_an_hour"] == 0
    assert document["inputs"]["energy"]["source"] == "your own"


def test_all_that_is_wrong_with_figures_is_told_at_once():
    """A name, a number, an order."""
    with pytest.raises(WrightError) as caught:
        cost(gpu="h100", nodes=2, figure=("enrgy=1", "pue=x", "server=3:2:1"))

    said = str(caught.value)
    assert [finding.code for finding in caught.value.findings] == ["cost-figure"] * 3
    assert "did you mean `energy`" in said
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("nodes", "hours", "count"), [(0, 5000, 1), (1, 9000, 1), (-1, 0, 2)])
def test_sizes_that_are_none(nodes, hours, count):
    """No nodes, no hours, or more than a year has."""
    with pytest.raises(WrightError) as caught:
        cost(gpu="h100", nodes=nodes, hours=hours)

    assert len(caught.value.findings) == count


def test_never_is_no_number(capsys):
    """Where owning never pays, the document says null; JSON knows no infinity."""
    cost(gpu="h100", nodes=2, figure=("on_demand=0.001",), json=True)

    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document["costs"]["options"][1]["even"]["hours_a_year"] is None


def test_a_price_of_ones_own_in_another_currency_is_refused(tmp_path):
    """Both places are shown; nothing is converted."""
    file = tmp_path / "catalog.toml"
    file.write_text(
        '[prices.h100-sxm-80gb.on-demand]\nlikely = "20 CNY/h"\ndate = 2026-11-02\nsource = "our contract"\n'
    )

    with pytest.raises(WrightError, match="currency-mixed") as caught:
        cost(gpu="h100", nodes=2, catalog=file)
    assert "20 CNY" in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_price_of_ones_own_wins(tmp_path, capsys):
    """And its source is shown."""
    file = tmp_path / "catalog.toml"
    file.write_text(
        '[prices.h100-sxm-80gb.on-demand]\nlikely = "2.20 USD/h"\ndate = 2026-11-02\nsource = "our contract"\n'
    )

    cost(gpu="h100", nodes=2, catalog=file, json=True)
    given = json.loads(capsys.readouterr().out)["inputs"]["on_demand"]
    assert given["likely"] == 2.20
    assert "our contract" in given["source"]


def test_money_in_yuan_at_a_dated_rate_that_is_named(capsys):
    """All of it: purchase, hours, clouds; the rate with its day and source."""
    cost(gpu="a100-80g", nodes=4, json=True)
    dollars = json.loads(capsys.readouterr().out)
    cost(gpu="a100-80g", nodes=4, rent_options=RentOptions(currency="cny"), json=True)
    yuan = json.loads(capsys.readouterr().out)
    cost(gpu="a100-80g", nodes=4, rent_options=RentOptions(currency="CNY"))
    text = capsys.readouterr().out

    rate = find_rate("USD", "CNY").rate
    assert yuan["currency"] == "CNY"
    assert yuan["costs"]["purchase"] == pytest.approx(dollars["costs"]["purchase"] * rate)
    for ours, theirs in zip(dollars["costs"]["options"], yuan["costs"]["options"], strict=True):
        assert theirs["per_gpu_hour"] == pytest.approx(ours["per_gpu_hour"] * rate)
    assert "CNY/GPU hour" in text
    assert "converted at 1 USD = 6.7686 CNY (2026-06-19" in text
    assert "Alibaba" in text
    assert "USD per GPU hour" not in text


def test_a_rate_of_ones_own(capsys):
    """Given by the user, named as such."""
    cost(gpu="h100", nodes=2, rent_options=RentOptions(currency="EUR", exchange_rate="0.9"))

    assert "converted at 1 USD = 0.9 EUR (your own rate)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "given", [{"currency": "EUR"}, {"exchange_rate": "7"}, {"currency": "CNY", "exchange_rate": "0"}]
)
def test_a_rate_is_never_guessed(given):
    """A missing, a needless and an impossible rate."""
    with pytest.raises(WrightError, match="exchange-rate"):
        cost(gpu="h100", nodes=2, rent_options=RentOptions(**given))


def test_renting_from_one_cloud(capsys):
    """Its price in place of the market's."""
    cost(gpu="h100", nodes=2, rent_options=RentOptions(cloud="aws"), json=True)

    document = json.loads(capsys.readouterr().out)
    assert document["inputs"]["on_demand"]["likely"] == pytest.approx(6.88)
    assert "us-east-1 p5.48xlarge" in document["inputs"]["on_demand"]["source"]


def test_the_bill_and_the_fabric_are_in_the_currency_too(capsys):
    """Every place that prints money has the option."""
    money = MoneyOptions(currency="CNY", exchange_rate="7")
    size(
        model="llama2-7b", amount=Amount(samples="52k"), machine_options=MachineOptions(gpu="a100-80g", gpus=8),
        money_options=money,
    )  # fmt: skip
    bill = capsys.readouterr().out
    fabric(join=Join(nodes=8), money_options=money)
    networks = capsys.readouterr().out

    assert "bill of materials (CNY" in bill
    assert "875,000" in bill  # 125,000 USD
    assert "USD" not in networks.replace("1 USD = 7 CNY", "")
    assert "CNY" in networks
