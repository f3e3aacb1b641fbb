"""What a GPU can do at most comes from the catalog."""

from clusterwright.launch.peak import local_peak, peak


def test_a_clusters_gpu_is_found_by_its_model(a_job, cluster):
    """With its source, for each form of numbers."""
    found = peak(a_job(), cluster)

    assert found["name"].startswith("a100")
    assert found["peak"]["bf16"] == 312e12
    assert found["source"]


def test_this_machines_gpu_is_named_by_its_driver(tmp_path):
    """Two of a kind; where there is none, or one that nobody knows, nothing is made up."""
    for number in range(2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 7\n")

    assert local_peak(tmp_path)["name"].startswith("h100")
    assert local_peak(tmp_path / "none") is None
    (tmp_path / "1" / "information").write_text("Model: Odd Thing 9\n")
    assert local_peak(tmp_path) is None
    (tmp_path / "0" / "information").write_text("Model: Odd Thing 9\n")
    assert local_peak(tmp_path) is None
