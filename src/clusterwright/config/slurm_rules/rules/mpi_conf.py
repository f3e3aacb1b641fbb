"""MPI: mpi.conf, which only the plug-in PMIx reads."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_FILE = "mpi.conf"
_FENCES = ("mixed", "tree", "ring")
_OF_CONNECTIONS = ("PMIxDirectConnEarly", "PMIxDirectConnUCX", "PMIxDirectSameArch")
_OF_UCX = ("PMIxNetDevicesUCX", "PMIxTlsUCX")


@rule(
    Severity.WARNING,
    "mpi.conf(5), PMIxCollFence",
    wrong="--- mpi.conf\nPMIxCollFence=Tree",
    correct="--- mpi.conf\nPMIxCollFence=tree",
)
def fence_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """PMIxCollFence is mixed, tree or ring, in lower case; Slurm ignores another word without a message."""
    setting = conf.line_of("PMIxCollFence", _FILE)
    if setting and setting.value not in _FENCES:
        message = _("{value} is none of {words}", value=setting.value, words=", ".join(_FENCES))
        yield Problem(setting, message, "PMIxCollFence=mixed")


@rule(
    Severity.WARNING,
    "mpi.conf(5), PMIxDirectConn",
    wrong="--- mpi.conf\nPMIxDirectConn=false\nPMIxDirectConnUCX=true",
    correct="--- mpi.conf\nPMIxDirectConn=true\nPMIxDirectConnUCX=true",
)
def direct_connections_off(conf: SlurmConf) -> Iterator[Problem]:
    """Settings of direct connections need PMIxDirectConn, which is on by default; without it they have no effect."""
    if not conf.line_of("PMIxDirectConn", _FILE) or conf.is_yes("PMIxDirectConn", _FILE):
        return
    for key in _OF_CONNECTIONS:
        setting = conf.line_of(key, _FILE)
        if setting and conf.is_yes(key, _FILE):
            yield Problem(
                setting, _("{key} has no effect without PMIxDirectConn", key=key), "PMIxDirectConn=true"
            )
            return


@rule(
    Severity.WARNING,
    "mpi.conf(5), PMIxDirectConnUCX",
    wrong="--- mpi.conf\nPMIxNetDevicesUCX=mlx5_0:1",
    correct="--- mpi.conf\nPMIxNetDevicesUCX=mlx5_0:1\nPMIxDirectConnUCX=true",
)
def ucx_off(conf: SlurmConf) -> Iterator[Problem]:
    """PMIxNetDevicesUCX and PMIxTlsUCX are for PMIx over UCX, which is off by default; they do not reach programs."""
    if conf.is_yes("PMIxDirectConnUCX", _FILE):
        return
    for key in _OF_UCX:
        if setting := conf.line_of(key, _FILE):
            yield Problem(
                setting, _("{key} has no effect without PMIxDirectConnUCX", key=key), "PMIxDirectConnUCX=true"
            )
            return


@rule(
    Severity.WARNING,
    "mpi.conf(5), PMIxEnv",
    wrong="--- mpi.conf\nPMIxEnv=PMIX_MCA_psec=native,PMIX_MCA_gds=hash",
    correct="--- mpi.conf\nPMIxEnv=PMIX_MCA_psec=native;PMIX_MCA_gds=hash",
)
def pmix_env_comma(conf: SlurmConf) -> Iterator[Problem]:
    """PMIxEnv separates variables by semicolons; after a comma the second one is a part of the value of the first."""
    setting = conf.line_of("PMIxEnv", _FILE)
    if setting and any("=" in part.partition("=")[2] and "," in part for part in setting.value.split(";")):
        message = _("a comma does not separate variables in PMIxEnv")
        yield Problem(setting, message, f"PMIxEnv={setting.value.replace(',', ';')}")


@rule(
    Severity.NOTE,
    "mpi.conf(5), PMIxDebug",
    wrong="--- mpi.conf\nPMIxDebug=1",
    correct="--- mpi.conf\nPMIxTimeout=300",
)
def pmix_debug(conf: SlurmConf) -> Iterator[Problem]:
    """PMIxDebug is off in service: with it each step of each job writes the debug output of PMIx to files."""
    setting = conf.line_of("PMIxDebug", _FILE)
    if setting and conf.number("PMIxDebug", 0, _FILE):
        yield Problem(setting, _("each step writes the debug output of PMIx"), remove(setting))
