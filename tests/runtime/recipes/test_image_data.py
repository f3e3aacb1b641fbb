"""Images: read as they are, and named when they are not what they should be."""

import hashlib

import pytest

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from torch.nn import functional

from clusterwright.runtime import Reproducible
from clusterwright.runtime.data import Number
from clusterwright.runtime.recipes import image_data

pytestmark = pytest.mark.train


def test_the_digits_are_those_of_scikit_learn():
    """All 1,797, by the sum of what sklearn.datasets.load_digits of 1.9.1 gives."""
    training, validation, kind = image_data.digits()
    rows = [row for row in image_data._DIGITS.read_text().splitlines() if row[0] != "#"]

    assert (len(training), len(validation), kind) == (1438, 359, image_data.ImageKind(10, 1, 8))
    assert hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16] == "cb99f4dc6a84276f"
    assert sum(ord(each) - ord("a") for row in rows for each in row.split()[1]) == 561_718


def cifar(folder, records=20, label=3):
    """CIFAR-10's binary version, small: record n has the label, and pixels of n."""
    for name in ("data_batch_1", "data_batch_2", "test_batch"):
        rows = b"".join(bytes([label]) + bytes([n]) * 3072 for n in range(records))
        (folder / f"{name}.bin").write_bytes(rows)
    return folder


def test_cifar_is_read_as_its_makers_give_it(tmp_path):
    """Labels, then three planes; every batch but the last for training."""
    training, validation, kind = image_data.read(str(cifar(tmp_path)), 224, skip_bad=False)
    image, label = validation[7]

    assert (len(training), len(validation), kind) == (40, 20, image_data.ImageKind(10, 3, 32))
    assert (tuple(image.shape), label) == ((3, 32, 32), 3)
    assert torch.equal(image, image[:1, :1, :1].expand(3, 32, 32))


def test_images_in_memory_are_shifted_and_mirrored_by_their_number_and_epoch():
    """The same in any batch; each is one of all crops of the padded image, and all of them come."""
    images = torch.arange(1, 2 * 3 * 5 * 5 + 1, dtype=torch.uint8).view(2, 3, 5, 5)
    data = image_data.InMemory(images, torch.tensor([4, 7]), shift=1, flip=True, seed=3)
    padded = functional.pad((images.float() - data._mean) / data._spread, (1,) * 4)
    crops = [padded[1, :, top : top + 5, left : left + 5] for top in range(3) for left in range(3)]
    ways = [way for crop in crops for way in (crop, crop.flip(-1))]
    epochs = []
    for epoch in range(200):
        number = Number(1)
        number.epoch = epoch
        epochs.append(number)
    seen, labels = data.__getitems__(epochs)
    found = [next(n for n, way in enumerate(ways) if torch.equal(image, way)) for image in seen]

    assert set(labels.tolist()) == {7}
    assert set(found) == set(range(18))
    assert torch.equal(data[epochs[5]][0], seen[5])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "data_batch_2.bin").write_bytes(b"x" * 100), r"data_batch_2.bin has 100 bytes"),
        (lambda folder: (folder / "data_batch_1.bin").write_bytes(b""), r"data_batch_1.bin has 0 bytes"),
        (lambda folder: cifar(folder, label=10), r"data_batch_1.bin: record 0 has label 10, but there are"),
        (lambda folder: (folder / "test_batch.bin").unlink(), r"lacks data_batch_\*.bin or test_batch.bin"),
    ],
)  # fmt: skip
def test_files_of_cifar_that_are_not_whole_are_named(tmp_path, spoil, words):
    """Cut short, empty, of something else, or gone."""
    spoil(cifar(tmp_path))

    with pytest.raises(ValueError, match=words):
        image_data.read(str(tmp_path), 224, skip_bad=False)


@pytest.fixture
def folder(tmp_path):
    """Red and blue images, of two sizes; six of each for training, two for validation."""
    for part, count in [("train", 6), ("val", 2)]:
        for name, colour in [("red", (200, 0, 0)), ("blue", (0, 0, 200))]:
            (tmp_path / part / name).mkdir(parents=True)
            for n in range(count):
                Image.new("RGB", (40 + 10 * n, 30), colour).save(tmp_path / part / name / f"{n}.png")
    return tmp_path


def test_a_folder_of_images_has_a_class_for_each_folder(folder):
    """Cut to one size; another part each time in training, the same again for the same number and epoch."""
    training, validation, kind = image_data.read(str(folder), 24, skip_bad=False)
    again = Reproducible(training, seed=1)

    assert (len(training), len(validation), kind) == (12, 4, image_data.ImageKind(2, 3, 24))
    assert [label for _, label in (validation[n] for n in range(4))] == [0, 0, 1, 1]
    assert all(image.shape == (3, 24, 24) for image, _ in (training[n] for n in range(12)))
    assert torch.equal(again[5][0], again[5][0])


def test_the_middle_is_what_an_evaluation_sees():
    """Of a wide image with another colour at its sides, only the middle."""
    image = Image.new("RGB", (300, 100), (0, 0, 0))
    image.paste((255, 255, 255), (100, 0, 200, 100))
    seen = image_data.middle(image, 16)

    assert torch.equal(seen, ((1 - image_data._MEAN) / image_data._SPREAD).expand(3, 16, 16))


def test_a_recipe_trains_on_a_folder_and_passes_over_a_broken_image_only_if_told(recipe, folder):
    """It is named either way; with workers, as large sets need them."""
    broken = folder / "train" / "red" / "3.png"
    broken.write_bytes(broken.read_bytes()[:60])
    how = [
        "resnet",
        "--width",
        4,
        "--data",
        folder,
        "--side",
        24,
        "--batch",
        12,
        "--steps",
        2,
        "--workers",
        1,
    ]
    refused = recipe(*how, folder="refused")
    told = recipe(*how, "--skip-bad", folder="told")

    assert refused.codes == [1]
    assert f"{broken}: sample" in refused.log
    assert told.codes == [0], told.log
    assert f"skipping a bad sample: {broken}" in told.log
    assert any(str(broken) in event["message"] for event in told.events("bad_sample"))


def test_classes_that_differ_are_named(folder):
    """One that validation does not know could never be found."""
    (folder / "train" / "red").rename(folder / "train" / "green")

    with pytest.raises(ValueError, match="class `green` is in only one of train and val"):
        image_data.read(str(folder), 24, skip_bad=False)


def test_a_folder_of_nothing_we_know_is_refused(tmp_path):
    """And it is said what would be."""
    with pytest.raises(ValueError, match="neither CIFAR-10's"):
        image_data.read(str(tmp_path), 24, skip_bad=False)


def test_without_pillow_its_extra_is_said(monkeypatch):
    """Digits and CIFAR need none."""
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)

    with pytest.raises(ModuleNotFoundError, match=r"pip install clusterwright\[data\]"):
        image_data.opened(b"")
