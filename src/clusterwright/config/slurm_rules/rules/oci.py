"""Slurm's own containers: oci.conf, which has the commands of a container runtime."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_FILE = "oci.conf"
_RUN = 'RunTimeRun="crun run %n.%u.%j.%s.%t -b %b"\nRunTimeKill="crun kill -a %n.%u.%j.%s.%t"\n'
_DELETE = 'RunTimeDelete="crun delete --force %n.%u.%j.%s.%t"'
_CREATE = ("RunTimeCreate", "RunTimeStart")
_NEEDED = {
    "RunTimeRun": ("RunTimeKill", "RunTimeDelete"),
    "RunTimeCreate": ("RunTimeStart", "RunTimeKill", "RunTimeDelete", "RunTimeQuery"),
}


def _is_checked(conf: SlurmConf) -> bool:
    """Return whether Slurm checks the commands: not with IgnoreFileConfigJson."""
    return _FILE in conf.files and not conf.has_unread and not conf.is_yes("IgnoreFileConfigJson", _FILE)


@rule(
    Severity.ERROR,
    "oci.conf(5), RunTimeRun",
    wrong=f'--- oci.conf\n{_RUN}{_DELETE}\nRunTimeCreate="crun create %n.%u.%j.%s.%t -b %b"',
    correct=f"--- oci.conf\n{_RUN}{_DELETE}",
)
def oci_run_and_create(conf: SlurmConf) -> Iterator[Problem]:
    """RunTimeRun is set, or RunTimeCreate with RunTimeStart, not both: Slurm rejects the file otherwise."""
    if _is_checked(conf) and conf.line_of("RunTimeRun", _FILE):
        for key in _CREATE:
            if setting := conf.line_of(key, _FILE):
                yield Problem(setting, _("RunTimeRun and {key} exclude each other", key=key), remove(setting))
                return


@rule(
    Severity.ERROR,
    "oci.conf(5), RunTimeRun",
    wrong=f"--- oci.conf\n{_RUN}",
    correct=f"--- oci.conf\n{_RUN}{_DELETE}",
)
def oci_command_missing(conf: SlurmConf) -> Iterator[Problem]:
    """RunTimeRun needs RunTimeKill and RunTimeDelete; RunTimeCreate also RunTimeStart and RunTimeQuery."""
    if not _is_checked(conf) or all(conf.line_of(key, _FILE) for key in ("RunTimeRun", "RunTimeCreate")):
        return
    for key, needed in _NEEDED.items():
        setting = conf.line_of(key, _FILE)
        for name in needed if setting else ():
            if setting and not conf.line_of(name, _FILE):
                yield Problem(setting, _("{key} needs {name}", key=key, name=name), f'{name}="crun ..."')
                return


@rule(
    Severity.ERROR,
    "oci.conf(5), CreateEnvFile",
    wrong=f"--- oci.conf\n{_RUN}{_DELETE}\nCreateEnvFile=zero",
    correct=f"--- oci.conf\n{_RUN}{_DELETE}\nCreateEnvFile=null",
)
def oci_env_file_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """CreateEnvFile is null, newline or disabled: Slurm rejects the file otherwise."""
    setting = conf.line_of("CreateEnvFile", _FILE)
    choices = ("null", "newline", "disabled", "true", "false", "yes", "no", "y", "n", "1", "0")
    if setting and setting.value.lower() not in choices:
        message = _("{value} is none of {words}", value=setting.value, words=", ".join(choices[:3]))
        yield Problem(setting, message, "CreateEnvFile=null")
