"""`POST /decide`: the answers, in and out as JSON and Arrow."""

import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from condrisk._validation import LARGEST_RISK
from condrisk.app.serve import create_app
from condrisk.app.serve._arrow_rows import ARROW
from condrisk.app.serve._json_rows import JSON, JsonReader
from condrisk.app.serve._refusal import RefusedError
from condrisk.app.serve._responses import response_type
from condrisk.app.tables import Column, Schema

MODELS = (
    "linear",
    "logistic",
    "boosting",
    "forest",
    "budget",
    "classes",
    "numbers elsewhere",
    "labels elsewhere",
)


def arrow(frame):
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def expected(model, frame, **options):
    decision = model.decide(model.schema.check(frame).good, **options)
    return [
        {"prediction": p, "risk": r, "defer": d}
        for p, r, d in zip(
            decision.prediction.tolist(),
            decision.risk.tolist(),
            decision.deferred.tolist(),
            strict=True,
        )
    ]


def close(ours, theirs):
    """Equal but for rounding: the sums of linear models are taken in another order."""
    return len(ours) == len(theirs) and all(
        a["defer"] == b["defer"]
        and a["risk"] == pytest.approx(b["risk"], rel=1e-12)
        and (
            a["prediction"] == b["prediction"] or a["prediction"] == pytest.approx(b["prediction"])
        )
        for a, b in zip(ours, theirs, strict=True)
    )


def rows_for(model, rows):
    """The rows with what the predictor that lives elsewhere says, where there is one."""
    if model.prediction_column is None:
        return rows
    says = (lambda i: i / 10) if model.task == "regression" else lambda i: ["ill", "well"][i % 2]
    return [row | {"guess": says(i)} for i, row in enumerate(rows)]


@pytest.mark.parametrize("name", MODELS)
def test_json_and_arrow_get_what_the_model_decides(models, serve, new_rows, name):
    model = models[name]
    rows = rows_for(model, new_rows)
    frame = pl.DataFrame(rows)
    wanted = expected(model, frame)
    assert {row["defer"] for row in wanted} == {True, False}
    with serve(create_app(model)) as (client, _):
        as_json = client.post("/decide", json={"rows": rows})
        assert as_json.status_code == 200, as_json.text
        assert as_json.headers["content-type"] == JSON
        assert close(as_json.json()["rows"], wanted)
        typed = frame.with_columns(
            pl.col("seen").str.to_date(), pl.col("city").cast(pl.Categorical)
        )
        for body in (arrow(frame), arrow(typed), arrow(frame.with_columns(other=pl.lit(1)))):
            answer = client.post("/decide", content=body, headers={"Content-Type": ARROW})
            assert answer.headers["content-type"] == ARROW
            assert close(pl.read_ipc_stream(answer.content).to_dicts(), wanted)


def test_no_rows_get_no_decisions(client):
    assert client.post("/decide", json={"rows": []}).json() == {"rows": []}
    empty = pl.DataFrame({"x": []})
    answer = client.post("/decide", json={"rows": []}, headers={"Accept": ARROW})
    assert pl.read_ipc_stream(answer.content).height == empty.height
    assert pl.read_ipc_stream(answer.content).columns == ["prediction", "risk", "defer"]


def test_the_price_is_that_of_the_request(client, models, new_rows):
    model, frame = models["linear"], pl.DataFrame(new_rows)
    for cost in (0, 0.25, 3.0, 1e30):
        wanted = expected(model, frame, cost=cost)
        said = client.post("/decide", json={"rows": new_rows, "cost": cost})
        assert close(said.json()["rows"], wanted)
        said = client.post("/decide", params={"cost": cost}, json={"rows": new_rows})
        assert close(said.json()["rows"], wanted)
    said = client.post("/decide?cost=0", json={"rows": new_rows, "cost": 3.0})
    assert close(said.json()["rows"], expected(model, frame, cost=3.0))


@pytest.mark.parametrize("cost", [-1, "1", True, None, [], 1e31, -1e-300])
def test_what_is_no_price_is_refused(client, new_rows, cost):
    answer = client.post("/decide", json={"rows": new_rows[:1], "cost": cost})
    assert answer.status_code == 422
    assert "cost" in answer.json()["error"]


