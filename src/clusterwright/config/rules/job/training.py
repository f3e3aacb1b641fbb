"""Rules about the training of a job: parallel layout, gradients, recovery."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.job import Gradients, Job
from clusterwright.config.parallel import Parallel
from clusterwright.i18n import _

# Fields of `parallel` that our recipes support: all shard weights, some have pipelines, LLaMA also tensor and context.
_SHARDED = ("data", "micro_batch", "shard", "shard_group", "recompute")
_SCHEDULES = ("1f1b", "afab")
_STAGED = (*_SHARDED, "pipeline", "schedule")
_CAN = {
    "gpt": _STAGED,
    **dict.fromkeys(("llama", "instruct"), (*_STAGED, "tensor", "context", "sequence_parallel")),
}


def parallel(job: Job) -> Iterator[Clash]:
    """Check that the parallel sizes multiply to the job's GPUs, also after a host loss, and suit the recipe.

    Nothing without `parallel`.
    """
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
    if gpus % layout.replica:
        message = _(
            "{product} is {replica} GPUs per replica, which does not divide the {gpus} GPUs of the job",
            product=product,
            replica=layout.replica,
            gpus=gpus,
        )
        fix = _("request a multiple of {replica} GPUs, or lower the parallel sizes", replica=layout.replica)
        yield _clash(message, fix, sides)
    elif layout.data not in (None, gpus // layout.replica):
        message = _(
            "{product} x data {data} is {total} GPUs, but the job has {gpus}",
            product=product,
            data=layout.data,
            total=layout.replica * (layout.data or 1),
            gpus=gpus,
        )
        fix = _("set `data` to {data}, or remove `data`", data=gpus // layout.replica)
        yield _clash(message, fix, (("parallel", "data"), *sides))
    if job.recovery.on_host_loss == "shrink":
        yield from _shrink(job, layout)


def _shrink(job: Job, layout: Parallel) -> Iterator[Clash]:
    loss = ("recovery", "on_host_loss")
    if layout.data is not None:
        message = _(
            "with `on_host_loss: shrink`, `data: {data}` cannot be kept: after the loss of a host the job has too few "
            "GPUs for {data} replicas",
            data=layout.data,
        )
        yield _clash(message, _("remove `data`, or change `on_host_loss`"), (("parallel", "data"), loss))
    if job.gpus_per_node % layout.replica:
        message = _(
            "`on_host_loss: shrink` needs whole replicas on each host, but a replica has {replica} GPUs and a host "
            "{gpus}",
            replica=layout.replica,
            gpus=job.gpus_per_node,
        )
        fix = _(
            "choose parallel sizes whose product divides {gpus}, or change `on_host_loss`",
            gpus=job.gpus_per_node,
        )
        yield _clash(message, fix, (*_named(layout, "tensor", "pipeline", "context"), loss))


def _experts(job: Job, layout: Parallel) -> Iterator[Clash]:
    layer_gpus = job.nodes * job.gpus_per_node // layout.pipeline
    spread = layout.expert * layout.expert_tensor
    if layer_gpus % spread:
        message = _(
            "expert {expert} x expert_tensor {tensor} is {product}, which does not divide the {gpus} GPUs of a layer",
            expert=layout.expert,
            tensor=layout.expert_tensor,
            product=spread,
            gpus=layer_gpus,
        )
        fix = _("choose sizes whose product divides {gpus}", gpus=layer_gpus)
        yield _clash(message, fix, _named(layout, "expert", "expert_tensor", "pipeline"))


def _pipeline(layout: Parallel) -> Iterator[Clash]:
    if layout.pipeline == 1 and (layout.interleave > 1 or layout.schedule != "1f1b"):
        message = _("interleave and schedule are for pipelines, but the job has one stage")
        fix = _("set pipeline to 2 or more, or remove interleave and schedule")
        yield _clash(message, fix, _named(layout, "interleave", "schedule"))
    elif layout.interleave > 1 and layout.schedule not in ("1f1b", "afab"):
        message = _(
            "schedule {schedule} assigns layers to stages itself, but interleave is {interleave}",
            schedule=layout.schedule,
            interleave=layout.interleave,
        )
        fix = _("remove interleave, or set `schedule: 1f1b`")
        yield _clash(message, fix, _named(layout, "schedule", "interleave"))


def _shards(job: Job, layout: Parallel) -> Iterator[Clash]:
    ranks = job.nodes * job.gpus_per_node // (layout.tensor * layout.pipeline)
    if layout.shard_group is None:
        return
    if layout.shard == "none":
        message = _("shard_group is set, but shard is none")
        fix = _("set `shard: full`, or remove shard_group")
        yield _clash(message, fix, _named(layout, "shard_group", "shard"))
    elif ranks % layout.shard_group:
        message = _(
            "shard_group is {shard_group}, which does not divide the {ranks} replicas",
            shard_group=layout.shard_group,
            ranks=ranks,
        )
        fix = _("choose a shard_group that divides {ranks}", ranks=ranks)
        yield _clash(message, fix, _named(layout, "shard_group"))


def _recipe(job: Job, layout: Parallel) -> Iterator[Clash]:
    requested_fields = [
        name for name in Parallel.model_fields if getattr(layout, name) != Parallel.model_fields[name].default
    ]
    cannot = [name for name in requested_fields if name not in _CAN.get(job.recipe or "", _SHARDED)]
    if job.recipe is not None and cannot:
        yield Clash(
            "recipe-parallel",
            _("recipe `{recipe}` does not support {fields}", recipe=job.recipe, fields=", ".join(cannot)),
            _("remove these fields, or set a `command:` that supports them"),
            (*_named(layout, *cannot), ("recipe",)),
        )
    yield from _stages(job, layout)
    if job.recipe is not None and layout.micro_batch > 1 and "microbatch" in job.arguments:
        message = _(
            "the recipe's micro-batch is set twice, to {argument} and {micro_batch}",
            argument=job.arguments["microbatch"],
            micro_batch=layout.micro_batch,
        )
        locs = (*_named(layout, "micro_batch"), ("arguments",))
        yield Clash("recipe-parallel", message, _("remove one of the two values"), locs)


def _stages(job: Job, layout: Parallel) -> Iterator[Clash]:
    """Yield clashes of a recipe's pipeline that can be detected without building the model.

    Nothing without a pipeline.
    """
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
            _("change pipeline, or the number of layers"),
            (("parallel", "pipeline"), ("arguments", "layers")),
        )
    if layout.schedule not in _SCHEDULES:
        yield Clash(
            "recipe-parallel",
            _("recipe `{recipe}` has no schedule {schedule}", recipe=job.recipe, schedule=layout.schedule),
            _("set schedule to one of {schedules}", schedules=", ".join(_SCHEDULES)),
            (("parallel", "schedule"), ("recipe",)),
        )


def _named(layout: Parallel, *names: str) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the given fields that are not at their defaults; of the section if all are."""
    locs = tuple(("parallel", name) for name in names if getattr(layout, name) not in (1, None, "none"))
    return locs or (("parallel",),)


