"""Which columns drive the risk, against models of which it is known."""

import numpy as np
import polars as pl
import pytest

from condrisk.app.report._drivers import find_drivers


def rows(n, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "strong": rng.normal(size=n),
            "weak": rng.normal(size=n),
            "idle": rng.normal(size=n),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
        }
    )


def risk_of(frame):
    cities = frame["city"].replace_strict({"Rome": 2.0, "Oslo": 0.0, "Lima": 1.0}).to_numpy()
    return 3 * frame["strong"].to_numpy() - frame["weak"].to_numpy() + 0.1 * cities


def test_columns_come_in_the_order_of_their_effect_with_its_size(seed):
    frame = rows(3_000, seed)
    drivers, looked_at = find_drivers(frame, risk_of(frame), risk_of, random_state=seed)
    assert looked_at == 4
    assert [driver.column for driver in drivers] == ["strong", "weak", "city"]  # idle moves nothing
    # The mean distance of two independent standard normal values is 2/√π.
    assert drivers[0].change == pytest.approx(3 * 2 / np.sqrt(np.pi), rel=0.05)
    assert drivers[1].change == pytest.approx(2 / np.sqrt(np.pi), rel=0.05)
    assert sum(driver.share for driver in drivers) == pytest.approx(1)
    assert drivers[0].direction == "rises with it"
    assert drivers[1].direction in ("falls with it", "varies")


def test_the_direction_of_a_category_names_its_ends():
    frame = rows(3_000, 0)
    by_city = find_drivers(
        frame.select("city"),
        (risk := risk_of(frame.with_columns(strong=0.0, weak=0.0))),
        lambda rows: risk_of(frame.with_columns(strong=0.0, weak=0.0, city=rows["city"])),
    )[0][0]
    assert by_city.direction == (
        "highest for <bdi>Rome</bdi> (0.2), lowest for <bdi>Oslo</bdi> (0)"
    )
    assert risk.max() == 0.2


def test_time_is_kept_and_said():
    frame = rows(100, 0)
    drivers, looked_at = find_drivers(frame, risk_of(frame), risk_of, time_limit=-1.0)
    assert drivers == ()
    assert looked_at == 0


def test_at_most_some_thousand_rows_are_asked_about():
    frame = rows(10_000, 0)
    sizes = []

    def watched(sample):
        sizes.append(sample.height)
        return risk_of(sample)

    find_drivers(frame, risk_of(frame), watched)
    assert set(sizes) == {4_000}
