"""`POST /decide`: the answers, in and out as JSON and Arrow."""

import copy
import io
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from condrisk.app.models import TableModel
from condrisk.app.scoring import score_file
from condrisk.app.serve import create_app
from condrisk.app.tables import TableError, check_rows
from condrisk.deferral import Decision
from condrisk.persistence import Column, Schema, save_model
from saved_models import outside_of

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"

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
    decision = model.decide(check_rows(model.schema, frame).good, **options)
    return [
        {"prediction": p, "risk": r, "defer": d, "outside": o}
        for p, r, d, o in zip(
            decision.prediction.tolist(),
            decision.risk.tolist(),
            decision.deferred.tolist(),
            outside_of(model, frame),
            strict=True,
        )
    ]


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
        assert as_json.json()["rows"] == wanted
        typed = frame.with_columns(
            pl.col("seen").str.to_date(), pl.col("city").cast(pl.Categorical)
        )
        for body in (arrow(frame), arrow(typed), arrow(frame.with_columns(other=pl.lit(1)))):
            answer = client.post("/decide", content=body, headers={"Content-Type": ARROW})
            assert answer.headers["content-type"] == ARROW
            assert pl.read_ipc_stream(answer.content).to_dicts() == wanted


@pytest.mark.parametrize("name", [*MODELS, "stranger", "pandas"])
def test_decisions_are_those_of_score(models, serve, new_rows, tmp_path, name):
    model = models[name]
    rows = rows_for(model, new_rows)
    pl.DataFrame(rows).write_csv(tmp_path / "rows.csv")
    score_file(model, tmp_path / "rows.csv", tmp_path / "scored.parquet")
    scored = pl.read_parquet(tmp_path / "scored.parquet").select(
        "prediction", "risk", "defer", pl.col("outside").fill_null("").str.split(", ")
    )
    scored = scored.with_columns(
        pl.col("outside").list.eval(pl.element().filter(pl.element() != ""))
    )
    as_text = pl.read_csv(tmp_path / "rows.csv", infer_schema=False)
    with serve(create_app(model)) as (client, _):
        for given in (rows, as_text.to_dicts()):
            answer = client.post("/decide", json={"rows": given})
            assert answer.json()["rows"] == scored.to_dicts()
        for frame in (pl.DataFrame(rows), as_text):
            headers = {"Content-Type": ARROW}
            answer = client.post("/decide", content=arrow(frame), headers=headers)
            assert pl.read_ipc_stream(answer.content).equals(scored)


def test_a_file_a_fitted_model_and_its_risk_are_served_alike(models, serve, new_rows, tmp_path):
    model = models["boosting"]
    save_model(model.model, tmp_path / "model.skops", model.schema)
    wanted = expected(model, pl.DataFrame(new_rows), cost=0.7)
    for served, options in (
        (tmp_path / "model.skops", {}),
        (str(tmp_path / "model.skops"), {"trusted": ["lightgbm"]}),
        (model.model, {"schema": model.schema, "target": "y"}),
        (model.model.risk_, {"schema": model.schema}),
    ):
        with serve(create_app(served, **options)) as (client, _):
            said = client.post("/decide", json={"rows": new_rows, "cost": 0.7})
            assert said.json()["rows"] == wanted
            if served is model.model.risk_:
                assert "cost" in client.post("/decide", json={"rows": new_rows}).json()["error"]
    with pytest.raises(ValueError, match="schema is for a fitted model"):
        create_app(tmp_path / "model.skops", schema=model.schema)


def test_no_rows_get_no_decisions(client):
    assert client.post("/decide", json={"rows": []}).json() == {"rows": []}
    empty = pl.DataFrame({"x": []})
    answer = client.post("/decide", json={"rows": []}, headers={"Accept": ARROW})
    assert pl.read_ipc_stream(answer.content).height == empty.height
    assert pl.read_ipc_stream(answer.content).columns == ["prediction", "risk", "defer", "outside"]


