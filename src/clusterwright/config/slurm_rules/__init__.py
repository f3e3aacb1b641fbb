"""What Slurm's files mean together: the content of a site's files, and rules about it from Slurm's manual."""

from __future__ import annotations

from clusterwright.config.slurm_rules.conf import KINDS, ConfEntry, Setting, SlurmConf, Source, parse_conf
from clusterwright.config.slurm_rules.registry import RuleFinding, all_rules, check

__all__ = [
    "KINDS",
    "ConfEntry",
    "RuleFinding",
    "Setting",
    "SlurmConf",
    "Source",
    "all_rules",
    "check",
    "parse_conf",
]
