"""What manifests say of a training: the same command, variables, limits and recovery as its batch script."""

import pytest

from clusterwright.errors import SpecError, WrightError
from clusterwright.launch.kubernetes.names import label

FREE_MIB = (
    2048 * 1024 * 31 // 32 - 64 * 1024
)  # an HGX host less the kernel's share and what its file reserves


def env(pod):
    """Name to value of the container; a value that Kubernetes fills in is where it comes from."""
    return {
        each["name"]: each.get("value") or each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in pod["spec"]["containers"][0]["env"]
    }


def policy(found):
    """The failure policy of the JobSet."""
    return found.only("JobSet")["spec"]["failurePolicy"]


def test_a_pod_asks_for_the_share_of_a_host_less_what_the_kubelet_keeps(made):
    """Eight GPUs are all of an HGX host: 95 % of 224 threads and of what 2048 GiB leave; limits are the same."""
    (pod,) = made("hgx").pods()
    resources = pod["spec"]["containers"][0]["resources"]

    assert resources["requests"] == {
        "cpu": "212", "memory": f"{FREE_MIB * 95 // 100}Mi", "nvidia.com/gpu": "8",
        "rdma/rdma_shared_device_a": "1",
    }  # fmt: skip
    assert resources["limits"] == resources["requests"]
    assert pod["spec"]["containers"][0]["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]


def test_shared_memory_is_half_of_the_pods(made):
    """As Linux gives a host; a container has 64 MiB without it, and loaders die of that (bus error)."""
    (pod,) = made("hgx").pods()
    shm = next(each["emptyDir"] for each in pod["spec"]["volumes"] if each["name"] == "shm")

    assert shm == {"medium": "Memory", "sizeLimit": f"{FREE_MIB * 95 // 100 // 2}Mi"}


def test_ranks_are_told_what_the_batch_script_tells_them(made):
    """Torchrun's own variables, the checkpoints, and those of both files; the job's win."""
    found = made(
        "a100",
        cluster=[
            (
                "\nteams:",
                "\njobs: {variables: {OMP_NUM_THREADS: '4', TOKENIZERS_PARALLELISM: 'false'}}\n\nteams:",
            )
        ],
    )
    (pod,) = found.pods()

    told = env(pod)
    assert {name: told[name] for name in told if name.startswith("PET_")} == {
        "PET_NNODES": "4", "PET_NPROC_PER_NODE": "8", "PET_MASTER_ADDR": "bert-large-node-0-0.bert-large",
        "PET_MASTER_PORT": "29500",
        "PET_NODE_RANK": "metadata.annotations['batch.kubernetes.io/job-completion-index']",
    }  # fmt: skip
    assert told["OMP_NUM_THREADS"] == "8"
    assert told["TOKENIZERS_PARALLELISM"] == "false"
    assert told["CLUSTERWRIGHT_CHECKPOINTS"] == "/shared/research/bert-large"
    assert told["CLUSTERWRIGHT_CHECKPOINT_EVERY"] == "seconds:1800"
    assert pod["spec"]["containers"][0]["command"] == [
        "python3", "-m", "torch.distributed.run", "train.py", "--config", "bert-large.json", "--lr", "1e-4",
    ]  # fmt: skip
    assert pod["spec"]["containers"][0]["workingDir"] == "/shared/research/bert"


def test_variables_that_name_interfaces_of_hosts_stay_behind_and_are_told(made):
    """In a pod there is no ib0; NCCL would find no interface and end."""
    found = made(
        "hgx", job=[("user: bob", "user: bob\nenvironment: {variables: {NCCL_SOCKET_IFNAME: ib0, A: b}}")]
    )
    (pod,) = found.pods()

    assert "NCCL_SOCKET_IFNAME" not in env(pod)
    assert env(pod)["A"] == "b"
    assert any(each.startswith("job gpt-hgx: the variables NCCL_SOCKET_IFNAME name") for each in found.left)


@pytest.mark.parametrize(
    ("recovery", "expected"),
    [
        ("{restarts: 2, successors: 4}", {"maxRestarts": 6}),
        ("{on_host_loss: spare, spare_nodes: 1, restarts: 1}", {"maxRestarts": 6}),
        ("{restarts: 2, successors: 0}", {"maxRestarts": 2, "rules": ["DeadlineExceeded"]}),
        (
            "{on_host_loss: fail, restarts: 2}",
            {"maxRestarts": 2, "rules": ["PodFailurePolicy", "DeadlineExceeded"]},
        ),
    ],
)
def test_recovery_is_told_in_the_words_of_a_jobset(made, recovery, expected):
    """All pods start anew so often as ranks and hosts may be lost; what ends the run ends it here too."""
    found = policy(made("hgx", job=[("user: bob", f"user: bob\nrecovery: {recovery}")]))

    assert found["maxRestarts"] == expected["maxRestarts"]
    assert [each for rule in found.get("rules", []) for each in rule["onJobFailureReasons"]] == expected.get(
        "rules", []
    )


def test_a_pod_has_the_time_to_save_that_a_batch_job_has(made):
    """A tenth of the limit, 300 s at most; and the limit itself."""
    found = made("hgx")
    (pod,) = found.pods()

    assert pod["spec"]["terminationGracePeriodSeconds"] == 300
    assert env(pod)["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "295"  # torchrun's own 30 s would end the save
    assert any("300 s to save" in each for each in found.left)
    assert (
        found.only("JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"]
        == 4 * 3600
    )


def test_one_pod_a_host_near_to_each_other_on_hosts_of_the_partition(made):
    """`nodes: 2` are two hosts; the leaf switch is a wish, as Slurm's topology is."""
    (pod,) = made("hgx").pods()
    affinity = pod["spec"]["affinity"]

    (alone,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert alone["topologyKey"] == "kubernetes.io/hostname"
    (near,) = affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert near["podAffinityTerm"]["topologyKey"] == "clusterwright/switch"
    (term,) = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "clusterwright/group", "operator": "In", "values": ["h100"]}]


def test_a_trainjob_leaves_torchruns_variables_to_its_operator(made):
    """Trainer refuses a job that says PET_NNODES and the like itself (pkg/runtime/framework/plugins/torch)."""
    found = made("a100", kind="trainjob")
    (pod,) = found.pods()

    assert not [name for name in env(pod) if name.startswith("PET_")]
    assert found.only("TrainJob")["spec"]["trainer"] == {"numNodes": 4, "numProcPerNode": 8}
    assert (
        found.only("TrainJob")["spec"]["runtimeRef"]["name"]
        == found.only("TrainingRuntime")["metadata"]["name"]
    )


def test_pods_are_their_user_with_all_groups_and_no_token(made):
    """Files on shared storage keep their owners; a training has nothing to say to Kubernetes."""
    found = made("university")
    (pod,) = found.pods()

    assert pod["spec"]["securityContext"] == {
        "runAsUser": 6002,
        "runAsGroup": 5000,
        "supplementalGroups": [5001],
    }
    assert {each["automountServiceAccountToken"] for each in found.of("ServiceAccount").values()} == {False}


def test_nfs_is_mounted_with_the_options_of_hosts_and_all_else_taken_from_the_host(made):
    """Under the paths of the files; a claim for each team, each with a volume of its own."""
    found = made("hgx")
    volumes = found.of("PersistentVolume")

    nfs = volumes["", "hgx-pretraining-shared"]["spec"]
    assert nfs["nfs"] == {"server": "10.30.0.10", "path": "/shared"}
    assert "hard" in nfs["mountOptions"]
    assert nfs["claimRef"] == {"namespace": "pretraining", "name": "shared"}
    assert volumes["", "hgx-pretraining-scratch"]["spec"]["hostPath"] == {
        "path": "/lustre",
        "type": "Directory",
    }
    assert any("storage.scratch: a hostPath, so /lustre" in each for each in found.left)
    (pod,) = found.pods()
    assert {"name": "shared", "mountPath": "/shared"} in pod["spec"]["containers"][0]["volumeMounts"]


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ("docker://nvcr.io#nvidia/pytorch:25.09-py3", "nvcr.io/nvidia/pytorch:25.09-py3"),
        ("docker://alpine:3.20", "alpine:3.20"),
    ],
)
def test_an_image_of_the_job_is_written_as_registries_write_it(made, own, shown):
    """Enroot's # stands between registry and image."""
    found = made(
        "hgx", image="", job=[("user: bob", f'user: bob\ncontainer: {{image: "{own}"}}')],
        cluster=[("\npartitions:", "\nenvironments: {containers: [pyxis]}\n\npartitions:")],
    )  # fmt: skip
    (pod,) = found.pods()

    assert pod["spec"]["containers"][0]["image"] == shown