@pytest.mark.parametrize("cost", ["", "-1", "nan", "inf", "1_0", " 1", "1e999", "0x1", "one"])
def test_what_is_no_price_in_the_query_is_refused(client, new_rows, cost):
    answer = client.post("/decide", params={"cost": cost}, json={"rows": new_rows[:1]})
    assert answer.status_code == 422


def test_a_rule_without_a_price_takes_none(models, serve, new_rows):
    with serve(create_app(models["budget"])) as (client, _):
        answer = client.post("/decide", json={"rows": new_rows, "cost": 1.0})
        assert answer.status_code == 422
        assert "uses no price" in answer.json()["error"]
        description = client.get("/openapi.json").json()
        assert "cost" not in json.dumps(description["components"]["schemas"]["Question"])


@pytest.mark.parametrize("kind", [JSON, ARROW])
def test_bad_rows_are_named_and_nothing_is_decided(client, new_rows, kind):
    before = rows_decided(client)
    if kind == JSON:
        bad = {1: ("gaps", "much"), 4: ("smokes", "maybe"), 5: ("seen", "2024-02-31")}
        rows = [dict(row) for row in new_rows[:8]]
        for position, (name, value) in bad.items():
            rows[position][name] = value
        del rows[7]["x"]
        answer = client.post("/decide", json={"rows": rows})
        names = {p: name for p, (name, _) in bad.items()} | {7: "x"}
    else:
        frame = pl.DataFrame(new_rows[:8]).with_columns(pl.col("gaps").cast(pl.String))
        frame[2, "gaps"] = "much"
        answer = client.post("/decide", content=arrow(frame), headers={"Content-Type": ARROW})
        names = {2: "gaps"}
    assert answer.status_code == 422
    said = answer.json()
    assert said["error"].startswith(f"{len(names)} row")
    assert {fault["row"] for fault in said["rows"]} == set(names)
    for fault in said["rows"]:
        assert names[fault["row"]] in fault["reason"]
    assert rows_decided(client) == before


def test_a_table_without_a_column_is_refused(client, new_rows):
    frame = pl.DataFrame(new_rows).drop("city")
    answer = client.post("/decide", content=arrow(frame), headers={"Content-Type": ARROW})
    assert answer.status_code == 422
    assert "city" in answer.json()["error"]


def test_of_many_bad_rows_the_first_hundred_are_listed(client):
    answer = client.post("/decide", json={"rows": [{}] * 150})
    assert answer.json()["error"].startswith("150 rows")
    assert [fault["row"] for fault in answer.json()["rows"]] == list(range(100))


@pytest.mark.parametrize("guess", [None, "dead", 1, "Ill"])
def test_a_prediction_from_elsewhere_must_be_one(models, serve, new_rows, guess):
    with serve(create_app(models["labels elsewhere"])) as (client, _):
        answer = client.post("/decide", json={"rows": [new_rows[0] | {"guess": guess}]})
        assert answer.status_code == 422
        assert "guess" in answer.json()["rows"][0]["reason"]


def test_a_risk_beyond_all_numbers_is_the_largest_and_asked_about(client, new_rows):
    # The log-linear risk of such rows is beyond all numbers, or zero.
    rows = [dict(row) for row in new_rows]
    for position, x in {5: 1e30, 6: -1e30, 31: 1e29}.items():
        rows[position] |= {"x": x}
    answer = client.post("/decide", json={"rows": rows})
    assert answer.status_code == 200
    found = answer.json()["rows"]
    assert max(found[k]["risk"] for k in (5, 6, 31)) == LARGEST_RISK
    assert all(row["defer"] for row in found if row["risk"] == LARGEST_RISK)


def rows_decided(client):
    text = client.get("/metrics").text
    return float(
        next(line for line in text.splitlines() if line.startswith("condrisk_rows_total")).split()[
            1
        ]
    )


# -- content types ------------------------------------------------------------------------------


def test_accept_chooses_the_kind_of_the_answer(client, new_rows):
    body = {"rows": new_rows[:2]}
    assert (
        client.post("/decide", json=body, headers={"Accept": ARROW}).headers["content-type"]
        == ARROW
    )
    frame = pl.DataFrame(new_rows[:2])
    headers = {"Content-Type": ARROW, "Accept": JSON}
    answer = client.post("/decide", content=arrow(frame), headers=headers)
    assert answer.json() == client.post("/decide", json=body).json()
    assert client.post("/decide", json=body, headers={"Accept": "text/html"}).status_code == 406


