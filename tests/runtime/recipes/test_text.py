"""Text from files."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.recipes import text

pytestmark = pytest.mark.train


def test_windows_follow_each_other_and_share_their_ends():
    """Each byte but the first is predicted once."""
    windows = text.Text(bytes(range(11)), 5).windows([0, 1], torch.device("cpu"))

    assert windows.tolist() == [[0, 1, 2, 3, 4, 5], [5, 6, 7, 8, 9, 10]]
    assert len(text.Text(bytes(10), 5)) == 1


def test_files_come_in_the_same_order_everywhere_and_some_are_held_out(tmp_path):
    """Names sorted, folders after files, foreign folders and other suffixes left out."""
    for name in ["b.py", "a.py", "c.so", "sub/x.txt", "site-packages/z.py", "tests/t.py"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name * 4)

    assert [str(path.relative_to(tmp_path)) for path in text.files(tmp_path)] == ["a.py", "b.py", "sub/x.txt"]
    training, validation = text.read(str(tmp_path), context=4, limit=10**6)
    assert (len(training), len(validation)) == ((16 + 36 - 1) // 4, (16 - 1) // 4)


def test_pythons_own_library_is_the_default():
    """It is wherever Python is."""
    training, validation = text.read("", context=64, limit=1_000_000)

    assert len(training) > len(validation) > 0


@pytest.mark.parametrize("files", [{}, {"a.py": "x"}, {"a.py": "x" * 99, "b.py": ""}])
def test_too_little_text_is_refused(tmp_path, files):
    """And it is said what is missing."""
    for name, content in files.items():
        (tmp_path / name).write_text(content)

    with pytest.raises(ValueError, match=r"fewer than two|not enough"):
        text.read(str(tmp_path), context=4, limit=100)
