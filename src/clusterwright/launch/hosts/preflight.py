"""Check the hosts of a hostfile before a training starts on them; each problem names its host and its fix."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from clusterwright.config.job import Job
from clusterwright.edge.bundler import HOST_REACH, HOST_SURVEY, LOADER, program_input
from clusterwright.edge.host import Host
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import SSH_FAILED, Remote, fan_out, ssh_problem
from clusterwright.errors import Finding, WrightError
from clusterwright.i18n import _
from clusterwright.launch.hosts.hostfile import SlotHost
from clusterwright.launch.hosts.network import addresses_of, choose_network
from clusterwright.launch.lines.note import Note
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS, parse_document
from clusterwright.onhost.supervisor.job_fields import JobFields
from clusterwright.onhost.supervisor.network import FIRST_PORT, LAST_PORT

SURVEY_S, REACH_S = 30.0, 30.0
CLOCK_S = 2.0  # logs of all hosts are merged by time
_EXIT_NO_COMMAND = (126, 127)  # of a shell: it cannot be run, there is none


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a training cannot start on a host, and what to do."""

    host: str
    message: str
    fix: str

    def finding(self) -> Finding:
        """Return the problem as a finding of an error."""
        return Finding("hosts-unfit", f"{self.host}: {self.message}", self.fix)


@dataclass(frozen=True, slots=True)
class Preflight:
    """The network of a run, and what its user should know."""

    network: IPv4Network
    notes: tuple[Note, ...]


def check_hosts(
    hosts: Sequence[SlotHost], job: Job | JobFields, python: str, folder: Path, remotes: Mapping[str, Remote]
) -> Preflight:
    """Survey the hosts over SSH, and return the network that they share, with notes, if all are fit for the job.

    `folder` is that of the runs, which must exist. Ports between the hosts are tested, too.

    Raises:
        WrightError: `hosts-unfit` with every problem that was found.
    """
    token = f".{secrets.token_hex(8)}"
    (folder / token).touch()
    try:
        results = fan_out(
            [host.name for host in hosts],
            lambda name: _survey(remotes[name], name, python, str(folder), token),
        )
    finally:
        (folder / token).unlink(missing_ok=True)
    surveys = {name: result for name, result in results.items() if not isinstance(result, Problem)}
    problems = [result for result in results.values() if isinstance(result, Problem)]
    problems += [
        problem
        for name, survey in surveys.items()
        for problem in host_problems(name, survey, job, str(folder))
    ]
    problems += difference_problems(surveys)
    _require_none(problems)
    network = _network(surveys)
    _require_none(_unreached(remotes, surveys, network, python))
    return Preflight(network, tuple(notes_of(surveys, job)))


def host_problems(
    name: str, survey: Mapping[str, Any], job: Job | JobFields, folder: str
) -> Iterator[Problem]:
    """Yield a problem with its fix for each thing that a host lacks for the job, such as torch, GPUs or the folder.

    `survey` is what the program on that host reported.
    """
    if not survey["sees_token"]:
        yield Problem(
            name,
            _("the host does not see {folder} of this machine", folder=folder),
            _("choose a folder with --out that all hosts mount at the same path, on NFS for example"),
        )
    elif not survey["writes_folder"]:
        yield Problem(
            name,
            _(
                "the account has the user id {user} on this host, which cannot write {folder}",
                user=survey["user"],
                folder=folder,
            ),
            _("give the account the same user id on all hosts"),
        )
    if survey["torch"] is None:
        yield Problem(
            name, _("the host's Python has no PyTorch"), _("install torch on that host for the same Python")
        )
    if survey["gpus"] and len(survey["gpus"]) < job.gpus_per_node:
        yield Problem(
            name,
            _(
                "the host has {count} GPUs, the job needs {needed}",
                count=len(survey["gpus"]),
                needed=job.gpus_per_node,
            ),
            _("set `gpus_per_node`, or remove the host from the hostfile"),
        )
    if survey["ends_sessions"]:
        yield Problem(
            name,
            _("systemd ends all processes of a user with the session"),
            _("run `loginctl enable-linger` on the host once"),
        )