def test_rows_outside_what_was_seen_are_told_and_can_be_deferred(models, serve, new_rows):
    model = models["linear"]
    rows = [dict(row) for row in new_rows[:4]]
    rows[0]["x"], rows[1]["city"], rows[2]["smokes"] = 5000.0, "Atlantis", None
    rows[3] = model.schema.example
    wanted = [["x"], ["city"], ["smokes"], []]
    assert outside_of(model, pl.DataFrame(rows)) == wanted
    for defers in (False, True):
        with serve(create_app(model, defer_outside=defers)) as (client, _):
            asked = {"rows": rows, "cost": 1e30}
            said = client.post("/decide", json=asked).json()["rows"]
            assert [row["outside"] for row in said] == wanted
            assert [row["defer"] for row in said] == [defers] * 3 + [False]
            body = arrow(pl.DataFrame(rows))
            answer = client.post("/decide?cost=1e30", content=body, headers={"Content-Type": ARROW})
            assert pl.read_ipc_stream(answer.content)["outside"].to_list() == wanted


def test_what_is_asked_for_is_said_of_each_row(models, serve, new_rows):
    for name in ("linear", "logistic"):
        model = models[name]
        frame = check_rows(model.schema, pl.DataFrame(new_rows)).good
        with serve(create_app(model)) as (client, _):
            asked = {"rows": new_rows, "explain": True, "parts": True}
            asked |= {"probabilities": True} if name == "logistic" else {}
            said = client.post("/decide", json=asked).json()["rows"]
            plain = client.post("/decide", json={"rows": new_rows}).json()["rows"]
            assert [{key: row[key] for key in plain[0]} for row in said] == plain
            description = client.get("/openapi.json").json()
        risk = model.predict_risk(frame)
        found = model.explain(frame, risk)
        for k, row in enumerate(said):
            most = [(one["column"], one["change"]) for one in row["raised_by"]]
            assert [column for column, _ in most] == [column for column, _ in found.most(k)]
            assert sum(row["parts"].values()) == pytest.approx(row["risk"])
        question = description["components"]["schemas"]["Question"]["properties"]
        assert ("probabilities" in question) == (name == "logistic")
        if name == "logistic":
            wanted = model.class_probabilities(frame)
            assert [list(row["probabilities"].values()) for row in said] == wanted.tolist()


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("linear", {"probabilities": True}, "no class probabilities"),
        ("stranger", {"parts": True}, "has no parts"),
        ("linear", {"explain": 1}, "explain must be true or false"),
    ],
)
def test_what_a_model_cannot_say_is_refused(models, serve, new_rows, name, asked, message):
    with serve(create_app(models[name])) as (client, _):
        answer = client.post("/decide", json={"rows": new_rows} | asked)
        assert answer.status_code == 422
        assert message in answer.json()["error"]


def test_the_price_is_that_of_the_request(client, models, new_rows):
    model, frame = models["linear"], pl.DataFrame(new_rows)
    for cost in (0, 0.25, 3.0, 1e30):
        wanted = expected(model, frame, cost=cost)
        said = client.post("/decide", json={"rows": new_rows, "cost": cost})
        assert said.json()["rows"] == wanted
        said = client.post("/decide", params={"cost": cost}, json={"rows": new_rows})
        assert said.json()["rows"] == wanted
    said = client.post("/decide?cost=0", json={"rows": new_rows, "cost": 3.0})
    assert said.json()["rows"] == expected(model, frame, cost=3.0)


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
        assert "must not be given" in answer.json()["error"]
        description = client.get("/openapi.json").json()
        assert "cost" not in json.dumps(description["components"]["schemas"]["Question"])


def test_a_model_without_a_cost_needs_one_with_each_request(models, serve, new_rows):
    model = models["boosting"]
    free = copy.copy(model.model).set_params(cost=None)
    with serve(create_app(TableModel(free, model.manifest | {"cost": None}))) as (client, _):
        for body in (json.dumps({"rows": new_rows}).encode(), arrow(pl.DataFrame(new_rows))):
            kind = {"Content-Type": JSON if body[:1] == b"{" else ARROW}
            answer = client.post("/decide", content=body, headers=kind)
            assert answer.status_code == 422
            assert "cost must be given" in answer.json()["error"]
            answer = client.post("/decide?cost=0.5", content=body, headers=kind)
            assert answer.status_code == 200
        said = client.post("/decide", json={"rows": new_rows, "cost": 0.5})
        assert said.json()["rows"] == expected(model, pl.DataFrame(new_rows), cost=0.5)
        question = client.get("/openapi.json").json()["components"]["schemas"]["Question"]
        assert question["required"] == ["rows", "cost"]


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
    for n, words in ((1, "1 row does"), (2, "2 rows do")):
        assert client.post("/decide", json={"rows": [{}] * n}).json()["error"].startswith(words)


