"""Each rule about Slurm's files finds its wrong example, and nothing in the corrected one."""

from dataclasses import replace

import pytest

from clusterwright.config.slurm_keys import RELEASES
from clusterwright.config.slurm_rules import KINDS, Source, all_rules, check, parse_conf
from clusterwright.config.slurm_rules.reference import example_files


def example_conf(text):
    """The content of an example.

    The sections `folder`, `includes`, `programs` and `unresolved` are no files: the example is a whole folder, files
    that do not exist, programs that a host lacks, and names that do not resolve.
    """
    files = example_files(text)
    includes = dict.fromkeys(files.get("includes", "").split(), ())
    sources = [Source(name, name, files[name], includes) for name in files if name in KINDS]
    return replace(
        parse_conf(sources, RELEASES[-1], is_folder="folder" in files),
        programs=dict(line.split(" ", 1) for line in files.get("programs", "").splitlines() if line),
        unresolved=frozenset(files.get("unresolved", "").split()),
    )


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_finds_its_wrong_example_only(rule):
    """The wrong example breaks this rule and no other; the corrected one breaks none."""
    assert {finding.code for finding in check(example_conf(rule.wrong))} == {rule.code}
    assert [str(finding) for finding in check(example_conf(rule.correct))] == []


def test_rules_have_codes_sources_and_reasons():
    """At least sixty rules, each with a code of its own, a page of Slurm's documentation and a sentence."""
    rules = all_rules()

    assert len(rules) >= 60
    assert len({rule.code for rule in rules}) == len(rules)
    assert [rule.code for rule in rules if not rule.source or not rule.about.endswith(".")] == []


@pytest.mark.parametrize(
    ("value", "correct"),
    [
        ("3d", "3-00:00:00"),
        ("5h", "05:00:00"),
        ("12H", "12:00:00"),
        ("1d12h", "1-12:00:00"),
        ("long", "1-00:00:00"),
    ],
)
def test_the_fix_of_a_time_with_units_is_the_same_time(value, correct):
    """A limit such as 3d is proposed as the same time in the form that Slurm reads; any other text as one day."""
    conf = example_conf(f"PartitionName=p Nodes=n1 MaxTime={value}")
    fixes = [finding.fix for finding in check(conf) if finding.code == "time-invalid"]
    assert fixes == [f"PartitionName=p MaxTime={correct}"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_fix_of_a_missing_gres_conf_is_correct_in_each_release(release):
    """The AutoDetect that a folder without gres.conf gets is one that the release has: nvidia came with 24.11."""
    text = "GresTypes=gpu\nNodeName=n1 Gres=gpu:4\n--- folder"
    conf = replace(example_conf(text), slurm_release=release)
    (fix,) = [finding.fix for finding in check(conf) if finding.code == "gres-conf-missing"]
    assert fix == ("AutoDetect=nvidia" if release >= "24.11" else "AutoDetect=nvml")
