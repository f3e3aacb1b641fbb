"""One name for one thing: --cluster, --out, --html, --json, in every command."""

from clusterwright.cli._command_tree import all_commands

# What a PATH may be called: the cluster file, results, pages, and other forms of them or other inputs.
PATHS = {
    "--cluster", "--out", "--html", "--csv", "--svg", "--cables", "--metrics",
    "--against", "--catalog", "--folder", "--job", "--trace", "--tls-cert", "--tls-key", "--users", "--root",
    "--requirements", "--hostfile",
}  # fmt: skip
POSITIONAL = {  # files that are the subject of a command
    ("dev", "FILE"), ("diff", "NEW"), ("kubernetes", "JOBS"), ("lint", "FILE"), ("lint", "MORE"),
    ("plan claims", "GUIDE"), ("plan predict", "TABLE"), ("tune training", "FILE"),
    ("validate", "FILE"), ("validate", "MORE"),
}  # fmt: skip


def options():
    """Every option of every command, with the command's words."""
    return [(" ".join(command.words), option) for command in all_commands() for option in command.options]


def test_paths_have_the_names_of_the_house():
    """The cluster file is never an argument, and nothing else is called --cluster."""
    for words, option in options():
        if option.value == "PATH" and option.is_positional:
            assert (words, option.names[0]) in POSITIONAL
        elif option.value == "PATH":
            assert option.names[0] in PATHS, words
        elif not option.is_positional:
            assert option.names[0] not in PATHS or words in ("dev", "status"), (
                words
            )  # a folder of a host; a flag


def test_a_cluster_file_is_found_unless_a_command_also_works_without_one():
    """The help of --cluster tells where it is searched."""
    for words, option in options():
        if option.names[0] == "--cluster" and not words.startswith(("plan ", "validate", "demo")):
            assert "CLUSTERWRIGHT_CLUSTER" in option.help or words == "checkpoints convert", words


def test_json_is_a_flag_everywhere():
    """It has no value and no other name."""
    found = [option for _, option in options() if "--json" in option.names]

    assert len(found) > 40
    assert all((option.names, option.value) == (("--json",), "") for option in found)


def test_options_that_pages_once_had_are_gone():
    """Nothing is written to --output or --report."""
    names = {name for _, option in options() for name in option.names}

    assert not names & {"--output", "--report", "--folder-of-runs"}
