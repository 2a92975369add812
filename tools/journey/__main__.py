"""Walk through the commands on six real tables.

python -m tools.journey                # write results/journey.json and a few pictures
python -m tools.journey --only cars    # one table again, and its part of the record
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from condrisk._files import write_whole
from condrisk.paper._records import describe_machine
from tools.journey import _browser, _walk
from tools.journey._tables import TABLES, Table, fetch

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "results" / "journey.json"
DOCS = ROOT / "docs" / "journey"
# Name: picture, width in the documentation, and how much of its height is shown.
PICTURES = {
    "report": ("diamonds/pictures/report-1280-light.png", 800, 1100),
    "classes": ("weather/pictures/report-390-dark.png", 300, 900),
    "form": ("titanic/pictures/form-1280-light.png", 800, 900),
    "compare": ("diamonds/pictures/compare-1280-dark.png", 800, 1250),
    "monitor": ("housing/monitor/monitoring.png", 640, 640),
}


def main() -> int:
    """Walk, and keep what came of it; exit with 1 where something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[table.name for table in TABLES], action="append")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "journey")
    given = parser.parse_args()
    tables = [table for table in TABLES if not given.only or table.name in given.only]
    packages = given.folder / "packages"
    fetch(sorted({table.package for table in tables}), packages)
    start, found = time.perf_counter(), {}
    with _browser.browser() as opened:
        for table in tables:
            print(f"{table.title} …", flush=True)
            found[table.name] = journey(table, given.folder, opened)
            for trouble in found[table.name]["troubles"]:
                print(f"  {trouble}")
    minutes = (time.perf_counter() - start) / 60
    print(f"Pictures are in {given.folder}/*/pictures. {minutes:.1f} minutes.")
    keep(found, minutes, given.folder)
    return int(any(part["troubles"] for part in found.values()))


def keep(found: dict[str, Any], minutes: float, folder: Path) -> None:
    """Write the record, or into it what was done again, and the pictures of the documentation."""
    if len(found) == len(TABLES):
        record = {
            "machine": describe_machine(),
            "load_average": round(os.getloadavg()[2], 1),
            "minutes": round(minutes, 1),
            "tables": found,
        }
    else:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
        record["tables"] |= found
    write_whole(RECORD, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    keep_pictures(folder)


def keep_pictures(folder: Path) -> None:
    """Put a few pictures into the documentation, small and of few colours."""
    from PIL import Image

    DOCS.mkdir(exist_ok=True)
    for name, (source, width, height) in PICTURES.items():
        picture = Image.open(folder / source).convert("RGB")
        picture = picture.crop((0, 0, picture.width, min(height, picture.height)))
        small = picture.resize((width, round(picture.height * width / picture.width)))
        few = small.quantize(256, method=Image.Quantize.FASTOCTREE)
        few.save(DOCS / f"{name}.png", optimize=True)


def journey(table: Table, root: Path, opened: Any) -> dict[str, Any]:
    """Walk through all commands on one table; return what came of it."""
    folder = root / table.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    table.write(root / "packages", *(folder / f"{n}{table.ending}" for n in ("fit", "later")))
    steps = _walk.walk(table, folder)
    write_whole(folder / "said.json", json.dumps(steps, indent=1, ensure_ascii=False))
    troubles = [
        f"{step['typed']} ended with {step['code']}: {step['notes'].strip()}"
        for name, step in steps.items()
        if step["code"] != 0 and name != "export"
    ]
    pictures = folder / "pictures"
    for page in ("report", "compare"):
        if (file := folder / f"{page}.html").exists():
            found = _browser.look(opened, file.as_uri(), pictures, page)
            troubles += [f"{page}: {text}" for text in found]
    with _walk.served(folder) as url:
        found = _browser.look(opened, url, pictures, "served")
        form = _form(table, folder, opened, url)
    troubles += [f"served: {text}" for text in (*found, *form.pop("troubles"))]
    first, later = (_n_rows(folder / f"{name}{table.ending}") for name in ("fit", "later"))
    return {
        "title": table.title,
        "kind": table.kind,
        "package": table.package,
        "target": table.target,
        "rows": {"fit": first, "later": later},
        "steps": {name: _kept(step) for name, step in steps.items()},
        "form": form,
        "troubles": troubles,
    }


def _form(table: Table, folder: Path, opened: Any, url: str) -> dict[str, Any]:
    """Fill in the form with the riskiest row; it must say what `condrisk score` said."""
    from condrisk.app.models import open_model
    from condrisk.app.tables import read_table

    lines = (folder / "scored.jsonl").read_text(encoding="utf-8").splitlines()
    scored = [json.loads(line) for line in lines]
    at = max(range(len(scored)), key=lambda k: scored[k]["risk"])
    model = open_model(folder / "model.skops")
    row = read_table(folder / f"later{table.ending}", schema=model.schema).row(at, named=True)
    cost = model.cost if model.uses_cost else None
    said = _browser.fill_in(opened, url, row, cost, folder / "pictures")
    wanted = scored[at]
    same = (
        said["defer"] == wanted["defer"]
        and math.isclose(said["risk"], wanted["risk"], rel_tol=1e-9)
        and _same(said["prediction"], wanted["prediction"])
    )
    troubles = said.pop("troubles")
    if not same:
        troubles.append(f"the form says {said}, condrisk score {wanted}")
    if said["far"] == "":
        troubles.append("no warning of a value far outside what was seen")
    return {"row": at + 1, "troubles": troubles, "as_scored": same, **said}


def _n_rows(path: Path) -> int:
    from condrisk.app.tables import read_table

    return read_table(path).height


def _same(said: str, wanted: Any) -> bool:
    """Tell whether the page says the same prediction."""
    if isinstance(wanted, float):
        return math.isclose(float(said), wanted, rel_tol=1e-9)
    return said == (str(wanted).lower() if isinstance(wanted, bool) else str(wanted))


def _kept(step: dict[str, Any]) -> dict[str, Any]:
    """Return what the record keeps of a step."""
    return {name: step[name] for name in ("typed", "code", "seconds", "said", "notes")}


if __name__ == "__main__":
    sys.exit(main())
