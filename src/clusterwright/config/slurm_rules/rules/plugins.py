"""Names of plugins: those of the releases of Slurm. A site may have plugins of its own."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_keys import value_spans
from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.errors import closest_name
from clusterwright.i18n import _

_KEYS = (
    "AccountingStorageType AuthType CgroupPlugin CredType JobAcctGatherType JobCompType JobContainerType"
    " NamespaceType PreemptType PriorityType ProctrackType SchedulerType SelectType SwitchType TaskPlugin"
    " TopologyPlugin"
)


@rule(
    Severity.ERROR,
    "slurm.conf(5)",
    wrong="ProctrackType=proctrack/cgroups",
    correct="ProctrackType=proctrack/cgroup",
)
def plugin_misspelled(conf: SlurmConf) -> Iterator[Problem]:
    """A plugin is one of Slurm's or a site's own: the daemons do not start with a misspelled name."""
    for key in _KEYS.split():
        file = "cgroup.conf" if key == "CgroupPlugin" else "slurm.conf"
        setting = conf.line_of(key, file)
        spans = value_spans(key)
        for word in setting.value.split(",") if setting else ():
            name = word.strip().lower()
            if not setting or name in spans or any(full.endswith(f"/{name}") for full in spans):
                continue
            names = {
                span.name.partition("/")[2]: span.name
                for span in spans.values()
                if span.covers(conf.slurm_release)
            }
            if closest := closest_name(name.rpartition("/")[2], names):
                message = _("{key} has no plugin {name}", key=key, name=word.strip())
                yield Problem(
                    setting, message, f"{key}={setting.value.replace(word.strip(), names[closest])}"
                )
