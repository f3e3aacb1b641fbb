"""`wright explain FIELD|CODE|MODE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from clusterwright.config.fields import Field


def explain(what: str, /, *, lang: Literal["en", "zh"] | None = None, json: bool = False) -> int:
    """Say what a field of the two files means and takes, or what an error code or a failure mode is about.

    Parameters
    ----------
    what
        A dotted path such as `nodes.gpus.count` or `job.checkpoint.every`, a code such as `gres-mismatch`, or a
        mode that `wright why` names, such as `shm/full`.
    lang
        The language of a mode's page; else that of $LC_ALL, $LC_MESSAGES or $LANG.
    json
        The fields, or the page, as one JSON document.
    """
    from clusterwright.cli._pages import pages
    from clusterwright.cli._show import show_json, show_text

    codes = pages()
    if "/" in what:
        page = _mode_page(what, lang)
        show_json({"mode": what, "page": page}) if json else show_text(page)
        return 0
    if what in codes:
        show_json({"code": what, "page": codes[what]}) if json else show_text(codes[what])
        return 0
    found = _fields(what, list(codes))
    if json:
        show_json(found)
    else:
        show_text("\n\n".join(_told(field) for field in found))
    return 0


def _mode_page(what: str, lang: str | None) -> str:
    from clusterwright.cli.why import language
    from clusterwright.diagnose.mode import tables
    from clusterwright.diagnose.reference import page_of
    from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean

    try:
        return page_of(what, lang or language())
    except KeyError:
        meant = did_you_mean(what, list(tables()))
        mend = f"did you mean `{meant}`?" if meant else "see docs/reference/why/index.md"
        raise WrightError.of(
            "unknown-topic", f"no failure mode is called `{what}`", mend, exit_code=EXIT_USAGE
        ) from None


def _fields(what: str, codes: list[str]) -> tuple[Field, ...]:
    from clusterwright.config.fields import fields, matching
    from clusterwright.errors import EXIT_USAGE, WrightError, did_you_mean

    head, _, rest = what.partition(".")
    known = fields("job") if head == "job" and rest else ()
    known = known or (fields("cluster") if head == "cluster" and rest else fields("cluster") + fields("job"))
    asked = rest if head in {"cluster", "job"} and rest else what
    if found := matching(asked, known):
        return found
    paths = [".".join(part for part in field.parts if part != "NAME") for field in known]
    meant = did_you_mean(asked, [*paths, *codes])
    mend = (
        f"did you mean `{meant}`?" if meant else "see docs/reference/fields.md and docs/reference/errors.md"
    )
    raise WrightError.of(
        "unknown-topic", f"no field and no error code is called `{what}`", mend, exit_code=EXIT_USAGE
    )


def _told(field: Field) -> str:
    of = f" (kind: {field.variant})" if field.variant else ""
    rows = [("takes", field.takes), ("default", field.default), ("example", field.example)]
    rows += [("changing it", f"costs a live cluster: {field.cost}")] if field.file == "cluster" else []
    lines = [f"{field.file}: {field.path}{of}", f"  {field.meaning}"]
    return "\n".join(lines + [f"  {name + ':':13} {value}" for name, value in rows if value])
