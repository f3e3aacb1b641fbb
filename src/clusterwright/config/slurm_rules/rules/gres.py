"""Generic resources (GRES) in slurm.conf: GresTypes, and Gres= of nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf, gres_of
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_SHARED = ("mps", "shard")


@rule(
    Severity.ERROR,
    "slurm.conf(5), GresTypes",
    wrong="NodeName=n1 Gres=gpu:4",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:4",
)
def gres_types_missing(conf: SlurmConf) -> Iterator[Problem]:
    """GresTypes names each GRES of a node; Slurm knows no other, and rejects jobs that request it."""
    defined, reported = set(conf.items("GresTypes")), set()
    for node in conf.nodes:
        for name, _type, _n in gres_of(node):
            if name not in defined and name not in reported and not conf.has_unread:
                reported.add(name)
                message = _("the node has Gres={name}, but GresTypes does not name it", name=name)
                yield Problem(node, message, f"GresTypes={','.join((*conf.items('GresTypes'), name))}")


@rule(
    Severity.NOTE,
    "slurm.conf(5), GresTypes",
    wrong="GresTypes=gpu,nic\nNodeName=n1 Gres=gpu:4",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:4",
)
def gres_type_unused(conf: SlurmConf) -> Iterator[Problem]:
    """Each GRES of GresTypes is on a node; jobs cannot get one that no NodeName line has."""
    setting = conf.line_of("GresTypes")
    used = {name for node in conf.nodes for name, _type, _n in gres_of(node)}
    for name in setting.items if setting and conf.nodes and not conf.has_unread else ():
        if name not in used:
            message = _("no NodeName line has Gres={name}", name=name)
            yield Problem(setting or conf.top("GresTypes"), message, f"NodeName=n1 Gres={name}:1")


@rule(
    Severity.ERROR,
    "slurm.conf(5), Gres",
    wrong="GresTypes=gpu\nNodeName=n1 Gres=gpu:a100:2,gpu:2",
    correct="GresTypes=gpu\nNodeName=n1 Gres=gpu:a100:2,gpu:a30:2",
)
def gres_partly_typed(conf: SlurmConf) -> Iterator[Problem]:
    """All GRES of a name on a node have a type, or none: slurmd does not start otherwise."""
    for node in conf.nodes:
        kinds: dict[str, set[bool]] = defaultdict(set)
        for name, type_, _n in gres_of(node):
            kinds[name].add(bool(type_))
        for name in [name for name, typed in kinds.items() if len(typed) > 1]:
            message = _("some {name} of the node have a type, others do not", name=name)
            yield Problem(node, message, f"NodeName={node.name} Gres={name}:a100:2,{name}:a30:2")


@rule(
    Severity.ERROR,
    "gres.conf(5), DESCRIPTION",
    wrong="SelectType=select/linear\nGresTypes=gpu,shard\nNodeName=n1 Gres=gpu:1,shard:8",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu,shard\n"
    "NodeName=n1 Gres=gpu:1,shard:8",
)
def shared_gres_linear(conf: SlurmConf) -> Iterator[Problem]:
    """GRES mps and shard need select/cons_tres: slurmctld does not start otherwise."""
    setting = conf.line_of("GresTypes")
    if (
        setting
        and set(setting.items) & set(_SHARED)
        and conf.plugin("SelectType", "cons_tres") != "cons_tres"
    ):
        message = _("mps and shard need select/cons_tres")
        yield Problem(setting, message, "SelectType=select/cons_tres")


@rule(
    Severity.ERROR,
    "gres.conf(5), Name",
    wrong="GresTypes=shard\nNodeName=n1 Gres=shard:8",
    correct="GresTypes=gpu,shard\nNodeName=n1 Gres=gpu:1,shard:8",
)
def shared_gres_without_gpu(conf: SlurmConf) -> Iterator[Problem]:
    """GRES mps and shard are parts of GPUs, so that GresTypes names gpu as well: Slurm does not start otherwise."""
    setting = conf.line_of("GresTypes")
    if setting and set(setting.items) & set(_SHARED) and "gpu" not in setting.items:
        yield Problem(
            setting, _("GresTypes lacks gpu, which mps and shard are parts of"), "GresTypes=gpu,shard"
        )


@rule(
    Severity.WARNING,
    "slurm.conf(5), SelectType",
    wrong="SelectType=select/linear\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4",
)
def gres_linear(conf: SlurmConf) -> Iterator[Problem]:
    """Nodes with GRES use select/cons_tres; select/linear is not made to track them."""
    setting = conf.line_of("SelectType")
    has_shared = set(conf.items("GresTypes")) & set(_SHARED)
    if (
        setting
        and conf.plugin("SelectType", "") == "linear"
        and not has_shared
        and any(map(gres_of, conf.nodes))
    ):
        message = _("select/linear does not track GRES of a node; jobs get whole nodes")
        yield Problem(setting, message, "SelectType=select/cons_tres")
