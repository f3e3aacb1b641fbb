"""Generate the references under docs/, the table of Xids for hosts, and the fields of a job for hosts.

`python -m clusterwright.cli._reference --write|--check`.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

from clusterwright.check.kernel.on_host import on_host
from clusterwright.check.reference import reference
from clusterwright.cli._command_page import cli_page
from clusterwright.cli._man_pages import man_pages
from clusterwright.cli._pages import pages
from clusterwright.config import on_host as job_on_host
from clusterwright.config.fields import Field, fields
from clusterwright.config.schema import FILE_KINDS, schema_text
from clusterwright.config.slurm_rules.reference import rules_page
from clusterwright.diagnose.reference import pages as modes_pages
from clusterwright.onhost.supervisor.goodput.kinds import COMMON, EventKind
from clusterwright.onhost.supervisor.goodput.kinds import KINDS as EVENT_KINDS
from clusterwright.provision.render.monitoring.pages import alert_pages

_XIDS = "src/clusterwright/provision/render/hooks/xids"  # the table of Xids for hosts
_JOB_FIELDS = "src/clusterwright/onhost/supervisor/job_fields.py"  # the fields of a job for hosts
_HEADER = "<!-- made by clusterwright.cli._reference, do not edit -->\n\n"


def fields_page() -> str:
    """Return the page docs/reference/fields.md, which has every field of cluster.yaml and job.yaml, as Markdown."""
    head = (
        "# Fields of cluster.yaml and job.yaml\n\n"
        "`NAME` stands for a name that you choose, `[]` for the items of a list.\n"
        "The last column is what a change costs a running cluster: nothing (live), `scontrol reconfigure`\n"
        "(reconfigure), a service restart, a drain or reboot of hosts, or a rebuild.\n"
        "`wright explain FIELD` shows one of them.\n"
    )
    return head + "".join(f"\n## {kind}.yaml\n\n{_table(fields(kind))}" for kind in ("cluster", "job"))


def _table(rows: tuple[Field, ...]) -> str:
    lines = ["| field | meaning | values | default | example | changing it |", "| --- " * 6 + "|"]
    for row in rows:
        variant = f" ({row.variant})" if row.variant else ""
        example = f"`{row.example}`" if row.example else ""
        cost = row.cost if row.file == "cluster" else "the next run"
        cells = (f"`{row.path}`{variant}", row.meaning, row.takes, row.default, example, cost)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def errors_page(golden: Path) -> str:
    """Return the page docs/reference/errors.md, which has every error code with an example, as Markdown.

    `golden` is the folder with the outputs.
    """
    head = "# Errors\n\nEach error has a stable code; `wright explain CODE` shows its page.\n"
    return head + "".join(f"\n{_error(code, text, golden)}" for code, text in pages().items())


def _error(code: str, text: str, golden: Path) -> str:
    golden_file = golden / f"{code}.txt"
    example = f"\n```text\n{golden_file.read_text(encoding='utf-8')}```\n" if golden_file.exists() else ""
    return f"#{text.rstrip()}\n{example}"


def events_page() -> str:
    """Return the page docs/reference/events.md, which has every kind of event in a run's folder, as Markdown."""
    head = (
        "# Events of a run\n\n"
        "`events/NAME.jsonl` in the folder of a run: one JSON object per line, one file per writer.\n"
        "A host that crashes may leave an incomplete last line; readers skip it.\n"
        "A training may write its own kinds with `run.record`.\n\n"
        "Every event has:\n\n| field | meaning |\n| --- | --- |\n"
    )
    head += "".join(f"| `{name}` | {meaning} |\n" for name, meaning in COMMON.items())
    return head + "".join(f"\n{_event(name, kind)}" for name, kind in EVENT_KINDS.items())


def _event(name: str, kind: EventKind) -> str:
    rows = "".join(f"| `{field}` | {meaning} |\n" for field, meaning in kind.fields.items())
    return f"## `{name}`\n\n{kind.writer}: {kind.when}.\n\n| field | meaning |\n| --- | --- |\n{rows}"


def glossary_page(data: Path) -> str:
    """Return docs/glossary.md: every term with its Chinese word, its meaning, and its name elsewhere.

    Args:
        data: docs/glossary.toml.
    """
    head = (
        "# Glossary\n\n"
        "One concept has one word, in code, messages and pages. The last column is the package of\n"
        "`src/clusterwright` that owns the concept.\n\n"
        "| term | 中文 | meaning | elsewhere | package |\n" + "| --- " * 5 + "|\n"
    )
    glossary = tomllib.loads(data.read_text(encoding="utf-8"))
    terms = sorted(glossary["term"], key=itemgetter("term"))
    rows = (
        f"| {term['term']} | {term['zh']} | {term['meaning']} | {term.get('same_as', '')} | `{term['room']}` |\n"
        for term in terms
    )
    phrases = "\n## Phrases\n\nMessages and pages name who acts, and do not personify programs.\n\n"
    phrases += "| avoid | use |\n| --- | --- |\n"
    phrases += "".join(f"| {', '.join(row['avoid'])} | {row['use']} |\n" for row in glossary["phrase"])
    return _HEADER + head + "".join(rows) + phrases


def outdated(docs: Path, golden: Path) -> dict[Path, str]:
    """Return the new text of the generated pages that differ from what is on disk, by path."""
    makers: dict[str, Callable[[], str]] = {
        "fields": fields_page,
        "errors": lambda: errors_page(golden),
        "cli": cli_page,
        "checks": reference,
        "events": events_page,
        "lint": rules_page,
    }
    expected_pages = {docs / f"{name}.md": _HEADER + make() for name, make in makers.items()}
    expected_pages |= {docs / "why" / name: _HEADER + text for name, text in modes_pages().items()}
    expected_pages |= {docs / "alerts" / name: _HEADER + text for name, text in alert_pages().items()}
    return {
        path: text
        for page_path, expected_text in expected_pages.items()
        for path, text in _differs(page_path, expected_text).items()
    }


def _differs(path: Path, text: str) -> dict[Path, str]:
    return {} if path.exists() and path.read_text(encoding="utf-8") == text else {path: text}


def main(arguments: list[str] | None = None) -> int:
    """Write the outdated generated files (--write), or list them (--check); return 1 if --check finds any."""
    parser = argparse.ArgumentParser(description=__doc__)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--check", action="store_true", help="list the pages that are out of date")
    how.add_argument("--write", action="store_true", help="write the pages that are out of date")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout")
    options = parser.parse_args(arguments)
    pending = outdated(options.root / "docs" / "reference", options.root / "tests" / "golden" / "errors")
    docs = options.root / "docs"
    for name, text in man_pages().items():
        pending |= _differs(docs / "man" / name, text)
    pending |= _differs(docs / "glossary.md", glossary_page(docs / "glossary.toml"))
    pending |= _differs(options.root / _XIDS, on_host())
    for kind in FILE_KINDS:
        pending |= _differs(options.root / "examples" / f"{kind}.schema.json", schema_text(kind))
    pending |= _differs(options.root / _JOB_FIELDS, job_on_host.source())
    for path, text in pending.items():
        if options.write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{path} {'written' if options.write else 'is out of date; run make docs'}\n")
    return 1 if pending and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
