"""Rows of published training throughput: what their words mean, and how near the stored coefficients come."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import pytest

from clusterwright.plan.cnn.rows import read, samples_of_row

PUBLISHED = Path(__file__).parents[3] / "bench" / "accuracy" / "published" / "cnn_training.csv"
MEASURED = ("samples_per_s_total", "samples_per_s_per_gpu", "time_to_train_min", "n_runs")


def published():
    """Rows with a throughput."""
    rows = csv.DictReader(PUBLISHED.read_text("utf-8").splitlines())
    return [row for row in rows if row["samples_per_s_total"]]


def row(**columns):
    """A row of ResNet-50 on one A100 with these columns."""
    return {"benchmark": "ResNet-50", "gpu_type": "A100-SXM4-80GB", "num_gpus": "1", **columns}


def test_one_gpu_is_within_the_gate():
    """Median error on one GPU is below 5%, P90 below 15%."""
    rows = [each for each in published() if each["num_gpus"] == "1"]
    errors = sorted(abs(samples_of_row(each)[0] / float(each["samples_per_s_total"]) - 1) for each in rows)

    assert len(errors) > 50
    assert statistics.median(errors) < 0.05
    assert errors[int(0.9 * len(errors))] < 0.15


def test_many_gpus_are_within_the_gate():
    """Median error on several GPUs is below 6%."""
    rows = [each for each in published() if each["num_gpus"] != "1"]
    errors = [abs(samples_of_row(each)[0] / float(each["samples_per_s_total"]) - 1) for each in rows]

    assert statistics.median(errors) < 0.06


def test_the_result_is_never_read():
    """Blank or absurd results change nothing."""
    each = published()[0]

    assert samples_of_row(each | dict.fromkeys(MEASURED, "")) == samples_of_row(
        each | dict.fromkeys(MEASURED, "1e9")
    )


@pytest.mark.parametrize(
    ("columns", "software"),
    [
        ({"framework": "MXNet NVIDIA Release 21.09", "source": "MLPerf"}, "mxnet"),
        ({"framework": "NVIDIA Release 22.04 Tensorflow, MxNet, pytorch", "source": "MLPerf"}, "mxnet"),
        ({"framework": "PyTorch 1.12.0a0", "source": "MLPerf"}, "pytorch"),
        ({"framework": "CUDA 11.6", "source": "MLPerf Training v2.1"}, "mxnet"),
        ({"framework": "PyTorch 21.03", "source": "NVIDIA DeepLearningExamples"}, "pytorch"),
        ({"framework": "TensorFlow 1.15"}, "tensorflow"),
        ({"framework": "TensorFlow 20.06-tf1 NGC (XLA)"}, "tensorflow-xla"),
        ({"framework": "PyTorch", "source": "Lambda deeplearning-benchmark"}, "pytorch-nchw"),
    ],
)
def test_software_is_told_from_words(columns, software):
    """A family, never a row."""
    assert read(row(**columns), []).software == software


@pytest.mark.parametrize(
    ("words", "kind", "ports", "rate"),
    [
        (
            "Storage: 2x ConnectX-6 IB HDR 200Gb/sec, Compute: 8x ConnectX-6 IB HDR 200Gb/Sec",
            "infiniband",
            8,
            25e9,
        ),
        (
            "Compute: 4 x Mellanox HDR 200 Gb/Sec +  Management: 1 x Mellanox 100 GB/Sec",
            "infiniband",
            4,
            25e9,
        ),
        ("1x Ethernet 40Gb/Sec, 8x ConnectX-6 IB HDR 200Gb/Sec", "infiniband", 8, 25e9),
        ("1x Ethernet 25Gb/Sec", "ethernet", 1, 3.125e9),
        ("", "infiniband", 8, 25e9),
    ],
)
def test_networks_are_read_from_words(words, kind, ports, rate):
    """The compute network's ports, or the vendor's reference system."""
    network = read(row(num_gpus="16", num_nodes="2", host_networking=words), []).machine.network

    assert (network.kind, network.nics, network.nic_bytes_per_s) == (kind, ports, rate)


def test_what_is_blank_is_said():
    """Batch, precision and GPU are inferred, and the note says how."""
    notes = samples_of_row({"benchmark": "resnet101", "gpu_type": "H900", "num_gpus": "2"})[1]

    assert "no batch given" in notes
    assert "no precision given: assumed mixed" in notes
    assert "unknown GPU `H900`" in notes


def test_another_kind_of_network_is_not_guessed():
    """No prediction, and the note says why."""
    assert samples_of_row(row(benchmark="NCF (MovieLens)")) == (
        None,
        "unknown network `NCF (MovieLens)`",
        None,
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ResNet-50 v1.5 (ImageNet)", "resnet50"),
        ("ResNet-50 v1.5 (ImageNet, Lambda)", "resnet50"),
        ("ResNeXt101-32x4d", "resnext10132x4d"),
        ("EfficientNet-B4 training", "efficientnetb4"),
    ],
)
def test_networks_are_known_by_many_spellings(text, name):
    """The words around the name do not matter."""
    found = read(row(benchmark=text), [])

    assert found is not None
    assert found.network.name == name


def test_bert_is_trained_by_the_same_rules():
    """SQuAD is padded to 384 tokens; its gradients are exchanged after the backward pass."""
    notes: list[str] = []
    found = read(row(benchmark="BERT-large SQuAD finetune (Lambda)", precision="fp16"), notes)

    assert found.software == "bert"
    assert found.network.seq_len == 384
    assert "sequences padded to 384 tokens" in notes
