"""Burst buffers: burst_buffer.conf of the plug-ins lua and datawarp."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_FILE = "burst_buffer.conf"
_LUA = "BurstBufferType=burst_buffer/lua"
_MESSAGE_S, _VALIDATE_S = 10, 5  # slurm.conf(5) and burst_buffer.conf(5)
_LONGEST_S = 2_073_600  # 24 days, the limit of the plug-in lua
_TIMEOUTS = ("OtherTimeout", "StageInTimeout", "StageOutTimeout")


@rule(
    Severity.WARNING,
    "burst_buffer.conf(5), AllowUsers",
    wrong=f"{_LUA}\n--- burst_buffer.conf\nAllowUsers=ann\nDenyUsers=bob",
    correct=f"{_LUA}\n--- burst_buffer.conf\nAllowUsers=ann",
)
def users_allowed_and_denied(conf: SlurmConf) -> Iterator[Problem]:
    """AllowUsers and DenyUsers are not both set."""
    allow, deny = conf.line_of("AllowUsers", _FILE), conf.line_of("DenyUsers", _FILE)
    if allow and deny:
        yield Problem(deny, _("AllowUsers and DenyUsers exclude each other"), remove(deny))


@rule(
    Severity.WARNING,
    "burst_buffer.conf(5), ValidateTimeout",
    wrong="BurstBufferType=burst_buffer/datawarp\n--- burst_buffer.conf\nValidateTimeout=30",
    correct="BurstBufferType=burst_buffer/datawarp\nMessageTimeout=60\n--- burst_buffer.conf\nValidateTimeout=30",
)
def validation_longer_than_messages(conf: SlurmConf) -> Iterator[Problem]:
    """ValidateTimeout is less than MessageTimeout (default: 10 s); otherwise submissions time out."""
    setting = conf.line_of("ValidateTimeout", _FILE)
    limit = conf.number("MessageTimeout", _MESSAGE_S)
    is_long = conf.number("ValidateTimeout", _VALIDATE_S, _FILE) >= limit
    has_limit = "slurm.conf" in conf.files and not conf.has_unread
    if setting and is_long and has_limit and "lua" not in conf.plugins("BurstBufferType"):
        message = _("submissions end after {seconds} s (MessageTimeout)", seconds=limit)
        yield Problem(setting, message, f"ValidateTimeout={_VALIDATE_S}")


@rule(
    Severity.WARNING,
    "burst_buffer.conf(5), ValidateTimeout",
    wrong=f"{_LUA}\n--- burst_buffer.conf\nValidateTimeout=5",
    correct=f"{_LUA}\n--- burst_buffer.conf\nStageInTimeout=3600",
)
def validation_of_lua(conf: SlurmConf) -> Iterator[Problem]:
    """The plug-in lua does not use ValidateTimeout: its validation cannot be ended."""
    setting = conf.line_of("ValidateTimeout", _FILE)
    if setting and "lua" in conf.plugins("BurstBufferType"):
        yield Problem(setting, _("the plug-in lua does not use ValidateTimeout"), remove(setting))


@rule(
    Severity.WARNING,
    "burst_buffer.conf(5), StageInTimeout",
    wrong=f"{_LUA}\n--- burst_buffer.conf\nStageInTimeout=2592000",
    correct=f"{_LUA}\n--- burst_buffer.conf\nStageInTimeout=86400",
)
def staging_too_long(conf: SlurmConf) -> Iterator[Problem]:
    """A timeout of the plug-in lua is at most 2,073,600 s (24 days); Slurm takes that for a longer one."""
    for key in _TIMEOUTS if "lua" in conf.plugins("BurstBufferType") else ():
        setting = conf.line_of(key, _FILE)
        if setting and conf.number(key, 0, _FILE) > _LONGEST_S:
            yield Problem(
                setting, _("the plug-in lua has at most {seconds} s", seconds=_LONGEST_S), f"{key}=86400"
            )


@rule(
    Severity.WARNING,
    "burst_buffer.conf(5), DESCRIPTION",
    wrong="ClusterName=c\n--- burst_buffer.conf\nStageInTimeout=3600",
    correct=f"{_LUA}\n--- burst_buffer.conf\nStageInTimeout=3600",
)
def burst_buffer_unused(conf: SlurmConf) -> Iterator[Problem]:
    """burst_buffer.conf is read with BurstBufferType only."""
    lines = next(iter(conf.settings.get(_FILE, {}).values()), ())
    if lines and "slurm.conf" in conf.files and not conf.has_unread and not conf.get("BurstBufferType"):
        yield Problem(lines[0], _("no plug-in of slurm.conf reads the file"), _LUA)
