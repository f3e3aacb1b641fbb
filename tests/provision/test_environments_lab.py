"""Containers, environments of teams, modules and caches on real hosts: crun under real Slurm, pip, `module load`."""

import json
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.lab.environment import find
from clusterwright.lab.state import folder as lab_folder
from clusterwright.launch.submission import submit
from clusterwright.provision.apply import apply, remote_of

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-env", "10.224."
MISSING = able()
IMAGE = "/shared/images/lab"
GPUS = "for file in /dev/nvidia[0-9]; do { : <$file; } 2>&1 | grep -c 'not permitted'; done | tr -d '\\n'"

# Programs and libraries up to a few megabytes, and all of Python: what `srun`, `python3` and the shell need.
PACK = r"""cd / && {
  printf '%s\n' bin sbin lib lib64 etc/passwd etc/group etc/nsswitch.conf etc/ld.so.cache etc/alternatives
  find usr/bin usr/sbin -maxdepth 1 -size -3000k; ls -d usr/bin/python3.*
  find usr/lib/x86_64-linux-gnu -maxdepth 1 -name '*.so*' -size -6000k
} | tar -cf - --no-recursion -T - --recursion usr/lib64 usr/lib/python3 usr/lib/python3.*"""
PLACES = ("proc", "sys", "dev", "tmp", "var/tmp", "home", "shared", "opt/clusterwright", "etc")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
    pytest.mark.skipif(not shutil.which("umoci"), reason="umoci is not installed"),
]


def umoci(*argv):
    """A command of umoci's, which must end well."""
    subprocess.run(["umoci", *map(str, argv)], check=True, capture_output=True, timeout=120)


def make_image(remote, folder, bundle, places):
    """A part of a host's own files, through a real OCI image in `folder`, as a bundle with those mount points."""
    layer, image, root = bundle.parent / "layer.tar", f"{folder / 'image'}:lab", bundle / "rootfs"
    remote.run(
        "gpu-node1", f"{PACK} >/shared/images/layer.tar", timeout_s=120
    )  # not over a link as slow as a lab's
    umoci("init", "--layout", folder / "image")
    umoci("new", "--image", image)
    umoci("raw", "add-layer", "--image", image, layer)
    umoci("config", "--image", image, "--config.env", "FROM_THE_IMAGE=yes")
    umoci("unpack", "--rootless", "--image", image, bundle)
    for place in (*PLACES, *(each.lstrip("/") for each in places)):
        (root / place).mkdir(parents=True, exist_ok=True)
    for file, text in (("image-name", "image of the lab\n"), ("hosts", ""), ("resolv.conf", "")):
        (root / "etc" / file).write_text(text)
    for each in (bundle, root, bundle / "config.json", *(path for path in root.rglob("*") if path.is_dir())):
        if not each.is_symlink():
            each.chmod(0o755)
    layer.unlink()


