"""The page in a real Chromium: every view, both languages, dark and light, a phone, the keys, and hostile names."""

import dataclasses
import shutil
import time

import pytest

from clusterwright.monitor.web.users import create_user

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
)
CHROMIUM = shutil.which("chromium")
PASSWORD = "correct horse battery"
VIEWS = ("cluster", "gpus", "jobs", "queue", "teams", "alerts", "history")
DETAILS = ("job/100000", "node/h100-0001", "job/999", "node/none")
PATIENCE_MS = 60_000  # a loaded machine

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def chromium():
    """One browser for all."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def holds(tab, condition, argument=None):
    """Wait until it does; asked from without, as the page's own policy forbids to evaluate text within."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not tab.evaluate(condition, argument):
        assert time.monotonic() < end, condition
        time.sleep(0.05)
    return True


class Tab:
    """A tab that keeps what went wrong in it, and every address that it asked."""

    def __init__(self, chromium, url, **options):
        self.context = chromium.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "locale": "en-US"} | options
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.url, self.tab = url, self.context.new_page()
        self.wrong, self.asked = [], []
        self.tab.on(
            "console",
            lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None,
        )
        self.tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))

    def open(self, view="cluster"):
        """The view, drawn."""
        self.tab.goto(f"{self.url}/#/{view}")
        try:
            self.tab.wait_for_selector("#live.on")
        except playwright.Error as error:
            raise AssertionError([self.wrong, self.asked, self.tab.inner_text("body")]) from error
        holds(self.tab, "() => !document.querySelector('#view > p.soft:only-child')")
        return self.tab


@pytest.fixture
def tab(page, served, chromium):
    """`tab(locale="zh-CN", ...)` is a tab on the page."""
    with served(page) as url:
        opened = []

        def make(**options):
            opened.append(Tab(chromium, url, **options))
            return opened[-1]

        yield make
        for each in opened:
            each.context.close()


def shown(tab, text):
    """Wait for the text anywhere in the view."""
    return holds(tab, "text => document.getElementById('view').innerText.includes(text)", text)