def refused(made, *arguments, **options):
    """The one finding."""
    with pytest.raises(WrightError) as caught:
        made(*arguments, **options)
    (finding,) = caught.value.findings
    return finding


def test_a_job_without_an_image_of_a_registry_is_refused(made):
    """Slurm needs none; a pod does."""
    found = refused(made, "hgx", image="")

    assert found.code == "kubernetes-image"
    assert "--image" in found.fix


@pytest.mark.parametrize(
    ("kind", "version", "named", "first"),
    [
        ("trainjob", (1, 28), "TrainingRuntime (trainer.kubeflow.org/v1alpha1)", "1.29"),
        ("jobset", (1, 25), "JobSet (jobset.x-k8s.io/v1alpha2)", "1.26"),
        ("jobset", (1, 22), "Namespace (v1)", "1.25"),
    ],
)
def test_a_kubernetes_that_cannot_have_the_kind_is_refused_by_the_kind(made, kind, version, named, first):
    """The kind, its API, the operator, and the first version that can."""
    found = refused(made, "hgx", kind=kind, version=version)

    assert found.code == "kubernetes-kind-missing"
    assert f"Kubernetes 1.{version[1]} cannot have {named}" in found.message
    assert first in found.fix


def test_a_newer_kubernetes_than_any_schema_is_told_and_not_refused(made):
    """It is the user's to know."""
    assert "Kubernetes is newer than 1.37" in made("lab", version=(1, 40)).left[0]


