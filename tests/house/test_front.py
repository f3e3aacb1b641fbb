"""The front pages: both READMEs, the index of the documentation and the comparison, in both languages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+)")
SUFFIX = {"en": ".md", "zh": ".zh-CN.md"}


def links(page):
    """Targets of all links and images of a page."""
    return LINK.findall(page.read_text())


def table(page, first):
    """Cells of the rows of the table whose header begins with a text, the header included."""
    rows = page.read_text().partition(f"\n{first}")[2].partition("\n\n")[0]
    lines = f"{first}{rows}".splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in [lines[0], *lines[2:]]]


@pytest.fixture(params=SUFFIX)
def suffix(request):
    """The suffix of the pages of each language."""
    return SUFFIX[request.param]


def test_every_page_is_linked_once_from_the_index(suffix):
    """Guides, concepts and the first pages of the reference; in Chinese, the Chinese page where there is one."""
    folders = [DOCS / "guides", DOCS / "concepts", DOCS / "reference"]
    pages = [page for folder in folders for page in folder.glob("*.md") if ".zh-CN" not in page.name]
    pages += [*(DOCS / "reference").glob("*/index.md"), *(DOCS / "guides").glob("*/README.md")]
    named = [page.with_suffix("").with_suffix(suffix) for page in pages]
    expected = [
        str((name if name.exists() else page).relative_to(DOCS))
        for name, page in zip(named, pages, strict=True)
    ]
    found = links(DOCS / f"index{suffix}")

    assert len(expected) > 50
    assert [page for page in expected if found.count(page) != 1] == []
    assert [page for page in found if found.count(page) != 1] == []


def test_a_readme_fits_one_screen(suffix):
    """At most 75 lines and ten links, the picture not counted; one of them leads to the index."""
    page = ROOT / f"README{suffix}"
    found = [link for link in links(page) if not link.endswith((".svg", ".png"))]

    assert len(page.read_text().splitlines()) <= 75
    assert len(found) <= 10
    assert f"docs/index{suffix}" in found


def test_a_readme_installs_the_wheel_of_any_version(suffix):
    """A checkout without tags builds a development version; the line is right for it too."""
    text = (ROOT / f"README{suffix}").read_text()

    assert text.count('uv tool install "$(echo dist/*.whl)[plan]"') == 1
    assert re.findall(r"clusterwright-[0-9.]+", text) == []


def test_the_table_of_a_readme_is_that_of_the_comparison(suffix):
    """Each row, in the same order of tools."""
    rows = table(ROOT / f"README{suffix}", "| | Clusterwright")
    compared = table(DOCS / f"compared{suffix}", "| | Clusterwright")

    assert len(rows) > 8
    assert [row for row in rows if row not in compared] == []


def test_every_verdict_of_the_comparison_has_a_reason_and_a_source(suffix):
    """A cell other than `-` has a row in the section of its capability; `-` follows from the tool's purpose."""
    page = DOCS / f"compared{suffix}"
    header, *rows = table(page, "| | Clusterwright")
    text = page.read_text()
    missing = []
    for capability, *verdicts in rows:
        section = text.partition(f"\n## {capability}\n")[2].partition("\n## ")[0]
        for tool, verdict in zip(header[1:], verdicts, strict=True):
            line = next(
                (one for one in section.splitlines() if one.startswith(f"| {tool} | {verdict} | ")), ""
            )
            if (verdict == "-") == bool(LINK.search(line)):
                missing.append(f"{capability}: {tool}")

    assert len(rows) > 10
    assert missing == []


def test_both_languages_give_the_same_verdicts():
    """The Chinese tables differ in words only."""
    words = {"是": "yes", "部分": "partly", "否": "no", "未知": "not known", "-": "-"}
    for name in (ROOT / "README", DOCS / "compared"):
        english, chinese = (table(Path(f"{name}{suffix}"), "| | Clusterwright") for suffix in SUFFIX.values())

        assert [row[1:] for row in english[1:]] == [[words[cell] for cell in row[1:]] for row in chinese[1:]]
