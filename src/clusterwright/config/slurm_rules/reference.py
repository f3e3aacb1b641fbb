"""The reference page of the rules of `wright lint` (docs/reference/lint.md), generated from the rules."""

from __future__ import annotations

import inspect
import re
from itertools import groupby

from clusterwright.config.slurm_rules.registry import LintRule, all_rules

_HEAD = """# Rules for Slurm's files

`wright lint /etc/slurm` reads a folder with slurm.conf, gres.conf, cgroup.conf, topology.conf or topology.yaml,
slurmdbd.conf, oci.conf, mpi.conf, acct_gather.conf, job_container.conf, helpers.conf and burst_buffer.conf, and the
files that they include; `wright lint slurm.conf gres.conf` reads only these.
`wright explain CODE` prints a rule with its example, wrong and corrected.
It checks each key against the tables of a Slurm release (`--slurm 25.11`; default: the newest), and all files against
the rules of this page. A finding has a file and line, the rule's code, and the right line.

- `error`: slurmctld, slurmd or slurmdbd does not start, or jobs fail.
- `warning`: Slurm ignores a line, or does not do what the line was written for.
- `note`: Slurm works as its manual has it, with a consequence that is often overlooked.

Exit code 5: there are errors or warnings. Exit code 0: there are none; notes alone do not change it.
Rules about missing lines apply to whole files, not to fragments without nodes, partitions or ClusterName.
`--root DIR` searches programs such as prologs in the file system of a host, `--resolve` resolves names of controllers;
on a host of the cluster both are the default.
"""


def rules_page() -> str:
    """Return the page of all rules as Markdown."""
    groups = groupby(all_rules(), key=lambda rule: rule.group)
    return _HEAD + "".join(_group(group, tuple(rules)) for group, rules in groups)


def _group(group: str, rules: tuple[LintRule, ...]) -> str:
    about = inspect.getdoc(inspect.getmodule(rules[0].find))
    return f"\n## {group}\n\n{about}\n" + "".join(map(_section, rules))


def rule_page(code: str) -> str | None:
    """Return one rule as Markdown, with its example wrong and corrected; None if no rule has the code."""
    rules = [rule for rule in all_rules() if rule.code == code]
    if not rules:
        return None
    correct = _block(rules[0].correct)
    return _section(rules[0], "#").lstrip() + (f"\nCorrected:\n{correct}" if correct else "")


def _section(rule: LintRule, level: str = "###") -> str:
    head = f"\n{level} {rule.code}\n\n{rule.about}\n\n{rule.severity.value.capitalize()}; {rule.source}.\n"
    return head + _block(rule.wrong)


def _block(text: str) -> str:
    """Return the files of an example as a block of code; "" for an example without a text."""
    files = [f"# {name}\n{body.strip()}" for name, body in example_files(text).items() if body.strip()]
    return "\n```ini\n{}\n```\n".format("\n".join(files)) if files else ""


def example_files(text: str) -> dict[str, str]:
    """Return the texts of an example by file: slurm.conf, and those behind lines such as `--- gres.conf`."""
    head, *sections = re.split(r"^--- (\S+)\n", text + "\n", flags=re.MULTILINE)
    files = dict(zip(sections[::2], sections[1::2], strict=True))
    return {"slurm.conf": head, **files} if head.strip() else files