@pytest.mark.parametrize("guess", [None, "dead", 1, "Ill"])
def test_a_prediction_from_elsewhere_must_be_one(models, serve, new_rows, guess):
    with serve(create_app(models["labels elsewhere"])) as (client, _):
        answer = client.post("/decide", json={"rows": [new_rows[0] | {"guess": guess}]})
        assert answer.status_code == 422
        assert "guess" in answer.json()["rows"][0]["reason"]


def test_rows_far_out_have_the_largest_risk_and_are_asked_about(client, new_rows):
    # The squared distance of such predictions from anything is more than float32 can hold.
    rows = [dict(row) for row in new_rows]
    for position, x in {5: 1e30, 6: -1e30, 31: 1e29}.items():
        rows[position] |= {"x": x}
    answer = client.post("/decide", json={"rows": rows})
    assert answer.status_code == 200
    found = answer.json()["rows"]
    largest = max(found[k]["risk"] for k in (5, 6, 31))
    assert largest > 1e50
    assert all(row["defer"] for row in found if row["risk"] == largest)


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
        ("", JSON, JSON),
        ("*/*", ARROW, ARROW),
        ("text/html, application/json;q=0.9, */*;q=0.1", ARROW, JSON),
        ("application/*", ARROW, ARROW),
        ("application/json;q=0.1, application/vnd.apache.arrow.stream", JSON, ARROW),
        ("application/json;q=0, */*", JSON, ARROW),
        ("APPLICATION/JSON", ARROW, JSON),
        ("application/json; q=x", ARROW, JSON),
    ],
)
def test_the_most_wanted_kind_wins(client, new_rows, accept, asked, kind):
    body = json.dumps({"rows": new_rows[:1]}).encode()
    if asked == ARROW:
        body = arrow(pl.DataFrame(new_rows[:1]))
    headers = {"Content-Type": asked, "Accept": accept}
    assert client.post("/decide", content=body, headers=headers).headers["content-type"] == kind


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


# -- cells ----------------------------------------------------------------------------------------

COLUMNS = (
    Column("n", "number", low=0.0, high=1.0),
    Column("c", "category", categories=("", "a", "ä", "3")),
    Column("b", "boolean"),
    Column("d", "date", low=0.0, high=9.0),
    Column("m", "datetime", low=0.0, high=9.5),
    Column("t", "text"),
    Column("r", "number", low=0.0, high=1.0, required=True),
    Column("k", "category", categories=("a", "b"), required=True),
)
ROW = {
    "n": 1,
    "c": "a",
    "b": True,
    "d": "2024-01-01",
    "m": "2024-01-01T10:00:00Z",
    "t": "any thing",
    "r": 0.5,
    "k": "b",
}


class Mirror(TableModel):
    """A model that only keeps the rows that reach it."""

    def decide(self, frame, *, cost=None):
        self.manifest["seen"] = frame
        zeros = np.zeros(frame.height)
        return Decision(zeros, zeros, zeros > 0, frame, None)


