"""`wright adopt`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.cli._quantities import Hostlist, Release
from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.adopt.recorded import RecordedSite
    from clusterwright.adopt.site import Site


def adopt(
    *,
    control: str = "",
    hosts: Hostlist = "",
    folder: Annotated[Path | None, Parameter(name=("--folder", "--from"))] = None,
    slurm: Release = "",
    out: Path = Path("cluster.yaml"),
    json: bool = False,
) -> int:
    """Write the cluster file of a running Slurm cluster that Clusterwright did not build. Nothing changes on the hosts.

    The file manages no role (`manage: []`): `wright apply` changes nothing until a role is added. What the file cannot
    hold is at its end, by file and line. An existing file is never overwritten. Limits, units and firewall of the hosts
    are written to a second file, OUT without its suffix and `.baseline.json`, with which `wright diff` compares them.

    Parameters
    ----------
    control
        Host of slurmctld, as for ssh: HOST or USER@HOST.
    hosts
        Hosts whose hardware, system and settings are read too, as a Slurm hostlist.
    folder
        Folder with a copy of the site's Slurm files, in place of --control. Optional files in it: `slurm`, the output
        of `scontrol --version`; `addresses`, lines of NAME ADDRESS; `qos`, `associations` and `users`, tables of
        `sacctmgr -P show`, or `dump`; `reservations`; and texts of hosts.
    slurm
        Version of Slurm; default: that of the control host, or of the file `slurm` in the folder.
    out
        Path of the new file.
    json
        Print one JSON document on stdout: the file, and by file and line what it does not hold.
    """
    from clusterwright.adopt.baseline import baseline_path, format_baseline, site_baseline
    from clusterwright.adopt.facts import facts_of
    from clusterwright.adopt.site import describe
    from clusterwright.cli._show import show_json
    from clusterwright.errors import WrightError

    if out.is_symlink() or out.exists():
        message, fix = _("{file} exists already", file=out), _("choose another path with --out")
        raise WrightError.from_code("file-exists", message, fix)
    recorded = _recorded(control, hosts, folder, slurm)
    site = describe(recorded.sources(), recorded.version, control or str(folder), facts_of(recorded))
    _write(baseline_path(out), format_baseline(site_baseline(recorded.hosts)), 0o600)
    _write(out, site.text, 0o644)
    if json:
        show_json(_report(site, out))
    else:
        _show_site(site, out)
    return 0


def _show_site(site: Site, out: Path) -> None:
    """Print which files were written, what the cluster file does not hold, and the next command."""
    from clusterwright.adopt.baseline import baseline_path
    from clusterwright.cli._show import cluster_option, show_message, show_next

    show_message(_("written: {files}", files=f"{out}, {baseline_path(out)}"))
    _show_rest(site)
    show_next(f"wright diff {cluster_option(out)}")


def _report(site: Site, out: Path) -> dict[str, object]:
    from clusterwright.adopt.baseline import baseline_path

    return {
        "file": str(out),
        "baseline": str(baseline_path(out)),
        "cluster": site.cluster.name,
        "hosts": [host.name for host in site.cluster.hosts()],
        "differences": [dataclasses.asdict(difference) for difference in site.differences],
        "left_out": [dataclasses.asdict(line) for line in site.adopted.left_out],
        "placeholders": list(site.adopted.placeholders),
    }


def _write(out: Path, text: str, mode: int) -> None:
    """Write the file atomically, with this mode; missing folders are created.

    Raises:
        WrightError: `not-writable`: it cannot be written.
        OSError: the disk is full.
    """
    from clusterwright.edge.files import write_file_atomic
    from clusterwright.errors import WrightError
    from clusterwright.onhost.lib.files import FULL

    try:
        write_file_atomic(out, text, mode=mode)
    except OSError as error:
        if error.errno in FULL:
            raise
        fix = _("choose a path in a writable folder with --out")
        raise WrightError.from_code("not-writable", f"{error.strerror}: {out}", fix) from error


def _recorded(control: str, hosts: str, folder: Path | None, slurm: str) -> RecordedSite:
    """Return the texts of the site, read from its control host or from the folder.

    Raises:
        WrightError: neither is named, or the version of Slurm is not known.
    """
    from dataclasses import replace

    from clusterwright.adopt.folder import read_folder
    from clusterwright.cli._option_rules import SOURCE
    from clusterwright.config.slurm_keys import RELEASES, release
    from clusterwright.errors import EXIT_USAGE, WrightError

    if not control and folder is None:
        raise SOURCE.error()
    recorded = read_folder(folder) if folder is not None else _gathered(control, hosts)
    recorded = replace(recorded, version=slurm or recorded.version)
    if release(recorded.version) not in RELEASES:
        raise WrightError.from_code(
            "lint-unknown",
            _(
                "the keys of {file} in Slurm {version} are not known",
                file="slurm.conf",
                version=recorded.version or "?",
            ),
            _("pass the version with --slurm; the releases are {releases}", releases=", ".join(RELEASES)),
            exit_code=EXIT_USAGE,
        )
    return recorded


def _gathered(control: str, hosts: str) -> RecordedSite:
    from clusterwright.adopt.gather import gather
    from clusterwright.cli._connection import is_host_name
    from clusterwright.cli._hostlist import expanded
    from clusterwright.edge.ssh import Ssh
    from clusterwright.errors import EXIT_USAGE, WrightError

    if not is_host_name(control):
        raise WrightError.from_code(
            "adopt-source",
            _("`{host}` is not a host", host=control),
            _("pass --control HOST or --control USER@HOST"),
            exit_code=EXIT_USAGE,
        )
    user, _separator, host = control.rpartition("@")
    return gather(Ssh(user=user or None), host, expanded(hosts) or ())


def _show_rest(site: Site) -> None:
    """Print how many lines the cluster file does not hold, and where its slurm.conf would mean something else."""
    from clusterwright.cli._show import show_message, show_note

    hosts = _n("{count} host", "{count} hosts", len(site.cluster.hosts()))
    show_message(_("cluster `{name}`: {hosts}", name=site.cluster.name, hosts=hosts))
    for difference in site.differences:
        show_note(_("a slurm.conf of this file would differ: {difference}", difference=difference))
    if count := len(site.adopted.left_out):
        show_note(
            _n(
                "{count} line of the site's files is not in the file; its end lists it with the reason",
                "{count} lines of the site's files are not in the file; its end lists them with the reasons",
                count,
            )
        )
    if site.adopted.placeholders:
        show_note(_("fields with placeholders: {fields}", fields=", ".join(site.adopted.placeholders)))
