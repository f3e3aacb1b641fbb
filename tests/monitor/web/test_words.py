"""Every word of the page is there in both languages, and nothing is said outside of them."""

import re
import string
from importlib.resources import files

import pytest

from clusterwright.monitor.snapshot import NodeView
from clusterwright.monitor.web.lists import ORDERS
from clusterwright.monitor.web.pages import SUMS, VIEWS, preferred_language, words
from clusterwright.monitor.web.users import ROLES

FOLDER = files("clusterwright.monitor.web").joinpath("static")
SCRIPTS = {entry.name: entry.read_text() for entry in FOLDER.iterdir() if entry.name.endswith(".js")}
PAGES = {entry.name: entry.read_text() for entry in FOLDER.iterdir() if entry.name.endswith(".html")}
EN, ZH = words("en"), words("zh")
# Keys that are put together from a part that is fixed and one that is data.
MADE = {
    "view.": VIEWS, "sum.": SUMS, "role.": ROLES, "list.order.": ORDERS,
    "kind.": ("idle", "part", "full", "draining", "drained", "down", "other"),
    "tiles.": ("leaf", "class", "partition", "kind", "use", "memory", "celsius", "watts"),
    "history.": ("hours", "day", "week", "month", "year"), "unit.": ("day", "hour", "minute", "second"),
    "by.": ("health", "hooks", "command", "slurm", "person"), "severity.": ("critical", "warning", "info"),
    "error.": ("role", "sign-in", "token", "reason", "busy"), "node.": ("drain", "resume"),
    "sign.": ("wrong", "wait", "stale", "closed"),
}  # fmt: skip
SAME = {"view.gpus", "list.speed", "run.tokens", "run.mfu", "curve.mfu", "job.gpus", "gpu.index", "by.slurm"}


def used():
    """Every key that a script or page names."""
    named = {
        key for text in SCRIPTS.values() for key in re.findall(r'"([a-z]+(?:\.[a-z-]+)+)"', text) if key in EN
    }
    named |= {prefix + end for prefix, ends in MADE.items() for end in ends}
    spelled = {key.replace(".", "_").replace("-", "_"): key for key in EN}
    named |= {spelled[name] for text in PAGES.values() for name in re.findall(r"\$\{word_(\w+)\}", text)}
    return named


def test_every_key_has_both_languages():
    """None is empty, and those that are the same in both are the field's own words."""
    assert EN.keys() == ZH.keys()
    assert all(EN.values())
    assert all(ZH.values())
    assert {key for key in EN if EN[key] == ZH[key]} <= SAME
    chinese = re.compile(r"[\u4e00-\u9fff]")
    assert [key for key in EN if not chinese.search(ZH[key]) and key not in SAME | {"top.lang"}] == []
    assert [key for key in EN if chinese.search(EN[key]) and key != "top.lang"] == []


def test_both_languages_fill_in_the_same():
    """{0} and {1} stand in both."""
    fields = {key: [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (EN[key], ZH[key])]
              for key in EN}  # fmt: skip

    assert [key for key, (one, other) in fields.items() if one != other] == []


def test_every_key_that_is_asked_for_is_there():
    """In scripts by t("key"), in pages by ${word_key}."""
    asked = {key for text in SCRIPTS.values() for key in re.findall(r'\bt\("([^"]+)"', text)}
    asked |= {prefix + end for prefix, ends in MADE.items() for end in ends}

    assert asked - EN.keys() == set()


def test_no_key_is_left_over():
    """What nothing asks for is taken out."""
    assert set(EN) - used() == set()


def test_nothing_is_said_outside_of_the_words():
    """No text of a language stands in a script or a page: neither Chinese nor words with a space between."""
    prose = re.compile(r"\"[A-Z][a-z]+(?: [a-z]+)+[.\"]|[\u4e00-\u9fff]")
    for name, text in (SCRIPTS | PAGES).items():
        lines = [re.sub(r"//.*", "", re.sub(r"/\*\*.*?\*/", "", line)) for line in text.splitlines()]
        assert [line for line in lines if prose.search(line)] == [], name
    for name, text in PAGES.items():
        shown = re.sub(r"<[^>]+>", "", re.sub(r"<title>.*?</title>", "", text))
        assert re.sub(r"\$\{?\w+\}?|[◐?/]", "", shown).split() == [], name


def test_every_kind_of_node_has_a_word():
    """Whatever state Slurm names."""
    from clusterwright.monitor.web.compact import kind

    states = ("idle", "mixed", "allocated", "completing", "planned", "reserved", "maint", "rebooting", "powering_up",
              "powered_down", "not_responding", "down", "down*", "inval", "something-new")  # fmt: skip
    kinds = {kind(NodeView("n", state, drained=drained)) for state in states for drained in (False, True)}
    assert {f"kind.{each}" for each in kinds} <= EN.keys()


@pytest.mark.parametrize(("cookie", "accepted", "lang"), [
    ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("", "de,fr", "en"), ("", "", "en"), ("zh", "en", "zh"), ("en", "zh", "en"),
    ("<script>", "zh-TW", "zh"),
])  # fmt: skip
def test_the_language_is_the_chosen_one_or_the_browsers(cookie, accepted, lang):
    """The first of the browser's that we speak; a cookie of another's making counts for nothing."""
    assert preferred_language(cookie, accepted) == lang