def test_a_job_that_does_not_fit_the_cluster_is_refused_as_for_slurm(made):
    """Nine GPUs of eight."""
    with pytest.raises(SpecError):
        made("hgx", job=[("gpus_per_node: 8", "gpus_per_node: 9")])


@pytest.mark.parametrize(("text", "name"), [("GPT_small", "gpt-small"), ("a.b--c", "a-b-c"), ("-x-", "x")])
def test_names_become_those_of_kubernetes(text, name):
    """Lower case, digits, hyphens."""
    assert label(text) == name


def test_two_teams_of_one_name_are_refused(made):
    """Their namespaces would be one, and each could read the other's secrets."""
    teams = ("teams:\n  vision:", "teams:\n  vi-sion: {gid: 5003}\n  vi_sion: {gid: 5004}\n  vision:")
    users = ("additional_teams: [language]", "additional_teams: [language, vi-sion, vi_sion]")

    found = refused(made, "university", cluster=[teams, users])

    assert found.code == "kubernetes-name"
    assert found.message == "`vi-sion` and `vi_sion` are both `vi-sion` in Kubernetes"


def test_a_name_that_leaves_no_room_for_its_pods_is_refused(made):
    """A pod's name is the job's and 13 characters more; Kubernetes would refuse it only when it is made."""
    assert refused(made, "hgx", job=[("name: gpt-hgx", f"name: {'g' * 60}")]).code == "kubernetes-name"


def test_nothing_of_slurm_alone_is_dropped_in_silence(made):
    """What the files say and Kubernetes is not told stands in the notes, and in README.md."""
    found = made("hgx", job=[("user: bob", "user: bob\nrecovery: {on_host_loss: spare, spare_nodes: 1}")])

    for words in ("qos:", "reservations:", "partitions.train: headroom_percent", "there is no standby host",
                  "checkpoint.memory", "launcher: agent", "memlock"):  # fmt: skip
        assert any(words in each for each in found.left), words
    assert all(each in found.files["README.md"] for each in found.left)


def test_the_same_files_give_the_same_text(made):
    """So that a diff shows what changed."""
    assert made("a100").files == made("a100").files
