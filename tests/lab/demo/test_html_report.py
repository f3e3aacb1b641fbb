"""The page: well formed, self-contained, and rendered by a real browser."""

import dataclasses
import re
import shutil
import struct
import subprocess
from html.parser import HTMLParser

import pytest

from clusterwright.lab.demo.html_report import render_html
from clusterwright.lab.demo.report import report

VOID = {"meta", "link", "br"}  # elements of HTML that have no end
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Strict(HTMLParser):
    """Ends the test where an element is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.addresses = [], [], []

    def handle_starttag(self, tag, attributes):
        """Keep what is open."""
        self.seen.append((tag, dict(attributes)))
        self.addresses += [value for name, value in attributes if name in {"src", "href"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        """An element without content."""
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        """Close the last one."""
        assert self.open.pop() == tag


def parsed(made):
    """The page, parsed."""
    parser = Strict()
    parser.feed(render_html(made))
    assert parser.open == []
    return parser


@pytest.fixture(params=["told", "told_local"])
def made(request):
    """The report of each kind of demo."""
    return report(request.getfixturevalue(request.param))


def test_the_page_is_well_formed_and_fetches_nothing(made):
    """No script, no address, nothing from elsewhere."""
    parser = parsed(made)

    assert parser.addresses == ["data:,"]
    assert not {tag for tag, _ in parser.seen} & {"script", "img", "iframe", "object"}
    assert "url(" not in render_html(made)
    assert "@import" not in render_html(made)


def test_every_picture_has_a_title_and_a_description(made):
    """Who cannot see it is told what it shows."""
    parser = parsed(made)

    pictures = [attributes for tag, attributes in parser.seen if tag == "svg"]
    assert len(pictures) == 8
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)
    assert [tag for tag, _ in parser.seen].count("desc") == 8


def test_what_hosts_say_is_text_and_never_markup(told):
    """A verdict that quotes a host cannot put anything into the page."""
    text = render_html(report(dataclasses.replace(told, machine={"cores": "<script>alert(1)</script>"})))

    assert "<b>" not in re.sub(r"<b>\d+</b>", "", text)
    assert "<script" not in text


def test_a_demo_that_failed_says_so_first(told):
    """The page is written in any case, and does not boast."""
    text = render_html(report(dataclasses.replace(told, second_apply_changes=2)))

    assert "did not achieve all that it verifies" in text
    assert "the second apply made 2 changes" in text


def test_a_demo_that_broke_at_once_still_has_a_page(told):
    """No events, no hosts, no checks."""
    empty = dataclasses.replace(
        told, broke=["no space"], fault=None, faulted=(), uninterrupted=(), verdicts=None, leftovers=None,
        second_apply_changes=None, seconds={},
    )  # fmt: skip

    assert "no space" in render_html(report(empty))


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
@pytest.mark.parametrize(("width", "height"), [(1100, 3400), (500, 4800)], ids=["desk", "phone"])
def test_a_browser_draws_it_without_a_complaint(made, tmp_path, width, height):
    """Chromium shows it whole, with nothing on its console, and no wider than the window."""
    probe = (
        "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script></html>"
    )
    (tmp_path / "report.html").write_text(render_html(made))
    (tmp_path / "wide.html").write_text(render_html(made).replace("</html>", probe))

    shot = tmp_path / "shot.png"
    said = browse(tmp_path, f"--window-size={width},{height}", f"--screenshot={shot}", "report.html")
    assert "CONSOLE" not in said.stderr
    assert struct.unpack(">II", shot.read_bytes()[16:24]) == (width, height)
    seen = browse(tmp_path, f"--window-size={width},{height}", "--dump-dom", "wide.html").stdout
    assert re.search(r"<title>(\d+) of \1</title>", seen)


def browse(folder, *arguments):
    """Headless Chromium, which asks nobody anything."""
    quiet = (
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
        "disable-component-update",
        "disable-sync",
    )
    fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        *(f"--{option}" for option in quiet),
        "--hide-scrollbars",
    ]
    profile = f"--user-data-dir={folder}/profile"
    *options, name = arguments
    log = ["--enable-logging=stderr", "--v=0"]
    argv = [CHROMIUM, *fixed, profile, *log, *options, f"file://{folder}/{name}"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=90, check=True)
