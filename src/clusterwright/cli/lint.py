"""`wright lint FILE --slurm VERSION`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _


def lint(file: Path, /, *, slurm: str, json: bool = False) -> int:
    """Say what a release of Slurm would not take in one of its files, touching no Slurm.

    An unknown key ends every daemon of Slurm's at its start. Of values, only words that came or went are known.

    Parameters
    ----------
    file
        slurm.conf, gres.conf, cgroup.conf, topology.conf, oci.conf or slurmdbd.conf; any folder.
    slurm
        The release, such as 25.11.
    json
        The findings as one JSON document on stdout.
    """
    from clusterwright.cli._show import show_json, show_message
    from clusterwright.config.load import text_of
    from clusterwright.config.slurm_keys import RELEASES, key_spans, release
    from clusterwright.config.slurm_keys import lint as lint_text
    from clusterwright.errors import EXIT_FAULTS, EXIT_OK, EXIT_USAGE, WrightError

    version, text = release(slurm), text_of(file)
    if not key_spans(file.name) or version not in RELEASES:
        raise WrightError.from_code(
            "lint-unknown",
            _("we have no table of keys for {file} of Slurm {version}", file=file.name, version=version),
            _(
                "name slurm.conf, gres.conf, cgroup.conf, topology.conf, oci.conf or slurmdbd.conf; "
                "one of {releases}",
                releases=", ".join(RELEASES),
            ),
            exit_code=EXIT_USAGE,
        )
    findings = lint_text(text, file.name, version)
    if json:
        show_json({"file": str(file), "slurm": version, "findings": findings})
    for finding in () if json else findings:
        print(f"{file}:{finding.line}: {finding.key}: {finding.message}")  # noqa: T201 (data)
    if not json:
        show_message(
            _(
                "{file}: {count} {ending} for Slurm {version}",
                file=file,
                count=len(findings) or "no",
                ending="finding" if len(findings) == 1 else "findings",
                version=version,
            )
        )
    return EXIT_FAULTS if findings else EXIT_OK
