"""Options of other tools that users of GPU clusters know, and what they are in Clusterwright."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from clusterwright.cli._unknown_names import RESULTS
from clusterwright.i18n import N_, _

_RENDEZVOUS = (
    "--rdzv_backend --rdzv_endpoint --rdzv_id --rdzv_conf --master_addr --master_port --node_rank --machine_rank"
    " --main_process_ip --main_process_port --standalone --ntasks --mpi --hostfile -hostfile --machinefile"
)
# An option here, and what torchrun, accelerate, sbatch, squeue, ansible, kubectl, trainers and others call it. A
# command has at most a few of those on the left; the first of them is meant.
_EQUIVALENTS = {
    "--nodes": "--nnodes --num_machines --num_nodes -N",
    "--gpus": "--nproc_per_node --num_gpus --num_processes --ngpus --n_gpus -G --gres --gpus_per_node"
    " --ntasks_per_node --gpus_per_task",
    "--partition": "-p --queue",
    "--batch": "--forks --serial --parallel --max_parallel",
    "--wait": "--timeout --max_wait",
    "--tag": "-t",
    "--time": "-t --time_limit --walltime",
    "--name": "-J --job_name",
    "--array": "-a",
    "--dependency": "-d",
    "--code": "-D --chdir --workdir",
    "--as": "-u --uid",
    "--since": "-S --starttime --from",
    "--hosts": "-w --nodelist --node --limit --host -H",
    "--dry-run": "--check --dryrun -n --plan --what_if",
    "--plan": "--dry_run --dryrun --check --check_only --diff --what_if --noop -n",
    "--yes": "--auto_approve -y --assume_yes --no_confirm",
    "--cluster": "-i --inventory --config -c -f --file --filename",
    "--follow": "-f --watch --tail",
    "--lines": "-n --tail",
    "--out": "-o --output --output_dir --outdir --dest -D",
    "--json": "-o --output --format --yaml -j --parsable",
    "--gpu": "--gpu_type --gpu_model",
    "--seq": "--seq_len --seqlen --seq_length --sequence_length --max_length",
    "--global-batch": "--batch_size --batch --gbs --global_batch_size",
    "--micro-batch": "--mbs --micro_batch_size",
    "--tp": "--tensor_parallel --tensor_model_parallel_size",
    "--pp": "--pipeline_parallel --pipeline_model_parallel_size",
    "--dp": "--data_parallel",
    "--precision": "--dtype",
}
_GLOBAL_EQUIVALENTS = {
    "--no-color": "--color --colour --colors",
    "--quiet": "--silent",
    "--verbose": "--debug --verbos -vv -vvv --trace_back",
    "--lang": "--language --locale",
}
_LISTEN = "--bind --listen --address --addr -b"
_FLAGS = ("--dry-run", "--plan", "--yes", "--follow", "--json", *_GLOBAL_EQUIVALENTS)
# What other tools write as an option, and a command here as an argument.
_RUN = "--job --run --job_id --id --jobid -j --name"
_FILE = "-f --file --filename -c --config -i --input --path --trace --log"
_HOST = "--host --hosts -H -w --nodelist --node --nodes --limit --name"
_ARGUMENTS = {
    "HOSTS": _HOST,
    "HOST": _HOST,
    "JOB": _RUN,
    "RUN": _RUN,
    "FILE": _FILE,
    "TABLE": _FILE,
    "GUIDE": _FILE,
    "SOURCES": f"{_FILE} {_RUN} {_HOST}",
    "GROUP": "--group -g",
    "NAME": "--name",
    "ID": "--id",
    "SHELL": "--shell",
    "TOPIC": "--topic --code --field",
    "KIND": "--kind --type",
}
# What has no option here, by command; what it is instead.
_ALL_HOSTS = N_(
    "leave out {option}: all hosts are compared and only those that differ change; --batch 1 changes one at a time"
)
_ALL_JOBS = N_(
    "leave out {option}: all jobs are listed, with their users and states; --json for your own filter"
)
_ENDLESS = {
    "--watch --interval --follow -f -w --refresh --iterate": N_(
        "leave out {option}: the command runs until you end it"
    )
}
_NODES = "--nodes --nnodes --num_nodes --num_machines -N"
_HOSTS = "--limit -l --hosts --host -H -w --nodelist --node --only"
_INSTEAD = {
    "report cluster": {
        "--team --account -A --group": N_("write the team as an argument: wright report team {value}"),
        "--job --run -j": N_("write the job as an argument: wright report job {value}"),
    },
    "cancel": {
        "--all -a --user -u --me --mine --users --state -t": N_(
            "leave out {option} and name a job: wright cancel JOB; `wright jobs` lists them, with their users"
        )
    },
    "apply": {_HOSTS: _ALL_HOSTS},
    "rollback": {_HOSTS: _ALL_HOSTS},
    **dict.fromkeys(("web", "heal watch"), _ENDLESS),
    "top": _ENDLESS | {"-d --delay -n -s": N_("leave out {option}: the screen refreshes by itself")},
    "mcp": _ENDLESS
    | {
        "--port -p --host --bind --listen --address --transport": N_(
            "leave out {option}: an assistant starts the command and writes to its standard input; it has no port"
        )
    },
    "upgrade": {
        "--cuda --nccl --python": N_(
            'write `{name}: "{value}"` below `software` in the cluster file; then run: wright apply'
        )
    },
    "guide": {
        _NODES: N_("write --hosts {value} in place of {option}"),
        "--cluster": N_("leave out {option}: the command works with cluster.yaml of this folder"),
    },
    "jobs": {
        "-u --user --users --me --mine -a --all -A --account -t --state --states -p --partition -j": _ALL_JOBS
    },
    "adopt": {
        "--host -H --login --server --controller --head --address": N_(
            "write --control in place of {option}"
        ),
    },
    "export": {
        "--kubernetes --helm --k8s": N_("for Kubernetes: wright kubernetes job.yaml --out manifests"),
        "--format --type --to --target -f -t": N_(
            "write --ansible or --compose in place of {option} (with neither: files and shell scripts); "
            "for Kubernetes: wright kubernetes job.yaml --out manifests"
        ),
    },
    "bench collectives": {
        "-b --minbytes -e --maxbytes -f --stepfactor -i --stepbytes -g --ngpus -n --iters -c --check": N_(
            "leave out {option} of nccl-tests: the bench runs its own sizes on all GPUs of the hosts"
        ),
    },
    "logs": {
        "--tail --lines --head -n": N_(
            "leave out {option}: all lines are printed; wright logs {argument} | tail -n {count}, or --follow"
        ),
        "--rank --ranks --node --host --task": N_("leave out {option}: each line names its host and rank"),
    },
    "image build": {
        "-f --file --dockerfile --containerfile": N_(
            "leave out {option} and the folder: the command writes the Dockerfile, --base names its first image"
        ),
        "--push --load --pull --platform --build_arg --no_cache --target": N_(
            "leave out {option}: give it to docker or podman, which build the folder of --out"
        ),
    },
    "train": {
        "--max_restarts": N_("leave out {option}: `wright explain recovery` shows the limits of restarts"),
        "--output -o --error -e": N_("leave out {option}: wright logs shows what the ranks print"),
        "--wrap": N_("write the program after --: wright train -- python train.py"),
        "--export": N_("set variables in the job file; see `wright explain environment.variables`"),
        "--image --container_image": N_("name the image in the job file; see `wright explain container`"),
        "--account -A": N_("name the team with --set team=TEAM"),
        "--mem --cpus_per_task -c": N_(
            "leave out {option}: a job gets all CPU cores and memory that belong to its GPUs"
        ),
        _RENDEZVOUS: N_("leave out {option}: Clusterwright sets it for each rank"),
    },
}
_REPEAT = N_("leave out {option}: the command prints once; to repeat it: watch -n 10 {line}")
_PROGRESS = N_("leave out {option}: the command prints its progress until it ends")
_READERS = (
    "jobs",
    "status",
    "diff",
    "check",
    "checkpoints list",
    "dev list",
    "heal log",
    "lab status",
    "bench list",
    "top",
    "report job",
    "report team",
    "report cluster",
    "why",
)
# Why a command has no such option, by what other tools mean.
_REASONS = {
    "-u --user --users --me --mine --uid": N_("leave out {option}: the command does not select by user"),
    f"{_HOSTS} -x --exclude --groups -g": N_("leave out {option}: the command does not select hosts"),
    "-p --queue --partition": N_("leave out {option}: the command does not select a partition"),
    "-o --output --format --yaml --parsable --long --wide --sort --sort_by --no_headers --noheader --columns": N_(
        "leave out {option}: the output has one form"
    ),
    "--watch --interval --follow --refresh --iterate": _REPEAT,
    "--dry_run --dryrun --check --check_only --diff --what_if --plan --noop -n": N_(
        "leave out {option}: the command has no trial run"
    ),
    "-y --yes --force --assume_yes --auto_approve --no_confirm --no_input": N_(
        "leave out {option}: the command asks no question"
    ),
    "--become -b -K --ask_become_pass --sudo --ask_pass -k --private_key --become_user": N_(
        "leave out {option}: `wright explain ssh` shows how hosts are reached"
    ),
    "--forks --parallel --serial --workers --threads --concurrency": N_(
        "leave out {option}: the command decides how much runs at the same time"
    ),
    "--tags --skip_tags --roles --role": N_("leave out {option}: `manage` in the cluster file selects roles"),
    "-d --detach --rm -it -ti --interactive --tty --background": N_(
        "leave out {option}: it is an option of containers, and the command starts none"
    ),
    "--namespace --context --kubeconfig": N_("leave out {option}: no command connects to Kubernetes"),
    "--timeout --max_wait --retries --wait --no_wait --time": N_(
        "leave out {option}: the command has no time limit of its own"
    ),
    "--no_cache --cache --keep --save": N_("leave out {option}: the command decides what it stores"),
}
_GPUS_PER_NODE = 8  # of most training hosts
SPECS = (".yaml", ".yml")  # suffixes of cluster and job files
_NUMBER = re.compile(r"-\d.*")
_COUNT = re.compile(r"(?:gpu:(?:[\w-]+:)?)?(\d+)")


def unknown_options(tokens: Sequence[str], valid_options: Collection[str]) -> list[str]:
    """Return the options among the tokens of a command line that the command does not have, each once."""
    return list(dict.fromkeys(option for option, _value in _unknown(tokens, valid_options)))


def foreign_fix(
    command: str, tokens: Sequence[str], valid_options: Collection[str], *, only: str = ""
) -> str:
    """Return what to write in place of all options of other tools among the tokens of a command line.

    Empty if there is none that is known. `valid_options` are the options of the command; `only` selects one option.
    """
    parts = [
        _replacement(command, option, value, tokens, valid_options)
        for option, value in _unknown(tokens, valid_options)
        if only in ("", option)
    ]
    return "; ".join(dict.fromkeys(filter(None, parts)))


def _unknown(tokens: Sequence[str], valid_options: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield each option of a command line that the command lacks, with its value or the token that follows.

    Tokens after `--` are no options.
    """
    for index, argument in enumerate(tokens):
        if argument == "--":
            return
        option, equals, value = argument.partition("=")
        if not option.startswith("-") or option in valid_options or _NUMBER.fullmatch(option):
            continue
        following = tokens[index + 1] if not equals and index + 1 < len(tokens) else ""
        yield option, value or following


