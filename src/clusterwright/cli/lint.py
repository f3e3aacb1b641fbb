"""`wright lint FILE --slurm VERSION`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _, _n


def lint(file: Path, /, *, slurm: str, json: bool = False) -> int:
    """Check a Slurm configuration file for keys that a Slurm release rejects, without contacting Slurm.

    Slurm's daemons do not start with an unknown key. Values are checked only for words that a release added or removed.

    Parameters
    ----------
    file
        slurm.conf, gres.conf, cgroup.conf, topology.conf, oci.conf or slurmdbd.conf, in any folder.
    slurm
        Slurm release, such as 25.11.
    json
        Print the findings as one JSON document on stdout.
    """
    from clusterwright.cli._show import show_json, show_message, show_text
    from clusterwright.config.load import text_of
    from clusterwright.config.slurm_keys import RELEASES, key_spans, release
    from clusterwright.config.slurm_keys import lint as lint_text
    from clusterwright.errors import EXIT_FAULTS, EXIT_OK, EXIT_USAGE, WrightError

    version, text = release(slurm), text_of(file)
    if not key_spans(file.name) or version not in RELEASES:
        raise WrightError.from_code(
            "lint-unknown",
            _("the keys of {file} in Slurm {version} are not known", file=file.name, version=version),
            _(
                "pass slurm.conf, gres.conf, cgroup.conf, topology.conf, oci.conf or slurmdbd.conf, and a release of "
                "{releases}",
                releases=", ".join(RELEASES),
            ),
            exit_code=EXIT_USAGE,
        )
    findings = lint_text(text, file.name, version)
    if json:
        show_json({"file": str(file), "slurm": version, "findings": findings})
    for finding in () if json else findings:
        show_text(f"{file}:{finding.line}: {finding.key}: {finding.message}")
    if not json:
        show_message(
            _n(
                "{file}: {count} finding for Slurm {version}",
                "{file}: {count} findings for Slurm {version}",
                len(findings),
                file=file,
                version=version,
            )
        )
    return EXIT_FAULTS if findings else EXIT_OK
