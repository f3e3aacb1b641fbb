"""Forty configurations as sites have published them, renamed and shortened: what the linter finds is exactly this.

Each folder has a site's files and findings.txt: the Slurm release of its time, then each finding with severity, code
and place. Every finding was compared with the manual pages of Slurm.
"""

from pathlib import Path

import pytest

from clusterwright.config.slurm_keys.lint import lint
from clusterwright.config.slurm_rules import Source, check, parse_conf

SITES = sorted((Path(__file__).parent / "public").iterdir())


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_a_published_configuration_has_exactly_these_findings(site):
    """Keys against the release, and the rules."""
    release, *expected = (site / "findings.txt").read_text().splitlines()
    sources = [Source(path.name, path.name, path.read_text()) for path in sorted(site.glob("*.conf"))]
    keys = [f"key {one.key} {s.path}:{one.line}" for s in sources for one in lint(s.text, s.kind, release)]
    rules = [
        f"{one.severity} {one.code} {one.file}:{one.line}" for one in check(parse_conf(sources, release))
    ]

    assert keys + rules == expected


def test_there_are_enough_published_configurations():
    """At least thirty sites, most of them without an error."""
    errors = [site for site in SITES if "error " in (site / "findings.txt").read_text()]

    assert len(SITES) >= 30
    assert len(errors) < 5