def fits(tab):
    """Nothing sticks out to the side."""
    return tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("look", [
    {"locale": "en-US", "color_scheme": "light"}, {"locale": "zh-CN", "color_scheme": "dark"},
    {"locale": "zh-CN", "viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
    {"locale": "en-US", "viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
], ids=["light", "dark-zh", "phone-zh", "phone-dark"])  # fmt: skip
def test_every_view_is_drawn_in_every_look(tab, page, look):
    """Without an error, without anything from elsewhere, within the width, and with no key in place of its word."""
    one = tab(**look)
    for view in (*VIEWS, *DETAILS):
        opened = one.open(view)
        opened.wait_for_timeout(200)
        words = opened.inner_text("body")
        assert fits(opened), view
        assert "undefined" not in words, view
        assert "NaN" not in words, view
        assert not any(f"{view}." in words for view in ("view", "kind", "list", "job", "node", "unit")), view
    missing = [said for said in one.wrong if "404" not in said]  # of the job and the node that are not there
    assert missing == []
    assert all(address.startswith(one.url) for address in one.asked)
    dark = opened.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (dark == "rgb(18, 22, 26)") == (look["color_scheme"] == "dark")


def test_hostile_names_are_text(tab, recorded, page):
    """Markup, terminal codes, line ends and direction marks: seen as they are, and none of them acts."""
    one = tab()
    job = dataclasses.replace(page.picture.jobs[0], user="<img src=x onerror=alert(1)>")
    for number, name in enumerate(recorded.HOSTILE):
        jobs = (dataclasses.replace(job, id=str(900_000 + number), name=name),)
        page.change(
            jobs=jobs,
            alerts=tuple(
                dataclasses.replace(alert, summary=name, subject=name) for alert in page.picture.alerts
            ),
        )
        for view in ("jobs", f"job/{900_000 + number}", "alerts"):
            opened = one.open(view)
            shown(opened, "<img src=x" if view != "alerts" else page.picture.alerts[0].name)
            assert opened.evaluate("document.querySelectorAll('#view img, #view script').length") == 0
            text = opened.inner_text("#view")
            assert not any(sign in text for sign in "\x1b\u202e\u2066\u200b\x07"), name
    assert [said for said in one.wrong if "404" not in said] == []  # asked for before its picture came


def test_a_change_is_seen_without_loading_anew(tab, page):
    """A node goes down: its tile, the sums and the alert follow."""
    one = tab()
    opened = one.open()
    down = next(node for node in page.picture.nodes if node.state == "allocated")
    tile = f'[data-node="{down.name}"]'
    assert "k-full" in opened.get_attribute(tile, "class")

    page.change(
        nodes=tuple(
            dataclasses.replace(node, state="down") if node is down else node for node in page.picture.nodes
        )
    )
    opened.wait_for_selector(f"{tile}.k-down")
    assert "down" in opened.get_attribute(tile, "aria-label")
    assert one.wrong == []


def test_a_small_cluster_shows_its_names(tab, page, recorded):
    """Up to 64 nodes there is room for them, on a phone too; the colour and the sign stay, and follow changes."""
    page.picture = recorded.made_picture(24, 60)
    one = tab(viewport={"width": 360, "height": 740})
    opened = one.open()
    holds(opened, "() => document.querySelectorAll('.tile').length === 24")
    for node in page.picture.nodes:
        assert node.name in opened.inner_text("#view")
    assert opened.locator(".tile i.k-full").count() > 10
    assert fits(opened)

    page.change(nodes=tuple(dataclasses.replace(node, state="down") for node in page.picture.nodes))
    holds(opened, "() => document.querySelectorAll('.tile i.k-down').length === 24")
    assert page.picture.nodes[0].name in opened.inner_text("#view")


def test_a_lost_server_is_said_and_found_again(tab, page, served, chromium):
    """The page says that it is no longer live, and is again by itself."""
    from clusterwright.monitor.web.serve import Listener

    with served(page) as url:
        port = int(url.rsplit(":", 1)[1])
        one = Tab(chromium, url)
        opened = one.open()
    opened.wait_for_selector("#live.off")
    with served(page, Listener(port=port)):
        opened.wait_for_selector("#live.on")

        assert opened.inner_text("#live").startswith("as of")
    one.context.close()


def test_a_cluster_that_does_not_answer_is_said(tab, page):
    """With the moment of what is still shown."""
    one = tab()
    opened = one.open()
    page.trouble = OSError("control was not reached")
    opened.wait_for_selector("#notes .bad")

    assert "control was not reached" in opened.inner_text("#notes")
    assert opened.locator(".tile").count() == 100


def test_everything_is_reached_by_keys(tab, page):
    """Views by number, tiles by arrows, rows by j and k, search by /, back by Escape; the focus is seen."""
    opened = tab().open()
    opened.locator('.tile[tabindex="0"]').focus()
    first = opened.evaluate("document.activeElement.dataset.node")
    opened.keyboard.press("ArrowRight")
    second = opened.evaluate("document.activeElement.dataset.node")
    opened.keyboard.press("ArrowDown")
    third = opened.evaluate("document.activeElement.dataset.node")
    assert len({first, second, third}) == 3
    assert opened.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    opened.keyboard.press("Enter")
    opened.wait_for_selector(f"h1:has-text('{third}')")
    opened.keyboard.press("Escape")
    opened.wait_for_selector(".racks")
    for number, view in enumerate(VIEWS, 1):
        opened.keyboard.press(str(number))
        opened.wait_for_selector(f'nav a[data-view="{view}"][aria-current]')

    opened.keyboard.press("4")
    opened.wait_for_selector("tbody tr")
    opened.keyboard.press("j")
    opened.keyboard.press("j")
    assert opened.evaluate("document.activeElement.closest('tr').rowIndex") == 2
    opened.keyboard.press("Enter")
    opened.wait_for_selector("h1")
    opened.keyboard.press("/")
    assert opened.evaluate("document.activeElement.type") == "search"
    opened.keyboard.press("Escape")
    opened.keyboard.press("?")
    opened.wait_for_selector("dialog#help[open]")
    opened.keyboard.press("Escape")
    opened.wait_for_selector("dialog#help[open]", state="detached")


def test_a_tab_goes_through_everything_that_can_be_done(tab):
    """No control is out of the keyboard's way: header, views, choices and the grid as one stop."""
    opened = tab().open()
    seen = set()
    for _ in range(40):
        opened.keyboard.press("Tab")
        seen.add(
            opened.evaluate(
                "(e => e.id || e.dataset.view || e.className || e.tagName)(document.activeElement)"
            )
        )

    assert {"lang", "theme", "keys", *VIEWS} <= seen
    assert any("tile" in name for name in seen)


def test_search_finds_jobs_and_nodes(tab, page):
    """A node's name leads to it; any other word to the jobs that hold it."""
    opened = tab().open()
    opened.fill("#search input", "h100-0001")
    opened.keyboard.press("Enter")
    shown(opened, "h100-0001")
    assert opened.evaluate("location.hash") == "#/node/h100-0001"

    job = page.picture.jobs[5]
    opened.fill("#search input", job.id)
    opened.keyboard.press("Enter")
    opened.wait_for_selector(f'tr[data-job="{job.id}"]')
    assert opened.locator("tbody tr").count() == 1


def test_a_training_says_what_its_steps_wait_for(tab, page):
    """Data and communication, as far as they are known."""
    job = next(each for each in page.picture.jobs if each.run and each.run.communication)
    opened = tab().open(f"job/{job.id}")

    assert shown(opened, f"{job.run.communication * 100:.1f} %")
    assert shown(opened, "communication")


def test_language_and_theme_are_switched_and_kept(tab):
    """By their keys; both outlive the page."""
    opened = tab().open()
    opened.keyboard.press("l")
    opened.wait_for_selector('html[data-lang="zh"]')
    opened.wait_for_selector("#live.on")
    opened.keyboard.press("t")
    opened.reload()
    opened.wait_for_selector("#live.on")

    assert opened.get_attribute("html", "data-theme") == "dark"
    assert opened.get_attribute("html", "lang") == "zh-CN"
    assert "集群" in opened.inner_text("nav")


def test_an_operator_drains_a_node_with_a_reason(tab, page):
    """Signed in by the form; asked once more; the reason is Slurm's; another may only look."""
    page.users.set_user(create_user("opal", "operator", PASSWORD))
    one = tab()
    node = next(each for each in page.picture.nodes if each.state == "allocated")
    opened = one.open(f"node/{node.name}")
    shown(opened, node.name)
    assert opened.locator("button.bad").count() == 0

    opened.goto(f"{one.url}/sign-in")
    opened.fill("[name=name]", "opal")
    opened.fill("[name=password]", "wrong password")
    opened.click("button.main")
    opened.wait_for_selector("[role=alert]:visible")
    opened.fill("[name=name]", "opal")
    opened.fill("[name=password]", PASSWORD)
    opened.click("button.main")
    opened.wait_for_selector("#live.on")
    opened.goto(f"{one.url}/#/node/{node.name}")
    opened.click("button.bad")
    opened.fill("dialog#ask input", "a fan is <b>loud</b>")
    opened.keyboard.press("Enter")
    opened.wait_for_selector("#said:visible")
    holds(opened, "() => !document.getElementById('said').innerText.includes('Asking')")

    command = f"scontrol update NodeName={node.name} State=DRAIN Reason='opal: a fan is <b>loud</b>'"
    assert page.remote.calls == [("control", command)]
    opened.click("#me button")
    opened.wait_for_selector("#me a")


def test_history_and_curves_are_read_by_pointer_and_keys(tab, page):
    """The moment under the pointer, and the one that the arrows lead to; no two marks of an axis are the same."""
    page.change(alerts=page.picture.alerts[:1])
    for _ in range(60):
        page.clock.sleep(60)
        page.history.add(page.picture)
    opened = tab().open("history?span=hours")
    opened.wait_for_selector(".curve .line", state="attached")
    read = opened.locator(".read").first
    before = read.inner_text()
    for axis in opened.locator(".curve").all():
        marks = axis.locator('text[text-anchor="end"][x="45"]').all_text_contents()
        assert len(marks) == len(set(marks)) > 1
    opened.locator(".curve").first.hover(position={"x": 150, "y": 60})
    assert opened.locator(".cross").count() == 1
    assert read.inner_text() != before

    opened.locator(".curve").nth(1).focus()
    opened.keyboard.press("ArrowLeft")
    assert opened.locator(".cross").count() >= 1


def test_the_first_paint_does_not_wait_for_the_cluster(tab, page, chromium, served):
    """The skeleton with its words stands while the first picture is still being asked for."""
    slow = page._gathered

    def gathered():
        time.sleep(3)
        return slow()

    page.feed._gather = gathered
    with served(page) as url:
        one = Tab(chromium, url)
        one.tab.goto(url, wait_until="domcontentloaded")
        assert "Alerts" in one.tab.inner_text("nav")
        one.tab.wait_for_selector(".tile")
        one.context.close()


CONTRAST = """() => {
  const paint = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const channels = (colour) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.backgroundImage !== "none") return null;
      const colour = channels(style.backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return null;
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const style = getComputedStyle(element), back = own && element.checkVisibility() ? behind(element) : null;
    const ink = channels(style.fill !== "rgb(0, 0, 0)" && element.closest("svg") ? style.fill : style.color);
    if (!back || ink[3] < 255 || element.closest(".muted, :disabled") || style.fontSize === "0px") continue;
    const [low, high] = [light(ink), light(back)].sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) poor.push(`${element.tagName} ${element.textContent}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(tab, scheme):
    """By 4.5 to 1 at least, in both themes (WCAG 2.2, 1.4.3)."""
    one = tab(color_scheme=scheme)
    for view in (*VIEWS, *DETAILS[:2], "node/h100-0006"):
        opened = one.open(view)
        opened.wait_for_timeout(400)
        assert opened.evaluate(CONTRAST) == [], view
    opened.evaluate("document.documentElement.style.setProperty('--soft', 'gray')")
    assert opened.evaluate(CONTRAST) != []  # it sees what is poor