def _replacement(
    command: str, option: str, value: str, tokens: Sequence[str], valid_options: Collection[str]
) -> str:
    name = _normalized(option)
    if f"--{value}" in valid_options and name in ("--format", "--type", "--to", "--target"):
        here = (
            f"--{value} {command.rsplit(maxsplit=1)[-1]}.{value}" if f"--{value}" in RESULTS else f"--{value}"
        )
        return _("write {here} in place of {option}", here=here, option=f"{option} {value}")
    if name in _LISTEN.split() and {"--host", "--port"} <= set(valid_options):
        return _("write {here} in place of {option}", here=_listen_options(value), option=option)
    if instead := next(
        (text for names, text in _INSTEAD.get(command, {}).items() if name in names.split()), ""
    ):
        argument = _argument_of(tokens, valid_options)
        count = value if value.isdecimal() else 20
        return _(instead).format(
            option=option, argument=argument or "JOB", count=count, value=shlex.quote(value), name=name[2:]
        )
    if (
        name in _NODES.split()
        and {"--gpus", "--gpus-per-node"} <= set(valid_options)
        and "--nodes" not in valid_options
    ):
        return _in_gpus(option, value, tokens)
    if name == "--force" and "--yes" in valid_options:
        return _("leave out {option}: no check is skipped, and --yes answers the question", option=option)
    replacement = equivalent_option(command, option, value, valid_options)
    if not replacement:
        return _argument_or_nothing(command, option, value, valid_options)
    if replacement[0] in tokens:
        return _("leave out {option}: {here} is given already", option=option, here=replacement[0])
    if replacement[0] == "--cluster" and len(replacement) > 1 and not _may_be_cluster(value):
        return _("leave out {option}: `{value}` is not a cluster file", option=option, value=value)
    return _("write {here} in place of {option}", here=shlex.join(replacement), option=option)


