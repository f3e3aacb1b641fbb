"""The page to sign: it stands alone, shows every part, and is looked at in a real browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright.check.report import findings, render_page
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.load import load_cluster

LAB = load_cluster(Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml")
NETWORKS = tuple(LAB.networks.named())
BAD = (
    Verdict("gpu-node2", "link_speed", Status.FAIL, "10Gbit/s", "100Gbit/s", "see the cable", "compute"),
    Verdict("gpu-node3", "gpu_ecc", Status.FAIL, "3 <errors>", "0", "replace it", "gpu 2"),
    Verdict("gpu-node4", "ssh", Status.UNKNOWN, "not reached"),
    Verdict("gpu-node1", "ssh", Status.OK, "answers", "an answer"),
)


def made(*verdicts, cluster=LAB):
    """The page of these verdicts."""
    return render_page(
        findings(cluster, verdicts, checked_at="2026-11-22 12:00 UTC", version="0.1.0"), NETWORKS
    )


def test_it_stands_alone_and_what_hosts_say_is_no_markup():
    """No script, nothing fetched, every text escaped."""
    text = made(*BAD)

    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "<errors>" not in text
    assert "3 &lt;errors&gt;" in text


def test_it_says_whether_one_may_sign():
    """The headline is the verdict; a lab is called a lab."""
    assert "is not ready; failed checks: 2" in made(*BAD)
    assert "matches the cluster file" in made(BAD[3])
    assert "proves nothing about hardware" in made(BAD[3])


def test_every_part_is_drawn_in_the_colour_of_what_was_found():
    """A fault of a link colours the link, not its host."""
    text = made(*BAD)

    assert "gpu-node2, compute: failed" in text
    assert "gpu-node3, gpu 2: failed" in text
    assert "gpu-node2, storage: not checked" in text
    assert 'class="tile is-unknown"' in text


def test_very_many_hosts_are_squares():
    """One square a host, by the worst of all that was said of it."""
    big = load_cluster(Path(__file__).parents[3] / "examples" / "gpu1024" / "cluster.yaml")
    host = big.hosts("compute")[5].name
    text = made(Verdict(host, "ssh", Status.FAIL, "silent", "an answer", "look", "compute"), cluster=big)

    assert f"<title>{host}: failed</title>" in text
    assert text.count('class="part is-') == 2 * len(big.hosts())  # for a desk and for a phone


@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium")
@pytest.mark.parametrize("width", [1280, 500])
def test_nothing_runs_out_of_the_page_in_a_browser(tmp_path, width):
    """Laid out by a real browser, wide and narrow: nothing is wider than the page, and all five hosts are seen."""
    look = """<script>
    const seen = [...document.querySelectorAll("rect.tile")].filter(each => each.getBoundingClientRect().width > 20);
    document.title = `${document.documentElement.scrollWidth - innerWidth} over, ${seen.length} hosts`;
    </script>"""
    (tmp_path / "page.html").write_text(made(*BAD).replace("</body>", look + "</body>"))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile",
         f"--window-size={width},900", "--dump-dom", (tmp_path / "page.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    over, hosts = re.search(r"<title>(-?\d+) over, (\d+) hosts</title>", done.stdout).groups()

    assert int(over) <= 0
    assert int(hosts) == 5
