"""Names that a shell could misread never leave the spec."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from clusterwright.config import names
from clusterwright.config.names import limit_hosts, limit_reserved

HOSTS = st.lists(
    st.builds("{}{}".format, st.sampled_from(["gpu-node", "n", "rack1-gpu"]), st.integers(0, 300)),
    min_size=1,
    max_size=40,
)


def taken(kind, value):
    """True when the value is taken as it is."""
    try:
        return TypeAdapter(kind).validate_python(value, strict=True) == value
    except ValidationError:
        return False


NASTY = [
    "$(reboot)",
    "`id`",
    "a b",
    "a;b",
    "a\n",
    "a'b",
    'a"b',
    "-rf",
    "",
    "a/../b",
    "a|b",
    "a&b",
    "a>b",
    "*",
    "~",
    "ä",
    "a" * 300,
]


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "kind", ["HostName", "ClusterName", "AccountName", "Identifier", "SlurmName", "VariableName", "Hostlist"]
)
def test_what_a_shell_could_misread_is_no_name(kind, value):
    """Substitutions, spaces, quotes, options and newlines are refused for every kind of name."""
    assert not taken(getattr(names, kind), value)


@pytest.mark.parametrize(
    "value", ["/a/../b", "/a b", "/$(reboot)", "a/b", "/a\n", "/a;b", "~/a", "/a'b", "/ä", ""]
)
def test_paths_are_absolute_and_plain(value):
    """A path climbs nowhere and holds nothing that a shell expands."""
    assert not taken(names.HostPath, value)


@pytest.mark.parametrize(
    ("value", "path"), [("/a//b/", "/a/b"), ("//a", "/a"), ("/a/./b", "/a/b"), ("/", "/")]
)
def test_paths_are_written_one_way(value, path):
    """Doubled and trailing slashes are dropped, so that equal paths are equal texts."""
    assert TypeAdapter(names.HostPath).validate_python(value) == path


@pytest.mark.parametrize("value", ["root", "slurm", "munge", "systemd-network", "nobody", "sudo"])
def test_accounts_of_the_system_are_not_ours(value):
    """Declaring them would change the system."""
    assert not taken(names.AccountName, value)
    assert taken(names.LoginName, value)


@pytest.mark.parametrize("value", ["default", "DEFAULT", "Default", "ALL"])
def test_words_of_slurm_are_no_partitions(value):
    """PartitionName=DEFAULT would change every partition below it."""
    assert not taken(names.SlurmName, value)


@pytest.mark.parametrize(
    "value", ["RANK", "MASTER_ADDR", "SLURM_JOB_ID", "CLUSTERWRIGHT_RUN", "SBATCH_EXPORT"]
)
def test_variables_of_the_launcher_are_not_the_users(value):
    """Their values would be lost, or break the launch."""
    assert not taken(names.VariableName, value)


@pytest.mark.parametrize(
    "value", ["LD_PRELOAD", "NCCL_DEBUG", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "_x1"]
)
def test_other_variables_are(value):
    """What tunes a training is free."""
    assert taken(names.VariableName, value)


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "a\rb"])
def test_a_variables_value_is_one_line(value):
    """`sbatch --export` ends a value at a line break."""
    assert not taken(names.Line, value)


@pytest.mark.parametrize("value", ["it's", 'say "hi"', "two\nlines", "$HOME", "--lr=1e-3", "a b"])
def test_an_item_of_a_command_may_hold_quotes_and_line_breaks(value):
    """The script quotes them; only NUL and nothing are refused."""
    assert taken(names.CommandItem, value)
    assert not taken(names.CommandItem, value + "\0")
    assert not taken(names.CommandItem, "")


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("gpu-node[1-8]", 8),
        ("gpu[01-16]", 16),
        ("a,b,c", 3),
        ("n[1-2,7]", 3),
        ("rack[1-2]-n[1-3]", 6),
        ("control", 1),
    ],
)
def test_hostlists(value, count):
    """Slurm's own form, with padding, several ranges and two dimensions."""
    assert taken(names.Hostlist, value)
    assert len(names.expand(value)) == count


