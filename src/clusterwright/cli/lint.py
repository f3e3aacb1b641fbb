"""`wright lint FILE --slurm VERSION`."""

from __future__ import annotations

from pathlib import Path


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
    from clusterwright.cli._show import say, show_json
    from clusterwright.config.load import text_of
    from clusterwright.config.slurm_keys import RELEASES, known_keys, release
    from clusterwright.config.slurm_keys import lint as look
    from clusterwright.errors import EXIT_DONE, EXIT_FAULTS_FOUND, EXIT_USAGE, WrightError

    of, text = release(slurm), text_of(file)
    if not known_keys(file.name) or of not in RELEASES:
        raise WrightError.of(
            "lint-unknown",
            f"we have no table of keys for {file.name} of Slurm {of}",
            "name slurm.conf, gres.conf, cgroup.conf, topology.conf, oci.conf or slurmdbd.conf;"
            f" one of {', '.join(RELEASES)}",
            exit_code=EXIT_USAGE,
        )
    found = look(text, file.name, of)
    if json:
        show_json({"file": str(file), "slurm": of, "findings": found})
    for finding in () if json else found:
        print(f"{file}:{finding.line}: {finding.key}: {finding.what}")  # noqa: T201 (data)
    if not json:
        say(f"{file}: {len(found) or 'no'} {'finding' if len(found) == 1 else 'findings'} for Slurm {of}")
    return EXIT_FAULTS_FOUND if found else EXIT_DONE
