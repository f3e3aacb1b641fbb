"""Rules about self-healing: mode, allowed actions, spare hosts."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash, names, unknown
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _

_DOES = ("approve", "act")


def heal(cluster: Cluster) -> Iterator[Clash]:
    """Check that only modes that act allow actions, actions on drained hosts have `drain`, and spares exist."""
    yield from _mode(cluster)
    yield from _drain(cluster)
    yield from _spares(cluster)


def _mode(cluster: Cluster) -> Iterator[Clash]:
    ours = cluster.heal
    locs = (("heal", "allow"), ("heal", "mode"))
    if ours.allow and ours.mode not in _DOES:
        yield Clash(
            "heal-allow-unused",
            _(
                "heal.allow has {actions}, but mode `{mode}` runs none",
                actions=names(ours.allow),
                mode=ours.mode,
            ),
            _(
                "set heal.mode to act (or to approve, which requires an approval for each action), or remove allow"
            ),
            locs,
        )
    if ours.mode in _DOES and not ours.allow:
        yield Clash(
            "heal-nothing-allowed",
            _("heal.mode is `{mode}`, but heal.allow has no actions", mode=ours.mode),
            _("list allowed actions, such as allow: [restart-service, drain], or set mode to propose"),
            locs[::-1],
        )
    if ours.watch and ours.mode == "none":
        yield Clash(
            "heal-watch-off",
            _("heal.watch is true, but heal.mode is none"),
            _("set heal.mode to propose, approve or act, or remove watch"),
            (("heal", "watch"), ("heal", "mode")),
        )


def _drain(cluster: Cluster) -> Iterator[Clash]:
    allow = cluster.heal.allow
    actions = [action for action in allow if action in ("reset-gpu", "reboot", "replace")]
    if actions and "drain" not in allow:
        yield Clash(
            "heal-without-drain",
            _(
                "heal.allow has {actions} without drain, but these actions need a drained host",
                actions=names(actions),
            ),
            _("add drain, or remove {actions}", actions=names(actions)),
            (("heal", "allow"),),
        )


def _spares(cluster: Cluster) -> Iterator[Clash]:
    ours, saving = cluster.heal, cluster.slurm.power_saving
    compute = [name for group in cluster.nodes.values() if group.role == "compute" for name in group.names()]
    for index, name in enumerate(ours.spares):
        if name not in compute:
            yield unknown(
                "heal.spares", _("compute host"), name, compute, (("heal", "spares", index), ("nodes",))
            )
    if "replace" in ours.allow and not ours.spares and (saving is None or saving.provider is None):
        yield Clash(
            "heal-no-spare",
            _("heal.allow has replace, but the cluster has no spare hosts"),
            _("list hosts in heal.spares, or set slurm.power_saving with a provider, or remove replace"),
            (("heal", "allow"), ("heal", "spares")),
        )
