"""The #SBATCH lines of a script become options of `wright train`, or are listed as left out."""

import pytest

from clusterwright.launch.sbatch_options import train_options


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("--time=30", "--time 30m"),
        ("--time=30:00", "--time 30m"),
        ("-t 48:00:00", "--time 2d"),
        ("--time 2-0", "--time 2d"),
        ("--time=1-12:30", "--time 1d12h30m"),
        ("--time=UNLIMITED", ""),
        ("-N2 -J gpt", "--nodes 2 --name gpt"),
        ('--job-name="my run"  # a comment', "--name my run"),
        ("--nodes=2\n--gpus=16", "--nodes 2 --gpus 8"),
        ("--ntasks-per-node=1\n--gpus-per-node=h100:8", "--gpus 8"),
        ("--gres=gpu:8", "--gpus 8"),
        ("--ntasks-per-node=4", "--gpus 4"),
        ("-p train -a 0-9%2", "--partition train --array 0-9%2"),
        ("-d afterok:12:13", "--dependency 12,13"),
    ],
)
def test_an_option_of_sbatch_is_one_of_train(lines, options):
    """In each of the forms that sbatch takes, with the value that it means."""
    text = "".join(f"#SBATCH {line}\n" for line in lines.splitlines())

    found, left_out = train_options(f"#!/bin/bash\n{text}python train.py\n")

    assert " ".join(part for option in found.items() for part in option) == options
    assert left_out == ([] if options else ["--time"])


def test_options_without_an_equivalent_are_left_out():
    """By their long names, also flags and those with a value after a blank."""
    text = "#SBATCH --mem=0\n#SBATCH --exclusive -o x.out\n#SBATCH --open-mode append\n#SBATCH -d singleton\n"

    assert train_options(text) == ({}, ["--mem", "--exclusive", "--output", "--open-mode", "--dependency"])
