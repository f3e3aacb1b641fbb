"""Layers that are computed again."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import recompute

pytestmark = pytest.mark.train


class Layer(torch.nn.Module):
    """Counts how often it is computed."""

    def __init__(self):
        super().__init__()
        self.linear, self.dropout, self.count = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), 0

    def forward(self, x):
        """One layer."""
        self.count += 1
        return self.dropout(self.linear(x))


class Model(torch.nn.Module):
    """Some layers, two folders deep."""

    def __init__(self, layers=4):
        super().__init__()
        self.inner = torch.nn.ModuleDict({"layers": torch.nn.ModuleList(Layer() for _ in range(layers))})

    def forward(self, x):
        """All layers."""
        for layer in self.inner["layers"]:
            x = layer(x)
        return x


def gradients(model):
    torch.manual_seed(1)
    model(torch.ones(3, 4)).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


def test_gradients_are_the_same_bit_for_bit_with_dropout_too():
    """Each layer is computed twice, and drops the same."""
    torch.manual_seed(0)
    model = Model()
    expected = gradients(model)
    torch.manual_seed(0)
    again = recompute(Model())

    assert all(torch.equal(*pair) for pair in zip(gradients(again), expected, strict=True))
    assert [layer.count for layer in again.inner["layers"]] == [2] * 4


def test_every_second_layer_keeps_what_it_computed():
    """Memory for time, by halves."""
    model = recompute(Model(), every=2)
    gradients(model)

    assert [layer.count for layer in model.inner["layers"]] == [2, 1, 2, 1]


def test_layers_can_be_named_and_names_stay():
    """A checkpoint does not see the difference."""
    model, plain = Model(), Model()
    recompute(model, layers=[model.inner["layers"][1]])
    gradients(model)

    assert [layer.count for layer in model.inner["layers"]] == [1, 2, 1, 1]
    assert list(model.state_dict()) == list(plain.state_dict())


def test_a_sequential_is_its_own_layers():
    """The outermost list of layers is the one."""
    model = recompute(torch.nn.Sequential(Layer(), torch.nn.Sequential(Layer(), Layer())))
    gradients(model)

    assert [layer.count for layer in (model[0], model[1][0])] == [2, 2]


def test_a_model_without_layers_is_refused():
    """It is said what to give."""
    with pytest.raises(ValueError, match=r"0 layers of Linear, every=1; fix: pass layers="):
        recompute(torch.nn.Linear(1, 1))