@pytest.fixture(scope="module")
def mirror(models, serve):
    """A client of a service with a column of every kind, and what reached its model last."""
    manifest = models["boosting"].manifest | {"schema": Schema(COLUMNS).to_dict()}
    model = Mirror(models["boosting"].model, manifest)
    with serve(create_app(model)) as (client, _):
        yield client, lambda: manifest["seen"]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"n": "1", "b": "yes", "c": 3, "d": "2024-01-01T23:00Z", "r": "5e-1"},
        {"n": " 1.0 ", "b": 1, "c": 3.0, "t": " kept as it is ", "k": " b "},
        {"n": True, "b": "T", "c": "x", "m": "2024-01-01", "t": 3, "r": True},
        {"n": None, "c": None, "b": None, "d": None, "m": None, "t": None},
        {"n": "n/a", "c": "-", "b": "", "d": "NULL", "m": " none ", "t": ""},
        {"n": -1e30, "m": "2024-01-01T10:00:00.25+02:00", "t": "é"},
    ],
)
def test_a_cell_means_the_same_in_json_arrow_and_csv(mirror, row):
    client, seen = mirror
    row = ROW | row
    assert client.post("/decide", json={"rows": [row, ROW]}).status_code == 200
    as_json = seen()
    stream = arrow(pl.DataFrame([row]))
    answer = client.post("/decide", content=stream, headers={"Content-Type": ARROW})
    assert answer.status_code == 200, answer.text
    assert seen().equals(as_json[:1])
    words = {name: None if value is None else str(value) for name, value in row.items()}
    assert check_rows(Schema(COLUMNS), pl.DataFrame([words])).good.equals(as_json[:1])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("n", "much"),
        ("n", 1.1e30),
        ("n", "1e31"),
        ("n", 10**200),
        ("n", [1]),
        ("n", {"a": 1}),
        ("n", "2024-01-01"),
        ("n", "1,5"),
        ("c", [1]),
        ("b", 2),
        ("b", "maybe"),
        ("b", [True]),
        ("d", "20240101"),
        ("d", "2024-W01-1"),
        ("d", "2024-13-01"),
        ("d", "２024-01-01"),
        ("d", 3),
        ("m", "10:00"),
        ("m", 3),
        ("t", [1]),
        ("r", None),
        ("r", "n/a"),
        ("k", None),
        ("k", "c"),
    ],
)
def test_each_kind_of_value_is_checked(mirror, column, value):
    client, _ = mirror
    answer = client.post("/decide", json={"rows": [ROW, ROW | {column: value}]})
    assert answer.status_code == 422
    (fault,) = answer.json()["rows"]
    assert fault["row"] == 1
    assert fault["reason"].startswith(f'column "{column}" holds ')
    assert ", but it must be " in fault["reason"]


def test_of_a_long_value_only_the_beginning_is_shown(mirror):
    client, _ = mirror
    for value in ("x" * 5000, nested(300)):
        answer = client.post("/decide", json={"rows": [ROW | {"n": value}]})
        assert answer.status_code == 422
        assert len(answer.json()["rows"][0]["reason"]) < 200
    for length, shown in ((58, '"' + "x" * 58 + '"'), (59, '"' + "x" * 56 + "…")):
        answer = client.post("/decide", json={"rows": [ROW | {"n": "x" * length}]})
        assert f"holds {shown}, but" in answer.json()["rows"][0]["reason"]


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "ä", "b", "3", "x", "2024-02-29", "2023-02-29", "0001-01-01"]),
    st.dates().map(str),
    st.text(st.characters(codec="utf-8"), max_size=3),
)


@given(st.sampled_from(COLUMNS), VALUES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_json_takes_what_a_table_takes_and_for_the_same(mirror, column, value):
    client, seen = mirror
    answer = client.post("/decide", json={"rows": [ROW | {column.name: value}]})
    table = pl.DataFrame({column.name: [value]}, strict=False)
    try:
        checked = check_rows(Schema((column,)), table)
    except TableError:  # a whole column of another type, such as numbers for dates
        assert answer.status_code == 422
        return
    assert answer.status_code == (422 if checked.bad else 200)
    if not checked.bad:
        assert seen()[column.name].to_list() == checked.good[column.name].to_list()


def test_an_unseen_category_is_counted(models, serve, new_rows):
    with serve(create_app(models["boosting"])) as (client, _):
        client.post("/decide", json={"rows": new_rows})
        frame = pl.DataFrame(new_rows)
        client.post("/decide", content=arrow(frame), headers={"Content-Type": ARROW})
        assert "condrisk_unseen_categories_total 2.0" in client.get("/metrics").text