class Site:
    """A control host, two compute hosts, an image on their shared folder, and packages in another."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "cluster.yaml"
        self.cluster = self.write({})

    def write(self, changes):
        """The example, smaller, with all of this part in it."""
        yaml = YAML()
        document = yaml.load(LAB.read_text().replace("10.77.", SUBNETS))
        document["name"] = NAME
        document["nodes"]["a100"]["hosts"] = "gpu-node[1-2]"
        document["environments"] = {
            "containers": ["oci"], "images": {"lab": IMAGE}, "modules": "environment-modules",
            "caches": {"shared": "/shared/caches", "local": "/var/tmp/caches"},
            "python": {"seeing": self.python("1.0")}, **changes,
        }  # fmt: skip
        yaml.dump(document, self.file)
        return load_cluster(self.file)

    def python(self, version):
        """An environment with a package of that version."""
        return {
            "team": "vision", "path": "/shared/envs/seeing",
            "packages": [f"eyes=={version}"], "wheels": "/shared/wheels",
        }  # fmt: skip

    def apply(self, changes=None):
        """A report; changes of environments by name."""
        self.cluster = self.write(changes or {})
        return apply(self.cluster, str(self.file), remote_of(self.cluster))

    def run(self, host, text, *, code=0):
        """What a command on a host said, which ends so."""
        done = remote_of(self.cluster).run(host, text, timeout_s=200)
        assert done.code == code, f"{host}: {text}: {done.code}: {done.out}{done.err}"
        return done.out + (done.err if code else "")

    def bob(self, text, *, code=0):
        """Likewise, by an ordinary user in the shared folder."""
        return self.run("control", f"cd /shared && runuser -u bob -- {text}", code=code)


def wheel(folder, version):
    """The smallest wheel that pip takes."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"eyes-{version}.dist-info"
    with zipfile.ZipFile(folder / f"eyes-{version}-py3-none-any.whl", "w") as file:
        file.writestr("eyes.py", f"VERSION = '{version}'\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: eyes\nVersion: {version}\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Up and applied; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            shared = lab_folder(NAME) / "shared" / "shared"
            for version in ("1.0", "2.0"):
                wheel(shared / "wheels", version)
            report = site.apply()
            assert report.ok, [(host.host, host.error) for host in report.hosts]
            (shared / "images").mkdir(mode=0o755)
            site.venv = find(None, print)
            make_image(remote_of(site.cluster), folder, shared / "images" / "lab", site.venv.binds())
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


def test_a_second_apply_changes_nothing(site):
    """Of all of it; our own library comes from this working tree, which somebody may be writing in."""
    changes = [(change.id, change.summary) for host in site.apply().hosts for change in host.changes]

    assert [change for change in changes if not change[0].startswith("file:/opt/clusterwright/lib/")] == []


def test_a_step_in_an_image_is_the_users_own_with_the_gpus_and_the_environment_of_the_step(site):
    """On two hosts, at once: the image's files, the host's name and network, GPUs of the step and no others."""
    told = "$SLURM_PROCID $CUDA_VISIBLE_DEVICES $FROM_THE_IMAGE"
    tell = f"id -un; cat /etc/image-name; hostname; pwd; echo {told}; {GPUS}"
    said = site.bob(
        f'srun --label -N2 --gres=gpu:2 --container={IMAGE} bash -c "{tell.replace("$", chr(92) + "$")}"'
    )
    by_rank = [[line[3:] for line in said.splitlines() if line.startswith(f"{rank}: ")] for rank in (0, 1)]

    assert by_rank[0] == ["bob", "image of the lab", "gpu-node1", "/shared", "0 0,1 yes", "0011"]
    assert by_rank[1] == ["bob", "image of the lab", "gpu-node2", "/shared", "1 0,1 yes", "0011"]


def test_nothing_of_a_step_stays_on_the_host(site):
    """Not even where it was killed: no process, no state of the runtime, no folder."""
    job = site.bob(
        f"sbatch --parsable -N2 -o /dev/null --wrap 'srun --container={IMAGE} sleep 12345'"
    ).strip()
    find = "pgrep -f '^sleep 12345' | wc -l"
    wait = f"for i in $(seq 60); do [ $({find}) = 1 ] && break; sleep 0.5; done; {find}"
    began = [site.run(host, wait).strip() for host in ("gpu-node1", "gpu-node2")]
    site.bob(f"scancel {job}")
    left = "ls -d /run/clusterwright-oci/* /tmp/slurm-* /var/spool/slurmd/oci-* 2>/dev/null"
    over = f'[ $({find}) = 0 ] && [ -z "$({left})" ]'
    gone = f"for i in $(seq 60); do {over} && break; sleep 0.5; done; {find}; {left}; true"

    assert began == ["1", "1"]
    assert [site.run(host, gone).strip() for host in ("gpu-node1", "gpu-node2")] == ["0", "0"]


def test_a_batch_script_in_an_image_can_use_slurm(site):
    """With `sbatch --container` srun is missing elsewhere; files that users write outside are theirs."""
    lines = (
        "#!/bin/sh",
        "cat /etc/image-name",
        "srun hostname | sort",
        "squeue -h -j $SLURM_JOB_ID -o %T",
        "echo x >mine",
    )
    said = " ".join(f"'{line}'" for line in lines)
    site.run("control", f"printf '%s\\n' {said} >/shared/batch.sh; install -d -o bob /shared/bobs")
    submit_it = f"sbatch --wait -N2 -o /shared/bobs/out --container={IMAGE} /shared/batch.sh"
    site.bob(f"sh -c 'cd /shared/bobs && {submit_it}'")

    assert site.run("control", "cat /shared/bobs/out").split("\n")[:4] == [
        "image of the lab", "gpu-node1", "gpu-node2", "RUNNING"
    ]  # fmt: skip
    assert site.run("control", "stat -c '%U %G' /shared/bobs/mine").split() == ["bob", "vision"]


def test_what_an_image_lacks_is_named(site):
    """A program, a place for a folder, and the image itself."""
    none = site.bob(f"srun --container={IMAGE} python9", code=1)
    site.run("gpu-node1", "mkdir -p /data; chmod 755 /data")
    place = site.bob(f"env CLUSTERWRIGHT_MOUNTS=/data srun -w gpu-node1 --container={IMAGE} true", code=1)
    image = site.bob("srun --container=/shared/images/none true", code=130)

    assert "clusterwright: the image has no python9" in none
    assert (
        f"the image has no mount point for /data. Its owner creates one with `mkdir -p {IMAGE}/rootfs/data`"
        in place
    )
    assert "No such file or directory" in image


def test_a_user_without_a_home_is_named_and_the_step_goes_on(site):
    """On the host that lacks it, with the fix."""
    site.run("gpu-node1", "mv /home/bob /home/elsewhere")
    said = site.bob(f"srun -w gpu-node1 --container={IMAGE} sh -c 'echo HOME is $HOME' 2>&1")
    site.run("gpu-node1", "mv /home/elsewhere /home/bob")

    assert "HOME is /tmp\n" in said
    assert (
        "bob has no home at /home/bob on gpu-node1, so HOME is /tmp. Run `wright apply` to create homes"
        in said
    )


def job(name, **fields):
    """A training of a few steps on two hosts."""
    return Job.model_validate(
        {
            "name": name, "recipe": "gpt", "arguments": {"steps": 20}, "nodes": 2, "gpus_per_node": 2, "time": "10m",
            "user": "bob", "checkpoint": {"every": "10 steps"}, **fields,
        },
        strict=False,
    )  # fmt: skip


def ended(site, run, limit_s=240):
    """How the run ended, and the losses of its first rank, bit by bit."""
    until = time.monotonic() + limit_s
    while not (text := site.run("control", f"cat {run.folder}/ended.json 2>/dev/null; true")):
        assert time.monotonic() < until, site.run("control", f"tail -n 40 {run.folder}/slurm*.out")
        time.sleep(1)
    said = site.run("control", f"cat {run.folder}/events/rank-00000.jsonl 2>/dev/null; true")
    steps = [json.loads(line) for line in said.splitlines() if '"event": "step"' in line]
    return json.loads(text), [step["loss"] for step in steps]


def test_a_training_in_an_image_has_the_losses_of_one_outside(site):
    """Torch and its Python are mounted into it; agents, ranks and checkpoints are as ever."""
    remote = remote_of(site.cluster)
    python = f"{site.venv.prefix}/bin/python"
    boxed = {
        "container": {"image": IMAGE, "mounts": list(site.venv.binds())},
        "environment": {"python": python},
        "recovery": {"on_host_loss": "shrink"}, "elastic": {"min_nodes": 1},
    }  # fmt: skip
    found = [ended(site, submit(one, site.cluster, remote)) for one in (job("boxed", **boxed), job("bare"))]

    assert [end["outcome"] for end, _losses in found] == ["finished", "finished"]
    assert len(found[0][1]) == 20
    assert found[0][1] == found[1][1]


def test_an_image_without_torch_ends_the_run_before_any_rank(site):
    """Its own Python is there; the run says what is not."""
    run = submit(job("bare-python", container={"image": IMAGE}), site.cluster, remote_of(site.cluster))
    end, losses = ended(site, run, limit_s=60)

    assert end["outcome"] == "failed"
    assert end["reason"] == f"image {IMAGE} (oci, python3): there is no torch in /usr/bin/python3"
    assert losses == []


def test_the_environment_is_the_teams_and_not_roots(site):
    """Made by the first member, writable by the team, on shared storage; `module load` finds it, and the image."""
    ask = 'command -v python; python -c "import eyes; print(eyes.VERSION)"; srun cat /etc/image-name'
    load = f"bash -lc 'module load python/seeing image/lab && {{ {ask}; }}'"
    owner = site.run("gpu-node1", "stat -L -c '%U %G %A' /shared/envs/seeing").split()

    assert owner == ["bob", "vision", "drwxrwxr-x"]
    assert site.bob(load).splitlines() == ["/shared/envs/seeing/bin/python", "1.0", "image of the lab"]


def test_packages_that_cannot_be_had_are_named_and_all_else_is_done(site):
    """What was there stays; the next apply tries again, with what the file says then."""
    other = {
        "team": "language",
        "path": "/shared/envs/speaking",
        "wheels": "/shared/wheels",
        "packages": ["eyes"],
    }
    report = site.apply({"python": {"seeing": site.python("9.9"), "speaking": other}})
    errors = {host.host: host.error for host in report.hosts if host.error}
    versions = [
        site.run("control", f"/shared/envs/{name}/bin/python -c 'import eyes; print(eyes.VERSION)'").strip()
        for name in ("seeing", "speaking")
    ]
    fixed = site.apply({"python": {"seeing": site.python("2.0"), "speaking": other}})

    assert list(errors) == ["control"]
    assert "environment `seeing`" in errors["control"]
    assert "eyes==9.9` failed; the previous version stays" in errors["control"]
    assert versions == ["1.0", "2.0"]
    assert fixed.ok
    assert "2.0" in site.run(
        "control", "/shared/envs/seeing/bin/python -c 'import eyes; print(eyes.VERSION)'"
    )
    assert site.apply().ok


def test_caches_are_each_users_own(site):
    """In a login shell, for whoever logs in."""
    said = site.bob(
        "bash -lc 'echo $HF_HOME $TRITON_CACHE_DIR; mkdir -p $HF_HOME $TRITON_CACHE_DIR && echo made'"
    )

    assert said.split() == ["/shared/caches/bob/huggingface", "/var/tmp/caches/bob/triton", "made"]
