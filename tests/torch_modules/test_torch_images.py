"""Images on the device: crop, flip, normalise and resize, against plain loops."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from condrisk.torch._images import (
    InputSpec,
    channel_statistics,
    crop_and_flip,
    cut_out,
    largest_shift,
    prepare,
    upload,
)

CPU = torch.device("cpu")


def random_pixels(seed, shape=(5, 8, 16, 3)):
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)


def plain(channels=3, size=None):
    return InputSpec(torch.zeros(channels), torch.ones(channels), size)


def test_crop_and_flip_by_hand(seed):
    images = random_pixels(seed)
    rng = np.random.default_rng(seed)
    rows, down = rng.integers(0, 5, 20), rng.integers(-1, 2, 20)
    right, flip = rng.integers(-2, 3, 20), rng.integers(0, 2, 20)
    numbers = (torch.from_numpy(v) for v in (rows, down, right, flip))
    ours = crop_and_flip(torch.from_numpy(images), *numbers).numpy()
    for k in range(20):
        image = np.pad(images[rows[k]], [(1, 1), (2, 2), (0, 0)], mode="reflect")
        y, x = 1 + down[k], 2 + right[k]
        if flip[k]:  # the whole padded image, seen from the other side
            image = np.pad(images[rows[k]][:, ::-1], [(1, 1), (2, 2), (0, 0)], mode="reflect")
            x = 2 - right[k]
        assert_array_equal(ours[k], image[y : y + 8, x : x + 16])


def test_without_moves_the_image_is_itself(seed):
    images = torch.from_numpy(random_pixels(seed))
    none = torch.zeros(5, dtype=torch.long)
    assert torch.equal(crop_and_flip(images, torch.arange(5), none, none, none), images)
    flipped = crop_and_flip(images, torch.arange(5), none, none, none + 1)
    assert torch.equal(flipped, images.flip(2))


def test_reach_is_four_pixels_of_32():
    assert largest_shift(torch.zeros(1, 32, 32, 3)) == (4, 4)
    assert largest_shift(torch.zeros(1, 8, 64, 1)) == (1, 8)
    assert largest_shift(torch.zeros(1, 1, 5, 1)) == (0, 0)


@pytest.mark.parametrize("n_rows", [3, 5000])
def test_statistics(n_rows, seed):
    images = random_pixels(seed, (n_rows, 3, 2, 3))
    mean, scale = channel_statistics(torch.from_numpy(images))
    flat = images.reshape(-1, 3).astype(np.float64)
    assert_allclose(mean, flat.mean(axis=0), rtol=1e-6)
    assert_allclose(scale, 1 / flat.std(axis=0), rtol=1e-6)


def test_statistics_far_from_zero_and_of_one_colour(seed):
    offset = 1e4 + np.random.default_rng(seed).normal(size=(100, 4, 4, 2))
    offset[..., 1] = 3.0
    mean, scale = channel_statistics(torch.tensor(offset, dtype=torch.float32))
    assert_allclose(mean, [1e4, 3], rtol=1e-4)
    assert_allclose(scale, [1, 1], rtol=0.1)


def test_show_normalises(seed):
    images = random_pixels(seed)
    spec = InputSpec(torch.tensor([1.0, 2, 3]), torch.tensor([0.5, 1, 2]), None)
    x = prepare(torch.from_numpy(images), spec)
    expected = (images.astype(np.float32) - [1, 2, 3]) * [0.5, 1, 2]
    assert_allclose(x, expected.transpose(0, 3, 1, 2), rtol=1e-6)
    assert x.is_contiguous(memory_format=torch.channels_last)


def test_rows_are_only_normalised(seed):
    rows = torch.from_numpy(np.random.default_rng(seed).normal(5, 3, size=(50, 4)))
    x = prepare(rows, InputSpec(*channel_statistics(rows), None))
    expected = (rows - rows.mean(dim=0)) / rows.std(dim=0, correction=0)
    assert_allclose(x, expected, rtol=1e-3, atol=1e-4)


def test_resizing():
    ramp = np.tile(np.arange(8.0)[:, None, None], (1, 8, 3))[None]
    up = prepare(torch.tensor(ramp), plain(size=16))
    assert up.shape == (1, 3, 16, 16)
    assert_allclose(up[0, 0, 4:12, 3], np.arange(1.75, 5.5, 0.5))
    down = prepare(torch.tensor(ramp), plain(size=4))
    assert_allclose(down[0, 0, :, 0], [0.5, 2.5, 4.5, 6.5], atol=0.3)
    # An average over all pixels and not a look at the two in the middle, which are black here.
    stripes = np.tile(np.array([1, 0, 0, 1, 1, 0, 0, 1])[:, None, None], (1, 8, 3))[None]
    assert_allclose(prepare(torch.tensor(stripes), plain(size=2))[0, 0], 0.5, atol=0.15)
    same = prepare(torch.tensor(ramp), plain(size=8))
    assert_allclose(same[0, 0], ramp[0, :, :, 0])


def test_upload_takes_read_only_arrays_and_keeps_bytes(tmp_path):
    images = random_pixels(0)
    np.save(tmp_path / "images.npy", images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    put = upload(mapped, CPU)
    assert put.dtype == torch.uint8
    assert torch.equal(put, torch.from_numpy(images))
    assert upload(images.astype(np.float32), CPU).dtype == torch.float32


@pytest.mark.parametrize("size", [1, 3, 4, 40])
def test_a_square_is_blanked_out(size, seed):
    images = random_pixels(seed, shape=(30, 8, 16, 3))
    rng = np.random.default_rng(seed)
    down, right = rng.integers(0, 8, 30), rng.integers(0, 16, 30)
    colour = torch.tensor([1.0, 2.0, 250.0])
    middle = (torch.from_numpy(v) for v in (down, right))
    ours = cut_out(torch.from_numpy(images), *middle, size, colour).numpy()
    expected = images.copy()
    for image, y, x in zip(expected, down, right, strict=True):
        top, left = y - size // 2, x - size // 2
        image[max(top, 0) : top + size, max(left, 0) : left + size] = [1, 2, 250]
    assert_array_equal(ours, expected)
    assert ours.dtype == np.uint8