@pytest.mark.parametrize(
    ("accept", "asked", "kind"),
    [
        (b"", JSON, JSON),
        (b"*/*", ARROW, ARROW),
        (b"text/html, application/json;q=0.9, */*;q=0.1", ARROW, JSON),
        (b"application/*", ARROW, ARROW),
        (b"application/json;q=0.1, application/vnd.apache.arrow.stream", JSON, ARROW),
        (b"application/json;q=0, */*", JSON, ARROW),
        (b"APPLICATION/JSON", ARROW, JSON),
        (b"application/json; q=x", ARROW, JSON),
    ],
)
def test_the_most_wanted_kind_wins(accept, asked, kind):
    assert response_type(accept, asked) == kind


def test_the_content_type_must_be_known(client, new_rows):
    body = json.dumps({"rows": new_rows[:1]})
    for kind, status in {
        "application/json; charset=utf-8": 200,
        "Application/JSON": 200,
        "text/plain": 415,
        "application/x-www-form-urlencoded": 415,
        "": 415,
    }.items():
        answer = client.post("/decide", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status
    assert client.get("/decide").status_code == 405
    assert client.get("/decide").headers["allow"] == "POST"
    assert client.get("/nowhere").json() == {"error": "Not Found."}


# -- JSON against the schema ----------------------------------------------------------------------

COLUMNS = (
    Column("n", "number", low=0.0, high=1.0),
    Column("c", "category", categories=("", "a", "ä", "3")),
    Column("b", "boolean"),
    Column("d", "date", low=0.0, high=9.0),
    Column("r", "number", low=0.0, high=1.0, required=True),
    Column("k", "category", categories=("a", "b"), required=True),
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "ä", "b", "3", "x", "2024-02-29", "2023-02-29", "0001-01-01"]),
    st.dates().map(str),
    st.text(st.characters(codec="utf-8"), max_size=3),
)


def reader(columns=COLUMNS, **options):
    return JsonReader(columns, most_rows=10, on_unseen=lambda: None, **options)


@given(st.sampled_from(COLUMNS), VALUES)
def test_a_value_that_json_lets_in_is_what_the_schema_takes_it_for(column, value):
    body = json.dumps({"rows": [{column.name: value}]}).encode()
    from condrisk.app.models._encode import encode_rows

    schema = Schema((column,))
    try:
        rows, _, _ = reader((column,)).read(body)
    except RefusedError:
        # Narrower than the schema, which reads text that is meant as something else.
        if column.kind == "number" and isinstance(value, int | float) and type(value) is not bool:
            assert schema.check(pl.DataFrame({column.name: [value]}, strict=False)).bad
        assert column.kind != "category" or not isinstance(value, str) or column.required
        return
    checked = schema.check(pl.DataFrame({column.name: [value]}, strict=False))
    assert not checked.bad
    np.testing.assert_array_equal(encode_rows(checked.good, schema), np.array(rows))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("n", "1"),
        ("n", True),
        ("n", 1.1e30),
        ("n", 10**400),
        ("n", [1]),
        ("c", 3),
        ("c", False),
        ("b", 0),
        ("b", "true"),
        ("d", "20240101"),
        ("d", "2024-W01-1"),
        ("d", "2024-13-01"),
        ("d", "２024-01-01"),
        ("d", 3),
        ("r", None),
        ("k", None),
        ("k", "c"),
    ],
)
def test_each_kind_of_value_is_checked(column, value):
    row = {"n": 1, "c": "a", "b": True, "d": "2024-01-01", "r": 0.5, "k": "b"}
    assert reader().read(json.dumps({"rows": [row]}).encode())[0] == [(1, 1, 1, 19723, 0.5, 1)]
    with pytest.raises(RefusedError) as caught:
        reader().read(json.dumps({"rows": [row, row | {column: value}]}).encode())
    assert list(caught.value.rows) == [1]
    assert f'column "{column}" holds' in caught.value.rows[1]


def test_an_unseen_category_is_counted(models, serve, new_rows):
    with serve(create_app(models["boosting"])) as (client, _):
        client.post("/decide", json={"rows": new_rows})
        frame = pl.DataFrame(new_rows)
        client.post("/decide", content=arrow(frame), headers={"Content-Type": ARROW})
        assert "condrisk_unseen_categories_total 2.0" in client.get("/metrics").text
