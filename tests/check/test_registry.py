"""A file dropped in is registered by being there, under its own name."""

import re
from pathlib import Path

import pytest

import clusterwright.check.checks
import clusterwright.check.facts
from clusterwright.check.reference import reference
from clusterwright.check.registry import all_checks, all_facts


def files(package):
    """The modules of a folder, by name."""
    return {path.stem for path in Path(package.__path__[0]).glob("[a-z]*.py")}


def test_every_file_is_a_check_or_a_fact_of_its_own_name():
    """Module name = function name = id."""
    assert {each.id for each in all_checks()} == files(clusterwright.check.checks)
    assert {each.id for each in all_facts()} == files(clusterwright.check.facts)


@pytest.mark.parametrize("each", all_checks(), ids=lambda each: each.id)
def test_a_check_says_what_holds_and_what_to_do(each):
    """One sentence, and a fix; a prolog check never asks slurmctld, which may be waiting for the prolog."""
    assert re.fullmatch(r"[A-Z/].*\.", each.about)
    assert each.fix
    assert "deploy" in each.on
    assert "prolog" not in each.on or not {"slurmctld_ping", "slurm_nodes"} & {fact.id for fact in each.needs}


def test_every_fact_is_needed():
    """A fact that no check looks at costs every host time for nothing."""
    needed = {
        fact.id for each in all_checks() for one in each.needs for fact in (one, one.depends_on) if fact
    }

    assert {each.id for each in all_facts()} <= needed


def test_the_reference_holds_every_check_with_its_mend():
    """What `reference()` makes is a whole page: nothing in it has to be kept up by hand."""
    page = reference()

    assert all(f"## {each.id}\n\n{each.about}\n" in page and each.fix in page for each in all_checks())
