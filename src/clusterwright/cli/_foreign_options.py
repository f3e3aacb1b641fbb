"""Options of other tools that users of GPU clusters know, and what they are in Clusterwright."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

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
    "--time": "-t --time_limit --walltime",
    "--name": "-J --job_name",
    "--array": "-a",
    "--dependency": "-d",
    "--code": "-D --chdir --workdir",
    "--as": "-u --uid",
    "--since": "-S --starttime --from",
    "--hosts": "-w --nodelist --node --limit --host -H",
    "--dry-run": "--check --dryrun -n --plan --what_if",
    "--yes": "--auto_approve -y --assume_yes --force --no_confirm",
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
    "--verbose": "--debug --verbos",
    "--lang": "--language --locale",
}
# What has no option here, by command; what it is instead.
_INSTEAD = {
    "export": {"--kubernetes --helm --k8s": N_("for Kubernetes: wright kubernetes job.yaml --out manifests")},
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
_COUNT = re.compile(r"(?:gpu:(?:[\w-]+:)?)?(\d+)")


def foreign_fix(command: str, tokens: Sequence[str], valid_options: Collection[str]) -> str:
    """Return what to write in place of all options of other tools among the tokens of a command line.

    Empty if there is none that is known. `valid_options` are the options of the command.
    """
    parts = []
    for index, argument in enumerate(tokens):
        if argument == "--":
            break
        option, equals, value = argument.partition("=")
        if not option.startswith("-") or option in valid_options:
            continue
        following = tokens[index + 1] if not equals and index + 1 < len(tokens) else ""
        parts.append(_replacement(command, option, value or following, valid_options))
    return "; ".join(dict.fromkeys(filter(None, parts)))


def _replacement(command: str, option: str, value: str, valid_options: Collection[str]) -> str:
    name = option if not option.startswith("--") else "--" + option[2:].replace("-", "_")
    if instead := next(
        (text for names, text in _INSTEAD.get(command, {}).items() if name in names.split()), ""
    ):
        return _(instead).format(option=option)
    equivalents = {
        equivalent: names for equivalent, names in _EQUIVALENTS.items() if equivalent in valid_options
    } | _GLOBAL_EQUIVALENTS
    equivalent = next((equivalent for equivalent, names in equivalents.items() if name in names.split()), "")
    if not equivalent:
        return ""
    count = _COUNT.fullmatch(value)
    return _(
        "write {here} in place of {option}",
        here=f"{equivalent} {count[1]}" if count else equivalent,
        option=option,
    )
