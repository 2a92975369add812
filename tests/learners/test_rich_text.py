"""Texts that are most of what is known of a row."""

import numpy as np
import polars as pl

from condrisk.learners import TableEncoder


def texts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(f"word{k}" for k in rng.integers(300, size=12)) for _ in range(n)]


def test_words_pieces_and_shape_become_columns_of_their_own_scale():
    frame = pl.DataFrame({"text": texts(), "n": np.arange(200.0)})
    encoder = TableEncoder(rich_text=True)
    known = encoder.fit_transform(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names[0] == "text_word0"
    assert names[64] == "text_piece0"
    assert names[-1] == "n"
    assert known.shape == (200, len(names))
    blocks = encoder.blocks()
    assert len(set(blocks[:64])) == 1
    assert len(set(blocks[64:128])) == 1
    assert len(set(blocks[128:])) == len(names) - 128
    assert (encoder.sources()[:-1] == 0).all()
    plain = TableEncoder().fit(frame)
    assert len(plain.get_feature_names_out()) == 21


def test_shape_is_counted():
    rows = [*texts(60), "Is 2 + 2 = 4?\nYES"]
    encoder = TableEncoder(rich_text=True).fit(rows)
    names = [name.removeprefix("x0_") for name in encoder.get_feature_names_out()]
    shape = dict(zip(names, encoder.transform(rows)[-1], strict=True))
    assert shape["length"] == np.log1p(17)
    assert shape["words"] == np.log1p(7)
    assert shape["lines"] == np.log1p(1)
    assert shape["digits"] == 3 / 17
    assert shape["capitals"] == 4 / 17
    assert shape["questions"] == np.log1p(1)
    assert shape["symbols"] == 2 / 17


def size(rows, names, kind):
    own = [k for k, name in enumerate(names) if kind in name]
    return np.linalg.norm(rows[:, own], axis=1).mean()


def test_training_texts_are_no_nearer_to_the_components_than_new_ones():
    """Texts of noise: components that have seen a text would hold much more of it."""
    encoder = TableEncoder(rich_text=True)
    known, new = encoder.fit_transform(texts()), encoder.transform(texts(seed=1))
    seen = encoder.transform(texts())
    names = encoder.get_feature_names_out()
    for kind in ("_word", "_piece"):
        assert size(known, names[:128], kind) < 1.35 * size(new, names[:128], kind)
        assert size(seen, names[:128], kind) > size(known, names[:128], kind)