@pytest.mark.parametrize(
    "value",
    [
        "n[1-3", "n1-3]", "n[3-1]", "n[a-b]", "n[]", "n[1-]", "n,,m", "n,", ",n", "n[1-2]]", "@all", "n!m",
        "n&m", "n[1-9/2]", "N[1-3]", "n1,n1", "n[1-3,2]", "n[1-999999999]", "n[1-99999]", "a[1-300]b[1-300]",
        "1n", "default", "n" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_hostlist(value):
    """Malformed, empty, doubled, reserved or too many; the last are counted, not expanded."""
    assert not taken(names.Hostlist, value)


def test_many_hosts_with_several_numbers_are_folded_alike():
    """With padding: the folded text expands to the same hosts, each once, sorted by number."""
    pick = random.Random(1)
    hosts = {
        f"{pick.choice(['r', 'r0', 'rack1-'])}{pick.randrange(12)}{pick.choice(['', '-n', 'g0'])}{pick.randrange(40)}"
        for _ in range(900)
    }
    folded = names.fold(tuple(hosts))
    expanded = names.expand(folded)

    assert set(expanded) == hosts
    assert len(expanded) == len(hosts)
    assert taken(names.Hostlist, folded)
    assert names.expand("r[1-9]n[1-20]")[8:10] == ("r1n9", "r1n10")
    assert names.fold(names.expand("r[1-9]n[01-20],x")) == "x,r[1-9]n[01-20]"


@given(HOSTS)
def test_fold_is_the_inverse_of_expand(hosts):
    """expand(fold(x)) == x for any set of hosts, and what is folded is a hostlist."""
    folded = names.fold(hosts)

    assert set(names.expand(folded)) == set(hosts)
    assert taken(names.Hostlist, folded)


@given(st.text(st.sampled_from("agn-[],0123456789 @!&^/"), max_size=30))
def test_any_text_is_a_hostlist_or_is_refused(text):
    """The count made before is the number of hosts."""
    if taken(names.Hostlist, text):
        assert 1 <= len(names.expand(text)) <= names.MAX_HOSTS


@pytest.mark.parametrize(
    ("value", "count"),
    [("n[1-3,7]", 4), ("Node_1,gpu[1-2].x", 3), ("n[1-999999999]", 0), ("n[1-9999]m[1-9999]", 0),
     ("gpu-node[1--node[1--node[1-2]", 0), ("n[", 0), ("", 0), ("n[1-99999999999999999999]", 0)],
)  # fmt: skip
def test_a_hostlist_of_slurm_that_is_damaged_or_too_large_has_no_hosts(value, count):
    """It is not expanded first, which would take all memory."""
    assert len(names.expand_valid(value)) == count


def slurms_meaning(text):
    """The names of a hostlist by Slurm's rule: each bracket is replaced by each of its numbers."""
    names_of_all = []
    for part in re.split(r",(?![^\[]*\])", text):
        found = [""]
        for inside, letters in re.findall(r"\[(.*?)\]|([^\[]+)", part):
            numbers = [letters] if letters else []
            for first, last in re.findall("([0-9]+)-?([0-9]*)", inside):
                numbers += [
                    f"{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)
                ]
            found = [name + number for name in found for number in numbers]
        names_of_all += found
    return names_of_all


def test_a_hostlist_has_as_many_names_as_are_counted():
    """Digits and brackets beside a bracket change neither: count and names are those of Slurm."""
    pick = random.Random(27)
    pieces = [
        "a",
        "g1",
        "1",
        "-",
        "[1-2]",
        "[9-10]",
        "[2-12,9]",
        "[99,100,99]",
        "[08-11]",
        "[5]",
        ",",
        "n",
        "0",
    ]
    seen = 0
    for _ in range(20_000):
        text = "".join(pick.choices(pieces, k=pick.randrange(1, 8)))
        count = names.count_hosts(text)
        if not count or count > 3000:
            continue
        expected = slurms_meaning(text)
        assert (len(expected), set(expected)) == (count, set(names.expand(text))), text
        seen += 1
    assert seen > 5000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a1[9-10]", ("a19", "a110")),
        ("a9999999[9-10]", ("a99999999", "a999999910")),
        ("1[9-10]a", ("19a", "110a")),
        ("a[1-2][9-10]", ("a19", "a29", "a110", "a210")),
    ],
)
def test_digits_beside_a_bracket_belong_to_the_name(text, expected):
    """As Slurm reads them; read as digits of the bounds they would make millions of hosts."""
    begun = time.process_time()
    assert names.expand_valid(text) == names.expand(text) == expected
    assert time.process_time() - begun < 1


def test_a_large_cluster_is_expanded_at_once():
    """Also with two numbers in each name."""
    begun = time.process_time()
    assert len(names.expand("gpu-node[1-4096]")) == len(names.expand("rack[1-64]-n[01-64]")) == 4096
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("text", ["n[1-65537]", "a[1-300]b[1-300]", "n[", "n,,m", "n!m", "a" * 300])
def test_only_a_hostlist_within_the_limit_is_expanded(text):
    """Whoever expands a text need not count before."""
    with pytest.raises(names.HostlistError):
        names.expand(text)


