"""The guides' claims, held against the models."""

from pathlib import Path

import pytest

from clusterwright.catalog import guides
from clusterwright.plan.sizing.claims import CLAIMS, Verdict, checked, judged
from clusterwright.plan.sizing.claims.collectives import IMAGES, USED, split
from clusterwright.plan.sizing.claims.markdown_report import off, render_markdown

PAGE = Path(__file__).parents[4] / "docs" / "concepts" / "guides-checked.md"


@pytest.fixture(scope="module")
def claims():
    """Every claim, checked once, by name."""
    return {each.name: each for each in checked()}


def test_the_page_is_current(claims):
    """Made anew it is the same: `wright plan claims --markdown > docs/concepts/guides-checked.md`."""
    assert render_markdown(claims.values()).rstrip() == PAGE.read_text().rstrip()


def test_every_row_of_the_mission_with_figures_is_there(claims):
    """Those whose figures can be computed; names are their own."""
    rows = {each.row for each in claims.values()}

    assert rows >= {"P1", "P2", "P3", "P5", "P6", "P7", "V2", "V3", "V6", "W3"}
    assert len(claims) == len(CLAIMS) + len(guides.guide_lines())


def test_every_claim_says_why_and_for_what(claims):
    """A verdict without inputs or reasons is worth nothing."""
    for each in claims.values():
        assert each.inputs, each.name
        assert len(each.reason) > 40, each.name


def test_a_claim_that_lacks_inputs_names_the_one_that_would_make_it_true(claims):
    """12 hours would be so many tokens."""
    one = claims["llama2-7b-one-server"]

    assert one.verdict is Verdict.INCONCLUSIVE
    assert "B tokens" in one.reason
    assert off(one) == ""


def test_bytes_are_not_bits(claims):
    """90 GB/s over 100 Gbit/s is refused whatever is fitted."""
    assert claims["hdr100-bandwidth"].verdict is Verdict.DISAGREE
    assert claims["hdr100-bandwidth"].computed == 12.5


def test_no_a100_reduces_faster_than_its_links(claims):
    """450 GB/s and more is beyond 300."""
    assert claims["all-reduce-8"].computed < 300
    assert claims["all-reduce-8"].verdict is Verdict.DISAGREE


def test_a_wrong_network_halves_the_use_of_gpus(claims):
    """Two ports of 25 GbE do, eight of HDR do not."""
    one = claims["wrong-network-half-use"]

    assert one.verdict is Verdict.AGREE
    assert one.computed < 50
    assert "99% 8 x HDR" in one.inputs


def test_25_percent_more_efficiency_depends_on_the_network_before(claims):
    """Against TCP on the same port it is less, against 25 GbE more."""
    one = claims["multi-node-efficiency"]

    assert one.verdict is Verdict.PARTLY
    assert 0 < one.computed < 25
    assert "25 GbE" in one.reason


def test_rdma_is_judged_from_perftest_not_from_iperf3(claims):
    """As the guides print it: bandwidth and latency of reads and sends."""
    rdma = [claim for claim in claims.values() if claim.row == "V2"]

    assert len(rdma) == 4
    assert all("ib_" in claim.statement for claim in rdma)
    assert not any("iperf" in f"{claim.statement}{claim.reason}" for claim in claims.values())


def test_every_wrong_instruction_has_the_reason_and_the_right_line(claims):
    """What to do instead is never left to the reader."""
    names = (
        "epyc-7543-threads", "firewalld-stopped", "selinux-disabled", "srun-32-tasks", "workers-4-times-cpus",
        "conda-cudatoolkit-12", "vllm-environments",
    )  # fmt: skip

    for name in names:
        assert claims[name].verdict is Verdict.DISAGREE, name
        assert claims[name].right, name


def test_one_switch_is_as_good_as_two_levels(claims):
    """16 servers with one port each: no gain."""
    assert claims["leaf-spine-over-star"].computed == pytest.approx(0, abs=0.5)


def test_the_split_gives_back_what_it_was_made_from():
    """Compute and communication from two throughputs."""
    compute, comm = split(IMAGES[:2], USED[:2])

    for rate, used in zip(IMAGES[:2], USED[:2], strict=True):
        assert 1 / (compute + comm / used) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("computed", "verdict"),
    [(1.1, Verdict.AGREE), (0.86, Verdict.AGREE), (1.4, Verdict.PARTLY), (0.4, Verdict.DISAGREE)],
)
def test_a_verdict_follows_from_the_distance(computed, verdict):
    """Within 15%, within a half, or beyond."""
    assert judged(1.0, computed) is verdict


def test_the_reference_node_is_not_fast_for_its_images(claims):
    """1280 a second of 4 A100 is far below what they do, so the network hardly shows."""
    assert claims["resnet50-one-node"].computed > 3 * 1280
    assert 1.5 < claims["resnet50-two-nodes"].computed <= 2
    assert claims["resnet50-four-nodes"].computed <= 4


def test_the_cloud_claim_follows_its_figure(claims):
    """Less than 40% saved on demand is no agreement."""
    one = claims["cloud-under-5000-hours"]

    assert (one.verdict is Verdict.AGREE) == (one.computed >= 40)
    assert "breaks even at" in one.reason
