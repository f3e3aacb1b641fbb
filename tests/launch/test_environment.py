"""Who says what the ranks of a job find."""

from clusterwright.launch.environment import list_variables

SHELL = {"NCCL_DEBUG": "INFO", "NCCL_ALGO": "Ring", "HF_TOKEN": "hf_abc", "LANG": "C"}


def test_each_variable_is_shown_once_with_who_spoke_last(cluster, a_job):
    """The cluster's tune file, the job, the shell, the adapter, the launcher."""
    tuned = cluster.jobs.model_copy(update={"variables": {"NCCL_ALGO": "Tree", "UCX_TLS": "rc"}})
    where = cluster.model_copy(update={"jobs": tuned})
    job = a_job(
        environment={"variables": {"NCCL_DEBUG": "INFO", "OMP_NUM_THREADS": "8"}}, framework="megatron"
    )
    found = {one.name: (one.value, one.source) for one in list_variables(job, where, SHELL)}

    assert found["NCCL_ALGO"] == ("Tree", "cluster file, jobs.variables")
    assert found["NCCL_DEBUG"] == ("INFO", "your shell")
    assert found["OMP_NUM_THREADS"] == ("8", "job file, environment.variables")
    assert found["CUDA_DEVICE_MAX_CONNECTIONS"] == ("1", "adapter megatron, for rank 0")
    assert found["NCCL_SOCKET_IFNAME"] == ("the interface in 10.77.1.0/24", "launcher, on each host")
    assert "LANG" not in found


def test_what_is_not_handed_on_is_said_and_a_secret_is_not(cluster, a_job):
    """Its name alone, and where it belongs."""
    found = {one.name: one for one in list_variables(a_job(), cluster, SHELL)}

    assert (
        found["NCCL_ALGO"].source == "set in your shell, not passed on: write the variable into the job file"
    )
    assert found["HF_TOKEN"].value == "(hidden)"
    assert "secrets.env" in found["HF_TOKEN"].source
    assert not any("hf_abc" in f"{one}" for one in found.values())


def test_jobs_find_the_object_storage_of_the_cluster(cluster, a_job):
    """Its address and region, in the script and in the list of variables; jobs.variables take precedence."""
    from clusterwright.config.storage import ObjectStorage
    from clusterwright.launch.script import settings

    storage = ObjectStorage(endpoint="https://rgw.example.org:8443", region="site")
    where = cluster.model_copy(update={"object_storage": storage})
    found = {one.name: (one.value, one.source) for one in list_variables(a_job(), where, {})}

    assert found["AWS_ENDPOINT_URL_S3"] == ("https://rgw.example.org:8443", "cluster file, object_storage")
    assert found["AWS_DEFAULT_REGION"] == ("site", "cluster file, object_storage")
    assert "export AWS_ENDPOINT_URL_S3=https://rgw.example.org:8443\n" in settings(a_job(), where)
    assert "AWS_" not in settings(a_job(), cluster)


def test_threads_of_a_lab_sleep_while_they_wait(cluster, a_job):
    """Its hosts share CPUs; on real hosts the default of OpenMP stays, and jobs.variables take precedence."""
    from clusterwright.launch.script import settings

    tuned = cluster.jobs.model_copy(update={"variables": {"OMP_WAIT_POLICY": "active"}})
    lines = settings(a_job(), cluster.model_copy(update={"jobs": tuned})).splitlines()
    found = {one.name: one.source for one in list_variables(a_job(), cluster, {})}

    assert found["OMP_WAIT_POLICY"] == "lab, whose hosts share CPUs"
    assert "export OMP_WAIT_POLICY=passive" in settings(a_job(), cluster)
    assert "OMP_WAIT_POLICY" not in settings(a_job(), cluster.model_copy(update={"lab": None}))
    assert [line for line in lines if "OMP_WAIT_POLICY" in line][-1] == "export OMP_WAIT_POLICY=active"