def difference_problems(surveys: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield a problem for each host whose version of Python or PyTorch, or whose GPUs, differ from the first host's."""
    if not surveys:
        return
    (reference, expected), *differing = surveys.items()
    for name, survey in differing:
        pairs = [
            ("Python", *(facts["python"].rpartition(".")[0] for facts in (survey, expected))),
            ("PyTorch", survey["torch"], expected["torch"]),
        ]
        for program, version, reference_version in pairs:
            if version and reference_version and version != reference_version:
                yield Problem(
                    name,
                    _(
                        "{program} {version} differs from {expected} on {reference}",
                        program=program,
                        version=version,
                        expected=reference_version,
                        reference=reference,
                    ),
                    _("install the same version, or put the environment on the shared folder"),
                )
        if bool(survey["gpus"]) != bool(expected["gpus"]):
            pair = (name, reference) if expected["gpus"] else (reference, name)
            yield Problem(
                pair[0],
                _("the host has no GPU, but {host} has", host=pair[1]),
                _("remove one of the two entries from the hostfile"),
            )


def notes_of(surveys: Mapping[str, Mapping[str, Any]], job: Job | JobFields) -> Iterator[Note]:
    """Yield notes on what works but may surprise: a clock that is off, mixed GPUs or drivers, no GPUs at all.

    `surveys` are the facts of each host by its name.
    """
    for name, survey in surveys.items():
        if abs(survey["skew_s"]) > CLOCK_S:
            text = _(
                "the clock of {host} is {skew} s off: logs are merged by time; start chrony or systemd-timesyncd there",
                host=name,
                skew=f"{survey['skew_s']:.1f}",
            )
            yield Note(text, is_warning=True)
    for field in ("gpus", "driver"):
        values = sorted(
            {str(value) for survey in surveys.values() for value in _listed(survey[field]) if value}
        )
        if len(values) > 1:
            yield Note(_("the hosts differ: {values}; the slowest sets the pace", values=", ".join(values)))
    if not any(survey["gpus"] for survey in surveys.values()):
        yield Note(
            _("no host has an NVIDIA GPU: {count} ranks on each host use its CPUs", count=job.gpus_per_node)
        )


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def _survey(remote: Remote, name: str, python: str, folder: str, token: str) -> dict[str, Any] | Problem:
    """Return the facts that a program on the host reports, with `skew_s`, by which its clock is ahead; else a Problem.

    The Problem is no login, no Python, or an output that is not the program's.
    """
    began = time.time()
    result = Host(remote, name).run(
        _program(python, folder, token), stdin=program_input(HOST_SURVEY), timeout_s=SURVEY_S
    )
    middle = (began + time.time()) / 2
    if not result.ok:
        return _failed(result, name, python)
    try:
        document = parse_document(result.out)
        return {**document, "skew_s": float(document["time"]) - middle}
    except DATA_ERRORS:
        text = result.last_lines(1)
        return Problem(
            name,
            _("a login without a terminal prints other text: {text}", text=text),
            _("print nothing in ~/.bashrc unless the shell is interactive"),
        )


def _failed(result: CommandResult, name: str, python: str) -> Problem:
    if result.code == SSH_FAILED:
        if problem := ssh_problem(result, name):
            return Problem(name, problem.message, problem.fix)
        text = result.last_lines(1)
        if "Could not resolve hostname" in text:
            return Problem(
                name,
                _("the name does not resolve: {error}", error=text),
                _("correct the name, or add it to DNS, /etc/hosts or ~/.ssh/config (`HostName`)"),
            )
        return Problem(
            name,
            _("ssh does not log in without a password: {error}", error=result.last_lines(1) or result.code),
            _("run `ssh-copy-id {host}`, then `ssh {host} true` must ask nothing", host=name),
        )
    if result.code in _EXIT_NO_COMMAND:
        return Problem(
            name,
            _("there is no {python}", python=python),
            _("set `environment.python` to a Python that all hosts have at the same path"),
        )
    return Problem(
        name,
        _("{python} fails: {error}", python=python, error=result.last_lines(1) or result.code),
        _("run the command on that host by hand to see its error"),
    )


def _program(python: str, *arguments: str) -> str:
    """Return the command of a bundled program in the ranks' Python, with its user's packages."""
    return f"cd / && {shlex.join([python, '-c', LOADER, *arguments])}"


def _network(surveys: Mapping[str, Mapping[str, Any]]) -> IPv4Network:
    network = choose_network({name: addresses_of(survey) for name, survey in surveys.items()})
    if network is None:
        listed = "; ".join(
            f"{name} {', '.join(address for _interface, address, _mask in survey['addresses'])}"
            for name, survey in surveys.items()
        )
        raise WrightError.from_code(
            "hosts-unfit",
            _("no network has an address of each host: {hosts}", hosts=listed),
            _("name each machine once in the hostfile, by its address in a network that all hosts share"),
        )
    return network


def _unreached(
    remotes: Mapping[str, Remote], surveys: Mapping[str, Mapping[str, Any]], network: IPv4Network, python: str
) -> Iterator[Problem]:
    """Yield hosts whose ports another host cannot connect to: a firewall between them would stop each training."""
    if len(surveys) == 1:
        return
    port = FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT)
    endpoints = {name: f"{addresses_of(survey).inside(network)}:{port}" for name, survey in surveys.items()}

    def reach(name: str) -> CommandResult:
        peers = [f"{peer}={endpoint}" for peer, endpoint in endpoints.items() if peer != name]
        command = _program(python, name, endpoints[name], *peers)
        return Host(remotes[name], name).run(command, stdin=program_input(HOST_REACH), timeout_s=REACH_S)

    results = fan_out(list(surveys), reach, at_once=len(surveys))
    for name, result in results.items():
        if not result.ok:
            yield Problem(
                name,
                _("port {port} is not free: {error}", port=port, error=result.last_lines(1)),
                _("run the command again"),
            )
        for peer in parse_document(result.out) if result.ok else ():
            yield Problem(
                peer,
                _("{host} cannot connect to {place}", host=name, place=endpoints[peer]),
                _(
                    "open ports {first}-{last} and the ephemeral ports for {network} in the firewall of the host",
                    first=FIRST_PORT,
                    last=LAST_PORT,
                    network=network,
                ),
            )


def _require_none(problems: Iterator[Problem] | Sequence[Problem]) -> None:
    if findings := [problem.finding() for problem in problems]:
        raise WrightError(*findings)