def _clash(message: str, fix: str, locs: tuple[tuple[str, ...], ...]) -> Clash:
    return Clash("parallel-mismatch", message, fix, locs)


def gradients(job: Job) -> Iterator[Clash]:
    """Check that settings of `gradients` match its `compress` method, and that `outer`, if set, goes with them."""
    settings = job.gradients
    for name in ("rank", "warm_up"):
        if settings.compress != "power" and getattr(settings, name) != Gradients.model_fields[name].default:
            message = _(
                "{name} is for `compress: power`, but compress is {compress}",
                name=name,
                compress=settings.compress,
            )
            fix = _("set `compress: power`, or remove {name}", name=name)
            yield Clash("gradients-mismatch", message, fix, _locs(name, "compress"))
    if settings.compress in ("int8", "power") and settings.hierarchical:
        message = _("`compress: {compress}` does not support hierarchical", compress=settings.compress)
        fix = _("remove hierarchical")
        yield Clash("gradients-mismatch", message, fix, _locs("hierarchical", "compress"))
    if job.outer:
        yield from _outer(job)


def _outer(job: Job) -> Iterator[Clash]:
    settings, layout = job.gradients, job.parallel
    if settings.compress != "none" or settings.hierarchical:
        message = _("with `outer` ranks do not all-reduce gradients, so `gradients` has no effect")
        fix = _("remove outer, or compress and hierarchical; outer.bits compresses its synchronization")
        field = "compress" if settings.compress != "none" else "hierarchical"
        yield Clash("gradients-mismatch", message, fix, (("outer",), *_locs(field)))
    if layout and (layout.shard != "none" or layout.replica > 1):
        message = _("with `outer` each GPU needs the whole model, but `parallel` shards it")
        fix = _("remove outer, or the fields of `parallel` that shard the model")
        yield Clash("gradients-mismatch", message, fix, (("outer",), ("parallel",)))


def _locs(*names: str) -> tuple[tuple[str, ...], ...]:
    return tuple(("gradients", name) for name in names)


_POLICY, _SPARES = ("recovery", "on_host_loss"), ("recovery", "spare_nodes")


def recovery(job: Job) -> Iterator[Clash]:
    """Check that spare hosts and `spare`, and a range of hosts (`elastic`) and `shrink`, go together.

    `nodes` must be in that range, if there is one; `shrink` without a range passes.
    """
    policy, spares = job.recovery.on_host_loss, job.recovery.spare_nodes
    if spares and policy != "spare":
        message = _("spare_nodes is {spares}, but on_host_loss is {policy}", spares=spares, policy=policy)
        fix = _("set `on_host_loss: spare`, or remove spare_nodes")
        yield Clash("spare-mismatch", message, fix, (_SPARES, _POLICY))
    if policy == "spare" and not spares:
        message = _("on_host_loss is spare, but the job has no standby host")
        yield Clash("spare-mismatch", message, _("add `spare_nodes: 1`"), (_POLICY, _SPARES))
    if job.elastic is None:
        return
    if policy != "shrink":
        message = _("the job has a range of hosts (elastic), but on_host_loss is {policy}", policy=policy)
        fix = _("set `on_host_loss: shrink`, or remove elastic")
        yield Clash("elastic-mismatch", message, fix, (("elastic",), _POLICY))
    yield from _range(job)


def _range(job: Job) -> Iterator[Clash]:
    low, high = job.elastic.min_nodes if job.elastic else 1, job.elastic.max_nodes if job.elastic else None
    if low > job.nodes:
        message = _("min_nodes is {limit}, but nodes is {nodes}", limit=low, nodes=job.nodes)
        fix = _("set min_nodes to {nodes} or less", nodes=job.nodes)
        yield Clash("elastic-range", message, fix, (("elastic", "min_nodes"), ("nodes",)))
    if high is not None and high < job.nodes:
        message = _("max_nodes is {limit}, but nodes is {nodes}", limit=high, nodes=job.nodes)
        fix = _("set max_nodes to {nodes} or more", nodes=job.nodes)
        yield Clash("elastic-range", message, fix, (("elastic", "max_nodes"), ("nodes",)))
