"""The message catalog: every text has a Chinese translation with the same fields; plurals and language selection."""

import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.edge.ssh import fan_out
from clusterwright.i18n import N_, _, _n, current_language, in_language, language_of

ROOT = Path(__file__).parents[2]


def test_every_text_is_translated():
    """No translation is missing or obsolete; `make check` runs the same."""
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "messages", "--check"], capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stderr


def test_english_is_the_text_itself():
    """Fields are replaced as by str.format; a text without values may contain braces."""
    assert _("{name} has {share:.0%}", name="gpu-node1", share=0.5) == "gpu-node1 has 50%"
    assert _("awk '{print}'") == "awk '{print}'"
    assert N_("text") == "text"


@pytest.mark.parametrize(("count", "text"), [(0, "0 hosts"), (1, "1 host"), (2, "2 hosts")])
def test_a_plural_follows_the_count(count, text):
    """English has a singular and a plural."""
    assert _n("{count} host", "{count} hosts", count) == text


def test_a_block_has_its_language():
    """`in_language` sets the language in its block only."""
    before = current_language()
    with in_language("zh"):
        assert current_language() == "zh"

    assert current_language() == before


def test_work_on_hosts_has_the_language_of_its_caller():
    """`fan_out` runs in threads, which do not inherit the language by themselves."""
    with in_language("zh"):
        assert fan_out(["gpu-node1"], lambda _host: current_language()) == {"gpu-node1": "zh"}


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LC_MESSAGES": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LC_ALL": "", "LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_environment_names_a_language(environment, language):
    """The order is that of POSIX: LC_ALL, LC_MESSAGES, LANG."""
    assert language_of(environment) == language
