"""How a job trains: its parallel layout, gradients and recovery."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.job import Gradients, Job
from clusterwright.config.parallel import Parallel
from clusterwright.i18n import _

# What our own recipes do: all share weights, some deal out their layers, a LLaMA cuts matrices and sequences, too.
_SHARDED = ("data", "micro_batch", "shard", "shard_group", "recompute")
_SCHEDULES = ("1f1b", "afab")
_STAGED = (*_SHARDED, "pipeline", "schedule")
_CAN = {
    "gpt": _STAGED,
    **dict.fromkeys(("llama", "instruct"), (*_STAGED, "tensor", "context", "sequence_parallel")),
}


def parallel(job: Job) -> Iterator[Clash]:
    """The groups multiply to the job's GPUs, also when hosts are lost, and our own recipe can do what is asked."""
    layout = job.parallel
    if layout is None:
        return
    yield from _gpus(job, layout)
    yield from _experts(job, layout)
    yield from _pipeline(layout)
    yield from _shards(job, layout)
    yield from _recipe(job, layout)


def _gpus(job: Job, layout: Parallel) -> Iterator[Clash]:
    gpus, sizes = job.nodes * job.gpus_per_node, ("tensor", "pipeline", "context")
    sides = (*_named(layout, *sizes), ("nodes",), ("gpus_per_node",))
    product = f"tensor {layout.tensor} x pipeline {layout.pipeline} x context {layout.context}"
    total_text = f"{job.nodes} hosts x {job.gpus_per_node} GPUs are {gpus}"
    if gpus % layout.replica:
        fix = _("take a number of GPUs that {replica} divides, or smaller groups", replica=layout.replica)
        yield _clash(
            _(
                "{product} takes {replica} GPUs a replica, but {total_text}",
                product=product,
                replica=layout.replica,
                total_text=total_text,
            ),
            fix,
            sides,
        )
    elif layout.data not in (None, gpus // layout.replica):
        fix = _("set data to {gpus}, or leave it out", gpus=gpus // layout.replica)
        message = _(
            "{product} x data {data} is {replica}, but {total_text}",
            product=product,
            data=layout.data,
            replica=layout.replica * (layout.data or 1),
            total_text=total_text,
        )
        yield _clash(message, fix, (("parallel", "data"), *sides))
    if job.recovery.on_host_loss == "shrink" and (
        layout.data is not None or job.gpus_per_node % layout.replica
    ):
        message = _(
            "after a lost host the job goes on with fewer, which do not make the replicas it asks for"
        )
        fix = _("leave data out and keep a replica inside a host, or set another `on_host_loss`")
        yield _clash(message, fix, (*_named(layout, "data", *sizes), ("recovery", "on_host_loss")))


def _experts(job: Job, layout: Parallel) -> Iterator[Clash]:
    layer_gpus = job.nodes * job.gpus_per_node // layout.pipeline
    spread = layout.expert * layout.expert_tensor
    if layer_gpus % spread:
        product = f"expert {layout.expert} x expert_tensor {layout.expert_tensor}"
        message = _(
            "{product} is {spread}, but {layer_gpus} GPUs hold a layer",
            product=product,
            spread=spread,
            layer_gpus=layer_gpus,
        )
        fix = _("take groups whose product divides {layer_gpus}", layer_gpus=layer_gpus)
        yield _clash(message, fix, _named(layout, "expert", "expert_tensor", "pipeline"))


def _pipeline(layout: Parallel) -> Iterator[Clash]:
    if layout.pipeline == 1 and (layout.interleave > 1 or layout.schedule != "1f1b"):
        message = _("an interleave or a schedule is that of a pipeline, and the job has one stage")
        yield _clash(
            message,
            _("set pipeline to 2 or more, or take them out"),
            _named(layout, "interleave", "schedule"),
        )
    elif layout.interleave > 1 and layout.schedule not in ("1f1b", "afab"):
        message = _(
            "schedule {schedule} deals out its layers itself, but interleave is {interleave}",
            schedule=layout.schedule,
            interleave=layout.interleave,
        )
        yield _clash(
            message,
            _("take interleave out, or set `schedule: 1f1b`"),
            _named(layout, "schedule", "interleave"),
        )


def _shards(job: Job, layout: Parallel) -> Iterator[Clash]:
    ranks = job.nodes * job.gpus_per_node // (layout.tensor * layout.pipeline)
    if layout.shard_group is None:
        return
    if layout.shard == "none":
        message = _("shard_group says how many GPUs share the parts, but nothing is in parts")
        yield _clash(
            message, _("set `shard: full`, or take shard_group out"), _named(layout, "shard_group", "shard")
        )
    elif ranks % layout.shard_group:
        message = _(
            "shard_group is {shard_group}, but {ranks} GPUs hold the same part of the model",
            shard_group=layout.shard_group,
            ranks=ranks,
        )
        yield _clash(
            message, _("take a group that divides {ranks}", ranks=ranks), _named(layout, "shard_group")
        )


def _recipe(job: Job, layout: Parallel) -> Iterator[Clash]:
    requested_fields = [
        name for name in Parallel.model_fields if getattr(layout, name) != Parallel.model_fields[name].default
    ]
    cannot = [name for name in requested_fields if name not in _CAN.get(job.recipe or "", _SHARDED)]
    if job.recipe is not None and cannot:
        yield Clash(
            "recipe-parallel",
            _("recipe `{recipe}` cannot do {cannot}", recipe=job.recipe, cannot=", ".join(cannot)),
            _("take them out, or give a `command:` of your own that can"),
            (*_named(layout, *cannot), ("recipe",)),
        )
    yield from _stages(job, layout)
    if job.recipe is not None and layout.micro_batch > 1 and "microbatch" in job.arguments:
        message = _(
            "the recipe's microbatch is said twice: {arguments} and {micro_batch}",
            arguments=job.arguments["microbatch"],
            micro_batch=layout.micro_batch,
        )
        yield Clash(
            "recipe-parallel",
            message,
            _("take one of them out"),
            (*_named(layout, "micro_batch"), ("arguments",)),
        )


def _stages(job: Job, layout: Parallel) -> Iterator[Clash]:
    """What can be said of a recipe's pipeline before its model is made."""
    if job.recipe is None or layout.pipeline == 1:
        return
    layers = job.arguments.get("layers")
    if isinstance(layers, int) and layers % layout.pipeline:
        yield Clash(
            "recipe-parallel",
            _(
                "pipeline {pipeline} does not divide the {layers} layers of recipe `{recipe}`",
                pipeline=layout.pipeline,
                layers=layers,
                recipe=job.recipe,
            ),
            _("take a number of stages that does, or other layers"),
            (("parallel", "pipeline"), ("arguments", "layers")),
        )
    if layout.schedule not in _SCHEDULES:
        yield Clash(
            "recipe-parallel",
            _("recipe `{recipe}` has no schedule {schedule}", recipe=job.recipe, schedule=layout.schedule),
            _("set schedule to {schedules}", schedules=" or ".join(_SCHEDULES)),
            (("parallel", "schedule"), ("recipe",)),
        )


def _named(layout: Parallel, *names: str) -> tuple[tuple[str, ...], ...]:
    """The paths of those that are not left as they are; the section where all are."""
    locs = tuple(("parallel", name) for name in names if getattr(layout, name) not in (1, None, "none"))
    return locs or (("parallel",),)


def _clash(message: str, fix: str, locs: tuple[tuple[str, ...], ...]) -> Clash:
    return Clash("parallel-mismatch", message, fix, locs)


def gradients(job: Job) -> Iterator[Clash]:
    """One way of adding up, its own settings alone, and none where ranks meet each so many steps only."""
    settings = job.gradients
    for name in ("rank", "warm_up"):
        if settings.compress != "power" and getattr(settings, name) != Gradients.model_fields[name].default:
            message = _(
                "{name} is PowerSGD's, but compress is {compress}", name=name, compress=settings.compress
            )
            yield Clash(
                "gradients-mismatch",
                message,
                _("set `compress: power`, or take it out"),
                _locs(name, "compress"),
            )
    if settings.compress in ("int8", "power") and settings.hierarchical:
        message = _("`compress: {compress}` has no sum inside each host", compress=settings.compress)
        yield Clash(
            "gradients-mismatch", message, _("take hierarchical out"), _locs("hierarchical", "compress")
        )
    if job.outer:
        yield from _outer(job)


def _outer(job: Job) -> Iterator[Clash]:
    settings, layout = job.gradients, job.parallel
    if settings.compress != "none" or settings.hierarchical:
        message = _("with `outer` no gradient travels, but `gradients` says how")
        fix = _("take outer out, or compress and hierarchical; outer has `bits` of its own")
        yield Clash(
            "gradients-mismatch",
            message,
            fix,
            (("outer",), *_locs("compress" if settings.compress != "none" else "hierarchical")),
        )
    if layout and (layout.shard != "none" or layout.replica > 1):
        message = _(
            "with `outer` each GPU steps by itself, so each needs the whole model; `parallel` cuts it"
        )
        yield Clash(
            "gradients-mismatch",
            message,
            _("take outer out, or what cuts the model"),
            (("outer",), ("parallel",)),
        )


def _locs(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple(("gradients", name) for name in names)


_POLICY, _SPARES = ("recovery", "on_host_loss"), ("recovery", "spare_nodes")


def recovery(job: Job) -> Iterator[Clash]:
    """Spare hosts go with `spare`, a range of hosts with `shrink`, and the range holds `nodes`."""
    policy, spares = job.recovery.on_host_loss, job.recovery.spare_nodes
    if spares and policy != "spare":
        message = _(
            "spare_nodes is {spares}, but on host loss the job does `{policy}`", spares=spares, policy=policy
        )
        yield Clash(
            "spare-mismatch",
            message,
            _("set `on_host_loss: spare`, or take spare_nodes out"),
            (_SPARES, _POLICY),
        )
    if policy == "spare" and not spares:
        message = _("on host loss a spare takes over, but no host is held ready")
        yield Clash("spare-mismatch", message, _("add `spare_nodes: 1`"), (_POLICY, _SPARES))
    if job.elastic is None:
        return
    if policy != "shrink":
        message = _("the job has a range of hosts, but on host loss it does `{policy}`", policy=policy)
        yield Clash(
            "elastic-mismatch",
            message,
            _("set `on_host_loss: shrink`, or take elastic out"),
            (("elastic",), _POLICY),
        )
    yield from _range(job)


def _range(job: Job) -> Iterator[Clash]:
    low, high = job.elastic.min_nodes if job.elastic else 1, job.elastic.max_nodes if job.elastic else None
    if low > job.nodes:
        message, fix = (
            f"min_nodes is {low}, but the job has {job.nodes} hosts",
            f"set min_nodes to {job.nodes} or less",
        )
        yield Clash("elastic-range", message, fix, (("elastic", "min_nodes"), ("nodes",)))
    if high is not None and high < job.nodes:
        message, fix = (
            f"max_nodes is {high}, but the job has {job.nodes} hosts",
            f"set max_nodes to {job.nodes} or more",
        )
        yield Clash("elastic-range", message, fix, (("elastic", "max_nodes"), ("nodes",)))
