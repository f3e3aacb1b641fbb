"""Answers are learned and nothing else, by all weights or by small ones beside them."""

import json
import sys

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
tokenizers = pytest.importorskip("tokenizers")

from clusterwright.runtime.recipes import dialogues, lora, tokens
from clusterwright.runtime.recipes.models.llama import Llama
from clusterwright.runtime.recipes.models.llama_config import Config

pytestmark = pytest.mark.train

SHAPE = {
    "model_type": "llama", "vocab_size": 256, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
SMALL = [
    "--batch",
    8,
    "--microbatch",
    3,
    "--context",
    48,
    "--warmup",
    4,
    "--evaluate-every",
    6,
    "--learning-rate",
    1e-2,
]
LINES = [{"prompt": f"say {n}", "response": "abcdefghij"[n % 10] * (1 + n % 7)} for n in range(60)]


@pytest.fixture
def both(numbers, measured):
    """The loss of each step, and at 0 the last evaluation's."""
    return lambda trained: {0: measured(trained, "validation"), **numbers(trained)}


@pytest.fixture
def model(tmp_path):
    """A folder with a model of random weights."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SHAPE))
    torch.manual_seed(5)
    safetensors.save_file(
        {name: each.detach() for name, each in Llama(Config.from_dict(SHAPE)).named_parameters()},
        folder / "model.safetensors",
    )
    return folder


@pytest.fixture
def lines(tmp_path):
    """`lines(...)` is a file of these."""

    def write(*values):
        path = tmp_path / "data.jsonl"
        path.write_text("".join(f"{v if isinstance(v, str) else json.dumps(v)}\n" for v in values))
        return path

    return write


@pytest.mark.parametrize("more", [[], ["--lora", 4]], ids=["full", "lora"])
@pytest.mark.parametrize(
    ("ranks", "parallel"),
    [(2, {}), (2, {"shard": "full"}), (4, {"shard": "full", "shard_group": 2}), (2, {"pipeline": 2})],
    ids=str,
)
def test_every_layout_is_the_same_training(recipe, both, model, lines, ranks, parallel, more):
    """Though each step has another number of answers' tokens on each rank: the mean is over all of them."""
    how = ["instruct", *SMALL, *more, "--model", model, "--data", lines(*LINES), "--steps", 6]
    alone = recipe(*how, folder="alone")
    cut = recipe(*how, ranks=ranks, parallel=parallel, folder="cut")

    assert alone.codes == [0], alone.log
    assert cut.codes == [0] * ranks, cut.log
    assert both(cut) == pytest.approx(both(alone), rel=1e-4)


def test_a_tensor_group_takes_all_weights_and_refuses_small_ones(recipe, numbers, model, lines):
    """Matrices beside those that are cut are not done."""
    how = ["instruct", *SMALL, "--model", model, "--data", lines(*LINES), "--steps", 3]
    alone = recipe(*how, folder="alone")
    cut = recipe(*how, ranks=2, parallel={"tensor": 2}, folder="cut")
    refused = recipe(*how, "--lora", 4, ranks=2, parallel={"tensor": 2}, folder="refused")

    assert numbers(cut) == pytest.approx(numbers(alone), rel=1e-4)
    assert refused.codes == [1, 1]
    assert "--lora does not support parallel: tensor: 2" in refused.log


@pytest.mark.parametrize("more", [[], ["--lora", 4]], ids=["full", "lora"])
def test_it_resumes_bit_for_bit(recipe, model, lines, more):
    """Also where most of the weights are frozen."""
    how = ["instruct", *SMALL, *more, "--model", model, "--data", lines(*LINES), "--warmup", 50]
    whole = recipe(*how, "--steps", 6, ranks=2, folder="whole")
    recipe(*how, "--steps", 3, ranks=2)
    parts = recipe(*how, "--steps", 6, ranks=2)

    assert whole.codes == parts.codes == [0, 0], parts.log
    assert parts.losses() == whole.losses()


def test_it_learns_to_answer_first_with_all_weights_then_with_small_ones_beside_them(recipe, model, lines):
    """Letters that follow from the questions; then others of them, by an adapter as peft reads it."""
    how = ["instruct", *SMALL, "--steps", 90, "--evaluate-every", 90]
    full = recipe(*how, "--model", model, "--data", lines(*LINES), folder="full")
    others = [{**line, "response": "fghijabcde"[n % 10] * (1 + n % 7)} for n, line in enumerate(LINES)]
    base = full.folder / "model"
    beside = recipe(*how, "--model", base, "--data", lines(*others), "--lora", 8, folder="beside")
    adapter = safetensors.load_file(beside.folder / "model" / "adapter_model.safetensors")
    told = json.loads((beside.folder / "model" / "adapter_config.json").read_text())
    begun, (ended,) = beside.events("step")[0]["loss"], [e["value"] for e in beside.events("measure")]

    assert full.codes == beside.codes == [0], full.log + beside.log
    assert [e["value"] < 2 for e in full.events("measure")] == [True]  # of 5.5, the logarithm of 256
    assert ended < begun / 2
    assert len(adapter) == 2 * 7 * 2  # A and B, of seven matrices, in two layers
    assert adapter["base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"].shape == (8, 32)
    assert (told["peft_type"], told["r"], told["lora_alpha"]) == ("LORA", 8, 16)


def test_small_matrices_change_nothing_in_the_beginning():
    """And only they learn."""
    torch.manual_seed(1)
    model, tokens_ = Llama(Config.from_dict(SHAPE)), torch.arange(20)[None]
    before = model.scores(tokens_)
    lora.adapt(model, 4, 8)

    assert torch.equal(model.scores(tokens_), before)
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    assert learning == {name for name, _ in model.named_parameters() if ".lora_" in name}


def words(sample):
    """What is seen, and what of it is learned."""
    learned = [token for token, mine in zip(sample.tokens, sample.learned, strict=True) if mine]
    return bytes(sample.tokens).decode(), bytes(learned).decode()


@pytest.mark.parametrize(
    ("line", "seen", "learned"),
    [
        ({"prompt": "1+1", "response": "2"}, "user: 1+1\nassistant: 2\n", "2\n"),
        ({"prompt": "1+1", "completion": "2"}, "user: 1+1\nassistant: 2\n", "2\n"),
        ({"instruction": "add", "input": "1 1", "output": "2"}, "user: add\n\n1 1\nassistant: 2\n", "2\n"),
        ({"instruction": "hi", "output": "hello"}, "user: hi\nassistant: hello\n", "hello\n"),
        (
            {"messages": [{"role": r, "content": c} for r, c in [("system", "s"), ("user", "a"), ("assistant", "b"),
                                                                 ("user", "c"), ("assistant", "d")]]},
            "system: s\nuser: a\nassistant: b\nuser: c\nassistant: d\n", "b\nd\n",
        ),
    ],
)  # fmt: skip
def test_only_answers_are_learned(line, seen, learned):
    """And where they end."""
    assert words(dialogues.encode(list(dialogues.turns(line)), tokens.Bytes())) == (seen, learned)


def test_llama_3_signs_are_used_where_the_tokenizer_has_them(tmp_path):
    """`<|start_header_id|>user<|end_header_id|>`, two ends of lines, the words, `<|eot_id|>`."""
    signs = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"\n\n": 0, "user": 1, "assistant": 2, "hi": 3}, "hi")
    )
    made.add_special_tokens(signs)
    made.save(str(tmp_path / "tokenizer.json"))
    found = tokens.find(str(tmp_path))
    begin, opens, closes, end = (found.special(sign) for sign in signs)

    sample = dialogues.encode([("user", "hi"), ("assistant", "hi")], found)
    assert sample.tokens == [begin, opens, 1, closes, 0, 3, end, opens, 2, closes, 0, 3, end]
    assert sample.learned == [False] * 11 + [True] * 2


