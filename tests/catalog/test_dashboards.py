"""Dashboards as data: what is read, and what a file may not say."""

import re
from pathlib import Path

import pytest

from clusterwright.catalog.watch import dashboard
from clusterwright.catalog.watch.alert import recordings
from clusterwright.catalog.watch.dashboard import dashboards
from clusterwright.i18n import bilingual

NAMES = Path(__file__).parents[2] / "docs" / "decisions" / "0010-watch.md"

HAN = re.compile(r"[一-鿿]")
SAME = {"GPU", "GPUs", "MFU", "Slurm"}
PAGE = 'title = "x"\n[[panel]]\ntitle = "p"\n'


def test_every_file_of_the_folder_is_a_dashboard_that_is_shown():
    """And none is named that is not there."""
    folder = dashboard.files("clusterwright.catalog.watch") / "dashboards"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{name}.toml" for name in dashboard.NAMES
    )


@pytest.mark.parametrize("page", dashboards(), ids=lambda page: page.name)
def test_titles_are_in_both_languages(page):
    """Each of the page, its choices and its panels."""
    named = [page, *page.variables, *page.panels]
    texts = [each.title for each in named] + [panel.about for panel in page.panels if panel.about]
    assert [text for text in texts if text not in SAME and not HAN.search(bilingual(text)[1])] == []


@pytest.mark.parametrize("page", dashboards(), ids=lambda page: page.name)
def test_every_query_is_of_the_cluster_that_was_chosen(page):
    """One Grafana may show several clusters."""
    asked = [query.expression for panel in page.panels for query in panel.queries]
    series = [part for text in asked for part in re.findall(r"\{([^}]*)\}", text)]
    assert [part for part in series if 'cluster="$cluster"' not in part] == []
    assert all(re.search(r"\{", text) for text in asked)


def test_every_name_that_is_asked_is_one_that_somebody_gives():
    """What rules record, and what the record of decisions says that our exporter has."""
    text = "\n".join(
        query.expression for page in dashboards() for panel in page.panels for query in panel.queries
    )
    ours = set(re.findall(r"\bclusterwright_(\w+)", text))
    agreed = set(re.findall(r"`(\w+)", NAMES.read_text()))

    assert set(re.findall(r"\b(?:gpu|node|job|account|cluster):[\w:]+", text)) <= {
        one.record for one in recordings()
    }
    assert {name for name in ours if not name.startswith("run_")} - agreed == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PAGE + 'kind = "stat"\nquery = "up"\nunti = "s"', "unti"),
        (PAGE + 'kind = "pie"\nquery = "up"', "`p` has kind `pie`"),
        (PAGE + 'kind = "stat"', "`p`: a row has no query"),
        (PAGE + 'kind = "row"\nquery = "up"', "`p`: a row has no query"),
        ('title = "x"', "panel"),
    ],
)
def test_a_file_that_says_what_nobody_reads_is_refused(text, said):
    """With the file's name and the panel's."""
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        dashboard.read("mine", text)
    assert str(refused.value).startswith("dashboards/mine.toml: ")