def test_long_names_are_no_names_to_fold():
    """A damaged file may have them."""
    long = ["a" + "1" * 5000, *("a1b" * 700 + str(number) for number in range(70))]

    assert names.fold([*long, "n2", "n1"]) == ",".join(["n[1-2]", *sorted(long)])


@pytest.mark.parametrize("value", ["25.11", "22.05.8", "12.8", "580.95.05", "2.27.3-1", "8"])
def test_versions_are_text(value):
    """As vendors write them, in quotes."""
    assert taken(names.Version, value)


@pytest.mark.parametrize("value", [25.1, 8, "latest", "1.2; reboot", "", "v1"])
def test_what_is_no_version(value):
    """A number lost its zeros; words are no version."""
    assert not taken(names.Version, value)


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("docker://nvcr.io#nvidia/pytorch:25.09-py3", True),
        ("/shared/images/torch.sqsh", True),
        ("a b", False),
        ("$(x)", False),
    ],
)
def test_images(value, good):
    """URIs of enroot, and paths."""
    assert taken(names.Image, value) == good


def test_the_hosts_of_all_groups_are_limited_before_they_are_expanded():
    """A file of 60 kB would otherwise take minutes and all memory."""
    groups = {f"g{number}": {"role": "compute", "hosts": f"h{number}n[1-65536]"} for number in range(1000)}
    with pytest.raises(ValueError, match="with node group `g1` the cluster has more than 65536 hosts"):
        limit_hosts(groups)
    small = {"a": groups["g1"], "b": "x", "c": {"hosts": 5}}
    assert limit_hosts(small) == small


@pytest.mark.parametrize(
    ("limit", "field", "message"),
    [
        (limit_hosts, "absent", "with node group `g1` the cluster has more than 65536 hosts"),
        (limit_reserved, "hosts", "with `g1` the reservations list more than 65536 hosts"),
    ],
)
def test_all_hostlists_of_a_file_are_limited(limit, field, message):
    """Absent and reserved hosts are expanded as well."""
    sections = {
        f"g{number}": {field: f"h{number}n[1-65536]", "hosts": f"h{number}n[1-65536]"} for number in range(2)
    }
    if field == "absent":
        sections = {name: {**section, "hosts": "h1"} for name, section in sections.items()}

    with pytest.raises(ValueError, match=message):
        limit(sections)
    assert limit({"g0": sections["g0"]}) == {"g0": sections["g0"]}


def test_each_hostlist_of_the_model_is_limited():
    """A field with a hostlist that no limit counts would be expanded without end."""
    source = "".join(path.read_text() for path in Path(names.__file__).parent.glob("*.py"))

    assert re.findall(r"^ +(\w+): Hostlist\b", source, re.MULTILINE) == ["hosts", "absent", "hosts"]


@pytest.mark.parametrize("text", ["a[1-99999999]b[2-1],c", "a[1-30000000]b[5-],c", "x[2-1]"])
def test_an_empty_range_hides_no_large_one(text):
    """Of a product with zero, the other factor would be expanded first."""
    begun = time.process_time()
    assert names.expand_valid(text) == ()
    assert time.process_time() - begun < 1


def test_a_group_of_clustershell_is_a_text(monkeypatch, tmp_path):
    """Its resolver runs commands of the user's configuration; a host's name starts none."""
    folder = tmp_path / "clustershell"
    folder.mkdir()
    (folder / "groups.conf").write_text(
        "[Main]\ndefault: sp\n[sp]\nmap: touch " + str(tmp_path / "ran") + "; echo n1\n"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    code = (
        "from clusterwright.config.names import expand_valid, fold\n"
        "print(fold(['@sp:x', 'n2', 'n1', 'a[0-99999999]']), expand_valid('@sp:x'))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "n[1-2],@sp:x,a[0-99999999] ()\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("kind", "value", "valid"),
    [
        ("ObjectAddress", "s3://models/gpt", True),
        ("ObjectAddress", "s3://models", True),
        ("ObjectAddress", "s3://my.bucket/a/b/", True),
        ("ObjectAddress", "s3://Models/gpt", False),
        ("ObjectAddress", "models/gpt", False),
        ("ObjectAddress", "s3://m/$(reboot)", False),
        ("ObjectAddress", "s3://key:secret@models/gpt", False),
        ("HttpAddress", "https://rgw.example.org", True),
        ("HttpAddress", "http://10.0.0.9:9000/s3", True),
        ("HttpAddress", "https://key:secret@rgw.example.org", False),
        ("HttpAddress", "rgw.example.org", False),
        ("HttpAddress", "https://rgw.example.org/?token=x", False),
    ],
)
def test_addresses_of_object_storage_have_no_credentials(kind, value, valid):
    """Neither user and password nor a query; a bucket has S3's characters."""
    assert taken(getattr(names, kind), value) is valid
