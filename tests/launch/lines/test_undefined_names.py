"""Names that a script reads and nowhere defines, found without running it; correct scripts have none."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

from clusterwright.launch.lines.source import Script
from clusterwright.launch.lines.undefined_names import undefined_names

ROOT = Path(__file__).parents[3]
# A field guide's script as it is printed: no `import os`, and names that the reader has to fill in.
GUIDE = """import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))

def main():
    setup()
    model = MyModel().cuda()
    model = DDP(model, device_ids=[int(os.environ["LOCAL_RANK"])])
    loader = get_dataloader()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        for inputs, labels in loader:
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()

class Head(nn.Module):
    pass

if __name__ == "__main__":
    main()
"""
CORRECT = {
    "annotation": "def f(x: Undefined) -> Other: return x\n",
    "class": "class A:\n    x = 1\n    y = x\n    def f(self):\n        return __class__, A, __file__\n",
    "comprehension": "rows = [[b for b in a] for a in range(3)]\nf = lambda x: (x, rows)\n",
    "dynamic": "globals()['x'] = 1\nprint(x)\n",
    "function named top": "def top(file, *, other=1):\n    return [file for _ in (other,)]\n",
    "global": "def f():\n    global x\n    x = 1\ndef g():\n    return x\n",
    "guarded": "try:\n    unicode\nexcept NameError:\n    unicode = str\n",
    "late": "def f():\n    return g()\ndef g():\n    return 1\n",
    "match": "match 1:\n    case [a, *b]: print(a, b)\n    case {'k': c, **d}: print(c, d)\n",
    "nested": "def f(a):\n    def g():\n        nonlocal a\n        a = (b := 2)\n        return b\n    return g\n",
    "star": "from os.path import *\nprint(join)\n",
    "walrus": "if (n := len('x')) > 0: print(n)\n",
    "with": "import contextlib\nwith contextlib.suppress() as s: print(s)\nfor i, (j, k) in []: print(i, j, k)\n",
}


def script(text):
    """The script with this text."""
    return Script("train.py", Path("train.py"), text, ast.parse(text))


def test_a_script_as_a_guide_prints_it_names_its_lines():
    """Each name with the first line that reads it, and the import where there is one."""
    found = undefined_names(script(GUIDE))

    assert [(name.name, name.line) for name in found] == [
        ("os", 7), ("MyModel", 11), ("get_dataloader", 13), ("criterion", 17), ("nn", 21),
    ]  # fmt: skip
    assert found[0].message("train.py").endswith("add `import os`")
    assert "train.py:11: `MyModel` is not defined" in found[1].message("train.py")
    assert found[4].message("train.py").endswith("add `from torch import nn`")


@pytest.mark.parametrize("text", CORRECT.values(), ids=CORRECT)
def test_a_correct_script_has_none(text):
    """Scopes, late definitions, annotations, and names that come from elsewhere."""
    assert undefined_names(script(text)) == ()


@pytest.mark.parametrize(
    "folder",
    [ROOT / "examples", ROOT / "tests" / "onhost", ROOT / "src" / "clusterwright" / "runtime",
     Path(find_spec("torch").origin).parent / "distributed"],
    ids=lambda folder: folder.name,
)  # fmt: skip
def test_no_file_that_runs_has_a_finding(folder):
    """Our examples and tests, and torch's own packages."""
    findings = [
        name.message(str(path))
        for path in sorted(folder.rglob("*.py"))
        for name in undefined_names(script(path.read_text(encoding="utf-8")))
    ]

    assert findings == []