def test_what_fills_up_is_not_scored():
    """A shorter dialogue costs what it costs alone."""
    torch.manual_seed(1)
    model = Llama(Config.from_dict(SHAPE))
    short, long = (
        dialogues.encode([("user", "a"), ("assistant", text)], tokens.Bytes()) for text in ("b", "c" * 30)
    )
    alone, other, both = (model(*dialogues.pad(each)).item() for each in ([short], [long], [short, long]))

    assert both == pytest.approx(alone + other, rel=1e-5)


GOOD = LINES[:5]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"prompt": "a", ', "not JSON"),
        ('{"text": "a"}', "neither `messages`, `instruction` nor `prompt`"),
        ('{"prompt": "a"}', "completion"),
        ('{"prompt": 1, "response": "a"}', "each turn must be a string"),
        ('{"messages": [{"role": "tool", "content": "a"}]}', "role tool"),
        ('["a"]', "neither `messages`"),
        ("7", "not iterable"),
        (json.dumps({"prompt": "a" * 99, "response": "b"}), "no answer within --context 48"),
    ],
)
def test_a_bad_line_is_named_and_passed_over_only_if_that_is_wanted(lines, bad, reason):
    """File, number and reason; and those that were passed over are counted."""
    path = lines(*GOOD[:3], bad, *GOOD[3:])
    with pytest.raises(ValueError, match="--skip-bad") as refused:
        dialogues.read(str(path), tokens.Bytes(), 48, skip_bad=False)
    read = dialogues.read(str(path), tokens.Bytes(), 48, skip_bad=True)

    assert f"{path}: sample 3: " in str(refused.value)
    assert reason in str(refused.value)
    assert len(read.training) + len(read.validation) == 5
    assert [each.startswith(f"{path}: sample 3: ") for each in read.bad] == [True]


def test_bad_lines_are_in_the_runs_events(recipe, model, lines):
    """How many, and the first of them."""
    path = lines(*GOOD, "{", *LINES[5:])
    done = recipe("instruct", *SMALL, "--model", model, "--data", path, "--steps", 1, "--skip-bad")
    (event,) = done.events("data")

    assert done.codes == [0], done.log
    assert (event["samples"], event["held_out"], event["bad"]) == (57, 3, 1)
    assert "sample 5: not JSON" in event["first_bad"][0]


@pytest.mark.parametrize(
    ("values", "reason"),
    [([], "has no samples"), (GOOD[:1], "has 1 usable of 1 lines; at least two are needed")],
)
def test_too_few_lines_are_refused(lines, values, reason):
    """A file without any is named."""
    with pytest.raises(ValueError, match=reason) as refused:
        dialogues.read(str(lines(*values)), tokens.Bytes(), 48, skip_bad=True)
    assert "data.jsonl" in str(refused.value)


def test_a_model_without_weights_is_refused(recipe, model, lines):
    """A shape alone is enough to train a llama anew, not to teach one."""
    (model / "model.safetensors").unlink()
    refused = recipe("instruct", *SMALL, "--model", model, "--data", lines(*LINES))

    assert refused.codes == [1]
    assert "has neither model.safetensors nor" in refused.log


def test_a_tokenizer_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    """Or the extra that is missing."""
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        tokens.find(str(tmp_path))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install clusterwright\[train\]"):
        tokens.find(str(tmp_path))
