"""The pages of the modes."""

from clusterwright.diagnose.mode import tables
from clusterwright.diagnose.reference import _code, page_of, pages
from clusterwright.i18n import bilingual, in_language


def test_each_mode_has_its_section_in_both_languages():
    """With cause and fix in the language of the page."""
    made = pages()

    for name, table in tables().items():
        kind, _, own = name.partition("/")
        for page, cause in zip((f"{kind}.md", f"{kind}.zh-CN.md"), bilingual(table["cause"]), strict=True):
            assert f"\n## {own}\n" in made[page]
            assert cause.partition("{")[0] in made[page]


def test_the_index_leads_to_each_page():
    """In its own language."""
    made = pages()

    for suffix in (".md", ".zh-CN.md"):
        listed = {page for page in made if page.endswith(suffix) and not page.startswith("index")}
        listed = {page for page in listed if (".zh-CN" in page) == (".zh-CN" in suffix)}
        assert all(f"]({page})" in made[f"index{suffix}"] for page in listed)


def test_code_with_marks_in_it_is_code():
    """A shell's back-ticks."""
    assert [_code("a"), _code("a `b` c")] == ["`a`", "`` a `b` c ``"]


def test_the_page_of_one_mode():
    """In the current language, with its whole name."""
    assert page_of("shm/full").startswith("# shm/full\n\n- **Cause**: ")
    with in_language("zh"):
        assert bilingual(tables()["shm/full"]["cause"])[1].partition("{")[0] in page_of("shm/full")
