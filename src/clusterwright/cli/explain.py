"""`wright explain FIELD|CODE|MODE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from clusterwright.cli._live_names import TOPICS
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.fields import Field


def explain(topic: Annotated[str, TOPICS], /, *, json: bool = False) -> int:
    """Explain a field of the cluster or job file, an error code, a rule of lint, a failure mode, or other software.

    Parameters
    ----------
    topic
        Dotted path such as `nodes.gpus.count` or `job.checkpoint.every`, error code such as `gres-mismatch`, code of
        `wright lint` such as `gpus-unconstrained`, or failure mode of `wright why` such as `shm/full`; or gradient
        compression of other software, such as `LightCC`.
    json
        Print the fields or the page as one JSON document.
    """
    from clusterwright.cli._pages import pages
    from clusterwright.cli._show import show_json, show_text

    codes = pages()
    if "/" in topic:
        text = _mode_page(topic)
        show_json({"mode": topic, "page": text}) if json else show_text(text)
        return 0
    if text := _code_page(topic, codes):
        show_json({"code": topic, "page": text}) if json else show_text(text)
        return 0
    from clusterwright.config.other_names import other_name

    if counterpart := other_name(topic):
        text = _(counterpart.answer)
        fields = [field for path in counterpart.fields for field in _fields(f"job.{path}", [])]
        if json:
            show_json({"name": counterpart.name, "answer": text, "fields": fields})
        else:
            show_text("\n\n".join([text, *(_format_field(field) for field in fields)]))
        return 0
    matches = _fields(topic, list(codes))
    if json:
        show_json(matches)
    else:
        show_text("\n\n".join(_format_field(field) for field in matches))
    return 0


def _code_page(topic: str, codes: dict[str, str]) -> str:
    """Return the page of an error code, that of a rule of `wright lint`, or both; "" if neither has the name."""
    from clusterwright.config.slurm_rules.reference import rule_page

    return "\n".join(text.rstrip("\n") + "\n" for text in (codes.get(topic), rule_page(topic)) if text)


def _mode_page(topic: str) -> str:
    from clusterwright.diagnose.mode import tables
    from clusterwright.diagnose.reference import page_of
    from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix

    try:
        return page_of(topic)
    except KeyError:
        fix = unknown_name_fix(topic, tables())
        raise WrightError.from_code(
            "unknown-topic", _("no failure mode has the name `{name}`", name=topic), fix, exit_code=EXIT_USAGE
        ) from None


def _fields(topic: str, codes: list[str]) -> tuple[Field, ...]:
    from clusterwright.config.fields import fields, matching
    from clusterwright.config.slurm_rules import all_rules
    from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix

    head, _ignored, subpath = topic.partition(".")
    candidates = fields("job") if head == "job" and subpath else ()
    candidates = candidates or (
        fields("cluster") if head == "cluster" and subpath else fields("cluster") + fields("job")
    )
    query = subpath if head in {"cluster", "job"} and subpath else topic
    if matches := matching(query, candidates):
        return matches
    paths = [".".join(part for part in field.parts if part != "NAME") for field in candidates]
    rules = [rule.code for rule in all_rules()]
    fix = _of_other_topic(topic) or unknown_name_fix(query, [*paths, *codes, *rules], _of_text(topic))
    raise WrightError.from_code(
        "unknown-topic",
        _("no field and no error code has the name `{name}`", name=topic),
        fix,
        exit_code=EXIT_USAGE,
    )


def _of_other_topic(topic: str) -> str:
    """Return what explains a command, a kind of file, a key of Slurm or a line of a log.

    Empty for other names.
    """
    from clusterwright.cli import commands

    if topic in dict(commands()):
        return _("the name is that of a command: wright {command} --help", command=topic)
    if topic in ("job", "cluster"):
        return _(
            "all fields of the file: wright schema {kind}; one of them: wright explain FIELD", kind=topic
        )
    return _of_slurm_key(topic) or (_of_text(topic) if " " in topic.strip() else "")


def _of_slurm_key(topic: str) -> str:
    """Return what explains a key of Slurm's files, and the field that may set it; empty for other names."""
    from clusterwright.config.slurm_keys import OURS, key_spans

    for file in ("slurm.conf", "gres.conf", "cgroup.conf", "slurmdbd.conf"):
        if topic.lower() in key_spans(file):
            page = _("the name is that of a key of {file}: man {file}", file=file)
            is_free = file == "slurm.conf" and topic.lower() not in OURS
            return f"{page}; wright explain slurm.options" if is_free else page
    return ""


def _of_text(topic: str) -> str:
    import shlex

    return _(
        "for a line of a log: echo {text} | wright why -; for all fields: wright schema cluster, wright schema job",
        text=shlex.quote(topic),
    )


def _format_field(field: Field) -> str:
    variant = f" (kind: {field.variant})" if field.variant else ""
    rows = [(_("values"), field.takes), (_("default"), field.default), (_("example"), field.example)]
    rows += [(_("cost of change"), field.cost)] if field.file == "cluster" else []
    lines = [f"{field.file}: {field.path}{variant}", f"  {_(field.meaning)}"]
    return "\n".join(lines + [f"  {name + ':':15} {value}" for name, value in rows if value])