def _listen_options(address: str) -> str:
    """Return --host and --port for an address to listen on, such as 0.0.0.0:8443, 8443 or ::1."""
    host, _colon, port = address.rpartition(":")
    if not port.isdecimal() or (":" in host and not host.endswith("]")):
        return f"--host {shlex.quote(address)}" if address else "--host"
    host = host.strip("[]")
    return f"--host {shlex.quote(host)} --port {port}" if host else f"--port {port}"


def _argument_of(tokens: Sequence[str], valid_options: Collection[str]) -> str:
    """Return the argument of a line, as a word of a shell: the first or last one that is no option or its value."""
    values = [value for option, value in _unknown(tokens, valid_options) if not value.startswith("-")]
    ends = (
        token for token in (*tokens[:1], *tokens[-1:]) if not token.startswith("-") and token not in values
    )
    argument = next(ends, "")
    return shlex.quote(argument) if argument else ""


def equivalent_option(command: str, option: str, value: str, valid_options: Collection[str]) -> list[str]:
    """Return the option of this command, with its value, that does what an option of another tool does.

    It is one of `valid_options`. Empty without an equivalent.
    """
    name = _normalized(option)
    equivalents = {
        equivalent: names for equivalent, names in _EQUIVALENTS.items() if equivalent in valid_options
    } | _GLOBAL_EQUIVALENTS
    equivalent = next((equivalent for equivalent, names in equivalents.items() if name in names.split()), "")
    if not equivalent or any(name in names.split() for names in _INSTEAD.get(command, {})):
        return []
    count = _COUNT.fullmatch(value)
    text = count[1] if count else "" if value.startswith("-") or equivalent in _FLAGS else value
    return [equivalent, text] if text else [equivalent]


