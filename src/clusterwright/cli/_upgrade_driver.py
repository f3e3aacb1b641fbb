"""How the driver is brought to another version: the file first, then host by host, each drained and rebooted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from clusterwright.cli import _apply
from clusterwright.cli._care import Gently
from clusterwright.cli._members import Asked
from clusterwright.cli._show import say
from clusterwright.config.load import source_of
from clusterwright.config.reader import read
from clusterwright.edge.files import write_whole
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.edit import put
from clusterwright.provision.change.fields import Said
from clusterwright.provision.report import Report


def upgrade_driver(path: Path, version: str, gently: Gently, asked: Asked) -> int:
    """Like an apply with --reboot of the file that has the new version, which is written once it is agreed to.

    Raises:
        WrightError: the packages are not ours to install, or the file would not be a good one.
    """
    before = Said.of(source_of(path))
    if before.cluster.software.nvidia is None:
        raise WrightError.of(
            "upgrade-not-ours",
            f"{path} has no software.nvidia, so the driver is not installed by us",
            "add `nvidia: {repository: NAME}` under software, and apply; or upgrade it as it was installed",
            exit_code=EXIT_USAGE,
        )
    text = put(before.source.text, ("software", "driver"), version)
    after = Said.of(read(text, str(path)))
    remote = remote_of(after.cluster)
    asking = _apply.Asking(yes=asked.yes, quiet=asked.json, gently=replace(gently, reboot=True))
    care = _apply.care(replace(gently, reboot=True), after.cluster, remote)

    def write() -> None:
        if text != path.read_text(encoding="utf-8"):
            write_whole(path, text, mode=path.stat().st_mode & 0o777)
            say(f"{path}: software.driver is {version}")

    def agree(report: Report) -> bool:
        agreed = asking(report)
        if agreed:
            write()
        return agreed

    report = apply(after.cluster, str(path), remote, dry_run=asked.dry_run, agree=agree, care=care)
    if report.ok and not report.pending and not asked.dry_run:
        write()  # every host had it already
    again = f"wright apply {path} --reboot"
    _apply.show(report, again, after=f"wright check {path}", shown=asking.shown, json=asked.json)
    return _apply.exit_of(report, exit_code=False)
