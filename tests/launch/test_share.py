"""What a job asks of each host."""

from clusterwright.launch.share import share
from clusterwright.provision.render.slurm_conf import slurm_conf


def test_hosts_with_too_few_gpus_have_no_say(cluster, a_job):
    """A partition of two makes: the job gets the share of those that can take it, and names their model."""
    small = cluster.nodes["a100"].model_copy(update={"hosts": "old[1-2]"})
    gpus = small.gpus.model_copy(update={"model": "t4", "count": 1})
    nodes = {**cluster.nodes, "t4": small.model_copy(update={"gpus": gpus})}
    train = cluster.partitions["train"].model_copy(update={"nodes": ("a100", "t4")})
    mixed = cluster.model_copy(update={"nodes": nodes, "partitions": {"train": train}})

    assert share(a_job(gpus_per_node=2), mixed) == share(a_job(gpus_per_node=2), cluster)
    assert share(a_job(gpus_per_node=1), mixed).gres == "gpu:1"


def test_all_gpus_of_a_host_ask_for_no_more_than_slurm_gives(cluster, a_job):
    """What Slurm is told that a host has is less than what it was bought with."""
    (row,) = [line for line in slurm_conf(cluster, "").splitlines() if line.startswith("NodeName=gpu-node")]
    said = dict(word.split("=", 1) for word in row.split())

    asked = share(a_job(gpus_per_node=4), cluster)
    assert 0 < asked.memory_mib <= int(said["RealMemory"]) - int(said["MemSpecLimit"])
    assert asked.cpus == int(said["Sockets"]) * int(said["CoresPerSocket"])


def test_all_gpus_of_a_host_leave_no_other_job_cpus_or_memory(cluster, a_job):
    """Such runs share no host, so nobody else's packets come from one of their hosts."""
    group = cluster.nodes["a100"]
    asked = share(a_job(gpus_per_node=group.gpus.count), cluster)

    assert (asked.cpus, asked.memory_mib) == (group.cpus.threads, group.free_memory_mib)


def test_options_of_the_node_line_are_what_slurm_has(cluster, a_job):
    """On an adopted cluster: GPUs without a type, fewer CPUs than threads, and memory that Slurm does not know."""
    group, job = cluster.nodes["a100"], a_job(gpus_per_node=group_gpus(cluster))

    def with_options(**options):
        nodes = {**cluster.nodes, "a100": group.model_copy(update={"options": options})}
        return share(job, cluster.model_copy(update={"nodes": nodes}))

    assert with_options(Gres="gpu:4").gres == "gpu:4"
    assert with_options(Gres="gpu:tesla:4,shard:8").gres == "gpu:tesla:4"
    assert with_options(CPUs="3").cpus == max(3, job.gpus_per_node)
    assert with_options(RealMemory="1").memory_mib is None
    assert with_options(RealMemory="9000").memory_mib == 9000 - group.memory_reserved // 2**20
    assert with_options(Weight="5") == share(job, cluster)


def of_site(cluster, **changes):
    """The cluster as an adopted one: only what the file sets is in its slurm.conf."""
    group = cluster.nodes["a100"].model_copy(update=changes)
    slurm = cluster.slurm.model_copy(update={"defaults": "slurm"})
    return cluster.model_copy(update={"nodes": {**cluster.nodes, "a100": group}, "slurm": slurm})


def test_a_site_reserves_only_what_its_node_line_says(cluster, a_job):
    """No MemSpecLimit: all of RealMemory is for jobs, also where it is less than what our own clusters reserve."""
    job = a_job(gpus_per_node=group_gpus(cluster))

    def memory(**options):
        return share(job, of_site(cluster, options=options)).memory_mib

    assert memory(RealMemory="800") == 800
    assert memory(RealMemory="800", MemSpecLimit="300") == 500
    assert memory(RealMemory="800", MemSpecLimit="800") == 800  # slurmctld: invalid, reset to 0
    assert (
        share(job, of_site(cluster, memory_reserved=2**31)).memory_mib
        == of_site(cluster, memory_reserved=2**31).nodes["a100"].free_memory_mib
    )


def test_less_memory_than_is_reserved_is_no_negative_request(cluster, a_job):
    """In our own clusters, too; and a part of it is never 0, which is all memory of a host for Slurm."""
    group = cluster.nodes["a100"].model_copy(update={"options": {"RealMemory": "3"}})
    small = cluster.model_copy(update={"nodes": {**cluster.nodes, "a100": group}})

    assert [share(a_job(gpus_per_node=gpus), small).memory_mib for gpus in (1, 4)] == [1, 3]


def group_gpus(cluster):
    """GPUs of a host of the group a100."""
    return cluster.nodes["a100"].gpus.count
