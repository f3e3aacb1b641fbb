"""`wright lint FILE... --slurm VERSION`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli._quantities import Release
from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.config.slurm_rules import RuleFinding, SlurmConf, Source


def lint(
    file: Path,
    /,
    *more: Path,
    slurm: Release = "",
    root: Path | None = None,
    resolve: bool = False,
    json: bool = False,
) -> int:
    """Check Slurm configuration files against a Slurm release and its manual, without contacting Slurm.

    Slurm's daemons do not start with an unknown key. Rules from the manual find settings that do not fit each other,
    in one file or between several. Exit code 5: there are errors or warnings; notes alone do not change it.

    Parameters
    ----------
    file
        A folder such as /etc/slurm, or slurm.conf, gres.conf, cgroup.conf, topology.conf, topology.yaml, slurmdbd.conf,
        oci.conf, mpi.conf, acct_gather.conf, job_container.conf, helpers.conf or burst_buffer.conf, in any folder.
        Included files are read too.
    more
        More of these files, of the same cluster.
    slurm
        Slurm release, such as 25.11; default: the newest that Clusterwright knows.
    root
        Folder of a host's file system; the programs that the files name are searched in it. / for this host.
    resolve
        Resolve the names of controllers. On a host of the cluster this is the default.
    json
        Print the findings as one JSON document on stdout.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.cli._slurm_files import observe, read_sources
    from clusterwright.config.slurm_keys import RELEASES, release
    from clusterwright.config.slurm_rules import check, parse_conf
    from clusterwright.errors import EXIT_FAULTS, EXIT_OK

    version = release(slurm) if slurm else RELEASES[-1]
    sources = read_sources((file, *more), version, root)
    conf = observe(parse_conf(sources, version, is_folder=file.is_dir()), root, resolve=resolve)
    keys = [row for source in sources for row in _key_rows(source, version, Path(source.path).parent)]
    rows = [*keys, *_missing_rows(conf, sources), *map(_rule_row, check(conf))]
    rows.sort(key=lambda row: (row["file"], row["line"]))
    if json:
        files = [source.path for source in sources]
        show_json({"file": str(file), "files": files, "slurm": version, "findings": rows})
    else:
        name = ", ".join(map(str, (file, *more)))
        _show(rows, name, version, is_newest=not slurm, has_unread=conf.has_unread)
    return EXIT_FAULTS if any(row["severity"] != "note" for row in rows) else EXIT_OK


def _show(rows: list[dict[str, Any]], name: str, version: str, *, is_newest: bool, has_unread: bool) -> None:
    from clusterwright.cli._show import show_message, show_note, show_text, show_verbatim

    for row in rows:
        show_text(_text(row))
        if row.get("fix"):
            show_verbatim(f"  {_('fix')}: {row['fix']}")
    if is_newest:
        show_note(
            _("checked for Slurm {version}, the newest known; --slurm chooses another", version=version)
        )
    if has_unread:
        show_note(_("an included file is not on this machine: rules about missing lines are left out"))
    show_message(
        _n(
            "{file}: {count} finding for Slurm {version}",
            "{file}: {count} findings for Slurm {version}",
            len(rows),
            file=name,
            version=version,
        )
    )


def _key_rows(source: Source, version: str, folder: Path) -> list[dict[str, Any]]:
    """Return the findings about the keys of a file and of those that it includes.

    Of an included file outside of the folder, which may be no file of Slurm, nothing but the number of a line without
    KEY=VALUE is in them: Include names any file that the user who runs the command can read.
    """
    from clusterwright.config.slurm_keys.lint import NOT_A_PAIR
    from clusterwright.config.slurm_keys.lint import lint as lint_text

    is_inside = Path(source.path).resolve().is_relative_to(folder.resolve())

    rows: list[dict[str, Any]] = [
        {
            "file": source.path,
            "line": finding.line,
            "key": finding.key if is_inside or finding.message != _(NOT_A_PAIR) else "",
            "code": "key",
            "severity": "error" if finding.fatal else "warning",
            "message": finding.message,
            "fatal": finding.fatal,
        }
        for finding in lint_text(source.text, source.kind, version)
    ]
    included = [file for files in source.includes.values() for file in files]
    return rows + [row for file in included for row in _key_rows(file, version, folder)]


def _missing_rows(conf: SlurmConf, sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return a finding for each key without which slurmctld does not start, if slurm.conf lacks it.

    None for a fragment, which sets other keys than ClusterName without the name and one of the others.
    """
    slurm_confs = [source for source in sources if source.kind == "slurm.conf" and not source.includes]
    if not slurm_confs or conf.has_unread or conf.is_complete:
        return []
    name, nodes = conf.get("ClusterName"), conf.nodes or conf.get("MaxNodeCount")
    has_others = set(conf.settings.get("slurm.conf", ())) - {"clustername"} or conf.entries
    if has_others and not (name and (conf.controllers or nodes)):
        return []
    required = {"ClusterName": name, "SlurmctldHost": conf.controllers, "NodeName": nodes}
    return [
        {
            "file": slurm_confs[0].path,
            "line": 1,
            "key": key,
            "code": "key",
            "severity": "error",
            "message": _("the key is not set, and slurmctld does not start without it"),
            "fatal": True,
        }
        for key, value in required.items()
        if not value
    ]


def _rule_row(finding: RuleFinding) -> dict[str, Any]:
    import dataclasses

    return {**dataclasses.asdict(finding), "fatal": finding.severity == "error"}


def _text(row: dict[str, Any]) -> str:
    """Return a finding as a line of text for people: its location, and what it is."""
    location = f"{row['file']}:{row['line']}"
    if row["code"] == "key":
        return ": ".join(filter(None, (location, row["key"], row["message"])))
    return f"{location}: {_(row['severity'])}[{row['code']}]: {row['message']}"
