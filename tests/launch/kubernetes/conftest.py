"""Clusters and jobs for Kubernetes, and the published schemas that manifests are held against."""

import json
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
from ruamel.yaml import YAML

from clusterwright.config.load import load_cluster, load_job
from clusterwright.launch.kubernetes.manifests import manifests
from clusterwright.launch.kubernetes.options import ManifestOptions

ROOT = Path(__file__).parents[3]
SCHEMAS = {
    path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "schemas").glob("*.json")
}


@pytest.fixture
def made(tmp_path):
    """`made(example, kind=..., cluster=[(old, new)], job=...)`: files and notes, and one of the files replaced in."""

    def make(example, *, cluster=(), job=(), **asked):
        paths = []
        for name, changes in (("cluster", cluster), (JOBS[example], job)):
            text = (
                (ROOT / f"examples/{example}/{name}.yaml").read_text().replace("stage: local", "stage: none")
            )
            for old, new in changes:
                assert old in text
                text = text.replace(old, new, 1)
            paths.append(tmp_path / f"{example}-{name}.yaml")
            paths[-1].write_text(text)
        spec = load_cluster(paths[0])
        chosen = {"version": (1, 33), "image": "reg.example.org/torch:2.8", **asked}
        files, left = manifests(spec, (load_job(paths[1], spec),), ManifestOptions(**chosen))
        return Made(files, left)

    return make


JOBS = {"lab": "gpt", "hgx": "gpt", "a100": "bert", "university": "resnet", "gpu1024": "pretrain"}


class Made:
    """Text by path, what was left out, and the objects in it."""

    def __init__(self, files, left):
        self.files, self.left = files, left
        texts = [text for path, text in files.items() if path.endswith(".yaml")]
        self.objects = [each for text in texts for each in YAML(typ="safe").load_all(text)]

    def of(self, kind):
        """All objects of that kind, by namespace and name."""
        return {
            (each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
            for each in self.objects
            if each["kind"] == kind
        }

    def only(self, kind):
        """The one object of that kind."""
        (found,) = self.of(kind).values()
        return found

    def pods(self):
        """Every pod template of a JobSet, or of what a TrainJob makes one of."""
        for each in (*self.of("JobSet").values(), *self.of("TrainingRuntime").values()):
            spec = each["spec"].get("template", each)["spec"]
            for job in spec["replicatedJobs"]:
                yield job["template"]["spec"]["template"]


def strict(value, schema):
    """Nothing that the published schema does not have, at any depth; pods are held against Kubernetes' own."""
    jsonschema.Draft202012Validator(schema).validate(value)


def core(value, version):
    """Kubernetes' own kinds, strictly."""
    kubernetes_validate.validate(value, version, strict=True)


def shape(value):
    """Names of all fields, at any depth."""
    if isinstance(value, dict):
        return tuple((name, shape(each)) for name, each in sorted(value.items()))
    return tuple(sorted({shape(each) for each in value})) if isinstance(value, list) else type(value).__name__


@pytest.fixture(scope="session")
def hold():
    """`hold(made, version, releases)`: every object is as Kubernetes of that version and operators of these want it.

    Gives their number, or raises. Kubernetes' schemas take a third of a second each, so of objects with the same
    fields one is held against them.
    """

    def check(made, version, releases):
        kinds = {kind: schema for name in releases for kind, schema in SCHEMAS[name]["kinds"].items()}
        own = [
            {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {}, "template": pod}
            for pod in made.pods()
        ]
        for each in made.objects:
            if "." in each["apiVersion"]:
                strict(each, kinds[f"{each['apiVersion']}/{each['kind']}"])
            else:
                own.append(each)
        for each in {shape(each): each for each in own}.values():
            core(each, version)
        return len(made.objects)

    return check