def is_omitted(command: str, option: str) -> bool:
    """Return True for an option of another tool that is left out of a command, with its value."""
    return any(
        _normalized(option) in names.split() and text.startswith("leave out")
        for names, text in _INSTEAD.get(command, {}).items()
    )


def _may_be_cluster(value: str) -> bool:
    """Return True for ssh://HOST, `here` and a name that a cluster file has, unlike hosts.ini and Dockerfile."""
    return value == "here" or value.startswith("ssh:") or Path(value).suffix in SPECS


def _argument_or_nothing(command: str, option: str, value: str, valid_options: Collection[str]) -> str:
    """Return the line with the value as an argument, or why the command has no such option; empty if not known."""
    name = _normalized(option)
    line = f"wright {command}"
    for argument, names in _ARGUMENTS.items():
        if argument in valid_options and name in names.split():
            text = shlex.quote(value) if value and not value.startswith("-") else argument
            return _("write the command without {option}: {line}", option=option, line=f"{line} {text}")
    reason = next((text for names, text in _REASONS.items() if name in names.split()), "")
    if reason == _REPEAT and command not in _READERS:
        reason = _PROGRESS
    return _(reason).format(option=option, line=line) if reason else ""


def _normalized(option: str) -> str:
    """Return an option with underscores, as the tables have it."""
    return option if not option.startswith("--") else "--" + option[2:].replace("-", "_")


def _in_gpus(option: str, value: str, tokens: Sequence[str]) -> str:
    """Return the fix for an option with a number of hosts, in a command that counts GPUs."""
    if "--gpus" in tokens:
        return _("leave out {option}: --gpus and --gpus-per-node give the number of hosts", option=option)
    per_host = next((b for a, b in pairwise(tokens) if a == "--gpus-per-node" and b.isdecimal()), "")
    per_node = int(per_host or _GPUS_PER_NODE)
    gpus = f"{int(value) * per_node}" if value.isdecimal() else f"HOSTS*{per_node}"
    here = f"--gpus {gpus}" + ("" if per_host else f" --gpus-per-node {per_node}")
    return _("write {here} in place of {option}", here=here, option=option)
