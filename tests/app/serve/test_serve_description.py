"""What the service says of itself: OpenAPI, manifest, counters."""

import json
import subprocess
import sys
from datetime import date, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

import condrisk
from condrisk.app.serve import create_app

TOKEN = "correct-horse-battery-staple"


def test_rows_are_described_as_the_schema_has_them(client, models, new_rows):
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == condrisk.__version__
    schemas = document["components"]["schemas"]
    row = schemas["Row"]
    assert row["required"] == list(models["linear"].schema.names)
    cells = row["properties"]
    allowed = {name: [part.get("type") for part in cells[name].get("anyOf", [])] for name in cells}
    assert allowed == {
        "x": ["number", "boolean", "null", "string"],
        "gaps": ["number", "boolean", "null", "string"],
        "city": [],
        "smokes": ["boolean", None, "null", "string"],
        "seen": ["string", "null", "string"],
    }
    assert cells["city"]["type"] == ["string", "number", "boolean", "null"]
    assert cells["seen"]["anyOf"][0]["format"] == "date"
    (seen,) = (column for column in models["linear"].schema.needed if column.name == "seen")
    first, last = (date(1970, 1, 1) + timedelta(days) for days in (seen.low, seen.high))
    assert cells["seen"]["description"] == f"Seen from {first} to {last}."
    assert "Bern, Oslo, Rome" in row["properties"]["city"]["description"]
    (example,) = schemas["Question"]["examples"]
    assert example["rows"] == row["examples"] == [models["linear"].schema.example]
    assert client.post("/decide", json=example).status_code == 200


def test_a_prediction_from_elsewhere_is_required(models, serve):
    with serve(create_app(models["labels elsewhere"])) as (client, _):
        schemas = client.get("/openapi.json").json()["components"]["schemas"]
        guess = schemas["Row"]["properties"]["guess"]
        assert guess["enum"] == ["ill", "well"]
        rows = schemas["Answer"]["properties"]["rows"]
        assert rows["items"]["properties"]["prediction"] == {"enum": ["ill", "well"]}


def test_the_manifest_is_the_models(client, models):
    """But for the single held-out rows, which are many and for monitoring."""
    manifest = json.loads(json.dumps(models["linear"].manifest))
    assert len(manifest.pop("held_out")["risk"]) > 0
    assert client.get("/model").json() == manifest


def test_counters_count(models, serve, new_rows):
    with serve(create_app(models["boosting"])) as (client, _):
        said = client.post("/decide", json={"rows": new_rows}).json()["rows"]
        client.post("/decide", json={"rows": [{}, {}]})
        client.get("/no/such/path")
        text = client.get("/metrics")
        assert text.headers["content-type"].startswith("text/plain")
        found = {
            (sample.name, sample.labels.get("path"), sample.labels.get("status")): sample.value
            for family in text_string_to_metric_families(text.text)
            for sample in family.samples
            if "le" not in sample.labels
        }
    assert found["condrisk_rows_total", None, None] == len(new_rows)
    assert found["condrisk_rows_deferred_total", None, None] == sum(row["defer"] for row in said)
    assert found["condrisk_risk_sum", None, None] == pytest.approx(sum(row["risk"] for row in said))
    assert found["condrisk_rows_refused_total", None, None] == 2
    assert found["condrisk_requests_total", "/decide", "200"] == 1
    assert found["condrisk_requests_total", "/decide", "422"] == 1
    assert found["condrisk_requests_total", "other", "404"] == 1
    assert found["condrisk_decide_seconds_count", None, None] == 2
    assert found["condrisk_batch_rows_sum", None, None] == len(new_rows)
    assert found["condrisk_rows_waiting", None, None] == 0


def explore(app, serve, most, folder):
    """Let schemathesis look for answers that the description does not allow."""
    with serve(app) as (client, _):
        command = [
            sys.executable,
            "-m",
            "schemathesis.cli",
            "run",
            f"{client.base_url}/openapi.json",
        ]
        options = [
            "--checks=all",
            f"--max-examples={most}",
            "--no-color",
            "--generation-database=none",
        ]
        found = subprocess.run(
            [*command, *options, "-H", f"Authorization: Bearer {TOKEN}"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
        assert "No issues found" in found.stdout
        assert client.get("/health").status_code == 200


def test_schemathesis_finds_nothing(models, serve, tmp_path):
    app = create_app(models["labels elsewhere"], max_rows=20, token=TOKEN)
    explore(app, serve, 5, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["boosting", "forest", "classes", "budget", "labels elsewhere"])
def test_schemathesis_finds_nothing_in_the_long_run(models, serve, tmp_path, name):
    explore(create_app(models[name], max_rows=50), serve, 300, tmp_path)
