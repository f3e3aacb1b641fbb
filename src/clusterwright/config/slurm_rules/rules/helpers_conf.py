"""Features that a program changes: helpers.conf of the plug-in node_features/helpers."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import ConfEntry, SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_FILE = "helpers.conf"
_PLUGIN = "NodeFeaturesPlugins=node_features/helpers"
_LINE = "Feature=nps1,nps2 Helper=/usr/local/bin/nps"


def _lines(conf: SlurmConf) -> Iterator[tuple[ConfEntry, tuple[str, ...]]]:
    for entry in conf.entries_of("Feature", _FILE):
        yield entry, _names(entry.name)
    for entry in conf.entries_of("NodeName", _FILE):
        yield entry, _names(entry.get("Feature"))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@rule(
    Severity.WARNING,
    "helpers.conf(5), EXAMPLE",
    wrong=f"ClusterName=c\n--- helpers.conf\n{_LINE}",
    correct=f"{_PLUGIN}\nRebootProgram=/sbin/reboot\nResumeTimeout=900\n--- helpers.conf\n{_LINE}",
)
def helpers_unused(conf: SlurmConf) -> Iterator[Problem]:
    """helpers.conf is read with NodeFeaturesPlugins=node_features/helpers only."""
    lines = [entry for entry, _features in _lines(conf)]
    if (
        lines
        and "slurm.conf" in conf.files
        and not conf.has_unread
        and "helpers" not in conf.plugins("NodeFeaturesPlugins")
    ):
        yield Problem(lines[0], _("no plug-in of slurm.conf reads the file"), _PLUGIN)


@rule(
    Severity.ERROR,
    "helpers.conf(5), Feature",
    wrong="--- helpers.conf\nFeature=nps1,nps2",
    correct=f"--- helpers.conf\n{_LINE}",
)
def helper_missing(conf: SlurmConf) -> Iterator[Problem]:
    """Each feature has a Helper, the program that slurmd runs; only the controller needs the names alone."""
    for entry, features in _lines(conf):
        if features and not entry.has("Helper"):
            message = _("{feature} has no Helper", feature=features[0])
            yield Problem(entry, message, f"Feature={','.join(features)} Helper=/usr/local/bin/PROGRAM")


@rule(
    Severity.WARNING,
    "helpers.conf(5), Helper",
    wrong=f"{_PLUGIN}\n--- helpers.conf\n{_LINE}",
    correct=f"{_PLUGIN}\nRebootProgram=/sbin/reboot\nResumeTimeout=900\n--- helpers.conf\n{_LINE}",
)
def helpers_without_reboot(conf: SlurmConf) -> Iterator[Problem]:
    """A change of features needs RebootProgram, unless the line has Flags=rebootless."""
    setting = conf.line_of("NodeFeaturesPlugins")
    needs = [entry for entry, _names in _lines(conf) if "rebootless" not in entry.get("Flags").lower()]
    if setting and needs and not conf.has_unread and not conf.get("RebootProgram"):
        yield Problem(
            needs[0],
            _("nodes are rebooted for these features, and no program does it"),
            "RebootProgram=/sbin/reboot",
        )


@rule(
    Severity.WARNING,
    "helpers.conf(5), MutuallyExclusive",
    wrong=f"--- helpers.conf\n{_LINE}\nMutuallyExclusive=nps1,nps4",
    correct=f"--- helpers.conf\n{_LINE}\nMutuallyExclusive=nps1,nps2",
)
def exclusive_feature_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """The features of MutuallyExclusive are features of a line."""
    defined = {name for _entry, features in _lines(conf) for name in features}
    for setting in conf.settings.get(_FILE, {}).get("mutuallyexclusive", ()):
        unknown = [name for name in _names(setting.value) if name not in defined]
        if unknown and defined:
            yield Problem(
                setting,
                _("no line has the feature {name}", name=unknown[0]),
                "MutuallyExclusive=" + ",".join(sorted(defined)),
            )


@rule(
    Severity.ERROR,
    "helpers.conf(5), Feature",
    wrong="--- helpers.conf\nFeature=nps1 Helper=/usr/local/bin/nps\nFeature=nps1,nps2 Helper=/opt/nps",
    correct="--- helpers.conf\nFeature=nps1 Helper=/usr/local/bin/nps\nFeature=nps2 Helper=/opt/nps",
)
def feature_of_two_helpers(conf: SlurmConf) -> Iterator[Problem]:
    """A feature has one Helper on all nodes of a line; slurmd rejects the file of a second one."""
    helpers: dict[str, str] = {}
    for entry in conf.entries_of("Feature", _FILE):
        for name in _names(entry.name):
            if helpers.setdefault(name, entry.get("Helper")) != entry.get("Helper"):
                message = _("{feature} has the Helper {helper} already", feature=name, helper=helpers[name])
                yield Problem(entry, message, f"Feature={name} Helper={helpers[name]}")
                return
