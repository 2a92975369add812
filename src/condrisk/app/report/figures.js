// The four figures of the page: what stays, what moves with the price, and the table behind.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = new Rows(DATA);
const RISK = new Axis({ ...DATA.scale, label: "estimated risk", format: formatAmount });
if (DATA.scale.log && DATA.lowest < DATA.scale.low) {
  RISK.atLow = DATA.lowest <= 0 ? "0" : `≤ ${formatAmount(Number(DATA.scale.low.toPrecision(2)))}`;
}
const SLIDER_LOW = Math.max(DATA.scale.low, 0);
const SLIDER = new Axis({ ...DATA.scale, low: SLIDER_LOW });

const cell = (value) => [formatAmount(value), value];
const four = (value) => Number(value.toPrecision(4));
const highest = (values) => values.reduce((a, b) => Math.max(a, b), 0);

function histogram() {
  const { edges, rows } = DATA.bars;
  const plot = new Plot(document.getElementById("histogram"), {
    title: "Histogram of the estimated risk",
    x: RISK,
    y: new Axis({ low: 0, high: highest(rows) * 1.22 || 1, format: formatCount, label: "rows" }),
    height: 280,
    onPick: pick,
  });
  plot.draw = () => {
    const hatch = svg("pattern", {
      id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    }, plot.root.querySelector("defs"));
    svg("rect", { width: 6, height: 6, class: "hatch-ground" }, hatch);
    svg("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "hatch-line" }, hatch);
    const clips = ["left", "right"].map((side) => {
      const clip = svg("clipPath", { id: `histogram-${side}` }, plot.root.querySelector("defs"));
      return svg("rect", { y: 0, height: plot.drawnHeight }, clip);
    });
    plot.clips = clips;
    ["left", "right"].forEach((side) => {
      const g = svg("g", {
        "clip-path": `url(#histogram-${side})`, class: side === "left" ? "accept" : "ask",
      }, plot.still);
      rows.forEach((n, k) => {
        if (!n) return;
        const [x1, x2, y] = [plot.px(edges[k]), plot.px(edges[k + 1]), plot.py(n)];
        const height = Math.max(plot.drawnHeight - MARGIN.bottom - y, 1);
        svg("rect", {
          x: x1 + 0.5, width: Math.max(x2 - x1 - 1, 1), y: plot.drawnHeight - MARGIN.bottom - height,
          height, rx: 1.5, class: "bar",
        }, g);
      });
    });
  };
  plot.move = (now) => {
    const x = plot.priceLine(now.price);
    const [left, right] = plot.clips;
    left.setAttribute("x", 0);
    left.setAttribute("width", x);
    right.setAttribute("x", x);
    right.setAttribute("width", Math.max(plot.width - x, 0));
    const sides = [
      [`accepted ${formatCount(now.accepted)}`, x - plot.left, x - 8, "end", "note accept"],
      [`deferred ${formatCount(now.asked)}`, plot.width - 4 - x, x + 8, "start", "note ask"],
    ];
    for (const [text, free, at, anchor, name] of sides) {
      if (free > 7.5 * text.length + 8) plot.note(at, MARGIN.top + 4, text, anchor, name);
    }
    plot.describe(
      `${formatCount(ROWS.n)} rows with risks from ${formatAmount(DATA.lowest)} to `
      + `${formatAmount(DATA.highest)}. At a cost of ${formatAmount(now.price)}, `
      + `${formatCount(now.accepted)} are accepted and ${formatCount(now.asked)} deferred.`,
    );
  };
  plot.table = (now) => [
    "Rows by estimated risk",
    ["risk from", "to", "rows", "at this cost"],
    rows.map((n, k) => [
      cell(edges[k]), cell(edges[k + 1]), [formatCount(n), n],
      [now.price >= edges[k + 1] ? "accepted" : now.price < edges[k] ? "deferred" : "both"],
    ]),
  ];
  return plot;
}

function prices(n) {
  return Array.from({ length: n + 1 }, (_, k) => SLIDER.value(k / n));
}

function costCurve() {
  const curve = prices(240).map((value) => ROWS.at(value));
  const top = Math.max(highest(curve.map((now) => now.loss)), ROWS.mean) * 1.18;
  const plot = new Plot(document.getElementById("cost-curve"), {
    title: "Mean cost a row against the cost of deferring",
    x: new Axis({ ...DATA.scale, low: SLIDER_LOW, label: "cost of deferring", format: formatAmount }),
    y: new Axis({
      low: Math.min(0, ROWS.mean), high: top || 1, label: "cost a row", format: formatAmount,
    }),
    key: [
      ["curve ours", "defer by risk"], ["curve always", "always defer"], ["curve never", "never defer"],
      ...(ROWS.byLoss ? [["curve oracle", "perfect foresight"]] : []),
    ],
    onPick: pick,
  });
  plot.draw = () => {
    const line = (key, name) => plot.line(curve.map((now) => [now.price, now[key]]), name);
    line("always", "curve always");
    line("never", "curve never");
    if (ROWS.byLoss) line("oracle", "curve oracle");
    line("loss", "curve ours");
  };
  plot.move = (now) => {
    plot.priceLine(now.price);
    if (now.loss <= top) plot.mark(now.price, now.loss);
    plot.describe(
      `At a cost of ${formatAmount(now.price)} deferring by risk costs ${formatAmount(now.loss)} `
      + `a row, always deferring ${formatAmount(now.always)} and never deferring `
      + `${formatAmount(now.never)}.`,
    );
  };
  plot.table = () => [
    "Mean cost a row at each cost of deferring",
    ["cost of deferring", "defer by risk", "deferred", "always defer", "never defer",
      ...(ROWS.byLoss ? ["perfect foresight"] : [])],
    prices(20).map(four).map((value) => {
      const now = ROWS.at(value);
      return [
        cell(value), cell(now.loss), [formatPercent(now.rate), now.rate], cell(now.always),
        cell(now.never), ...(ROWS.byLoss ? [cell(now.oracle)] : []),
      ];
    }),
  ];
  return plot;
}

function coverageCurve() {
  const points = ROWS.coverage();
  const best = ROWS.byLoss ? ROWS.coverage(ROWS.byLoss) : [];
  // The mean of the first few rows jumps about: it does not set the scale.
  const few = Math.max(20 / ROWS.n, 0.04);
  const settled = points.filter((point) => point.coverage >= Math.min(few, 1));
  const low = Math.min(0, ...best.slice(0, 1).map((point) => point.loss));
  const plot = new Plot(document.getElementById("coverage"), {
    title: "Risk-coverage curve: mean loss of the accepted rows against their share",
    x: new Axis({ low: 0, high: 1, format: formatPercent, label: "share of rows accepted" }),
    y: new Axis({ low, high: highest(settled.map((point) => point.loss)) * 1.15 || 1, label: "mean loss of accepted", format: formatAmount }),
    key: [
      ["curve ours", "in order of risk"], ["curve never", "in random order"],
      ...(best.length ? [["curve oracle", "in order of loss"]] : []),
    ],
  });
  plot.draw = () => {
    const line = (list, name) => plot.line(
      thinned(list.map((point) => [point.coverage, point.loss])), name,
    );
    plot.line([[0, ROWS.mean], [1, ROWS.mean]], "curve never");
    if (best.length) line(best, "curve oracle");
    line(points, "curve ours");
  };
  plot.move = (now) => {
    const share = now.accepted / ROWS.n;
    if (now.accepted) plot.mark(share, now.acceptedLoss);
    plot.describe(
      now.accepted
        ? `At this cost ${formatPercent(share)} of the rows are accepted, with a mean loss of `
          + `${formatAmount(now.acceptedLoss)}; all rows have ${formatAmount(now.never)}.`
        : "At this cost no row is accepted.",
    );
  };
  plot.table = () => {
    const wanted = Array.from({ length: 20 }, (_, k) => (k + 1) / 20);
    const near = wanted.map((share) => points.find((point) => point.coverage >= share - 1e-12));
    return [
      "Mean loss of the accepted rows at each coverage",
      ["accepted", "mean loss", "risk up to"],
      [...new Set(near)].map((point) => [
        [formatPercent(point.coverage), point.coverage], cell(point.loss), cell(point.threshold),
      ]),
    ];
  };
  return plot;
}

/** Ends of the reliability plot: groups far beyond all others are put at its edge. */
function reliabilityEnds(values, log) {
  const known = values.filter((value) => (log ? value > 0 : Number.isFinite(value)));
  const sorted = [...known].sort((a, b) => a - b);
  if (!sorted.length) return [0, 1];
  const top = sorted.at(-1);
  const usual = sorted[Math.floor(0.85 * (sorted.length - 1))] || top;
  if (log) return [sorted[0] / 1.6, top * 1.6];
  const cut = top > 3 * usual && usual > 0;
  return [Math.min(0, sorted[0]), cut ? usual * 1.6 : top * 1.12 || 1];
}

/** Whether groups fill a log scale: one far beyond all others would press these together. */
function fillLogScale(risk) {
  const known = risk.filter((value) => value > 0);
  return known.length > 1 && known.at(-Math.min(2, known.length - 1)) > 10 * known[0];
}

function reliability() {
  const { risk, loss, low, high, rows } = DATA.bins;
  const log = DATA.scale.log && fillLogScale(risk);
  const [bottom, top] = reliabilityEnds([...risk, ...loss], log);
  const axis = (label) => new Axis({ low: bottom, high: top, log, label, format: formatAmount });
  const isBeyond = (value) => value > top || value < bottom;
  const beyond = risk.map((value, k) => k).filter((k) => isBeyond(risk[k]) || isBeyond(loss[k]));
  const figure = document.getElementById("reliability");
  const plot = new Plot(figure, {
    title: "Reliability: mean realised loss against mean estimated risk",
    x: axis("estimated risk"),
    y: axis("realised loss"),
    key: [
      ["point accept", "accepted", "dot"], ["point ask", "deferred", "square"],
      ["curve never", "perfectly calibrated"],
    ],
  });
  plot.draw = () => {
    plot.line([[bottom, bottom], [top, top]], "curve never");
    const note = figure.querySelector(".beyond");
    const pairs = beyond.map((k) => `risk ${formatAmount(risk[k])}, loss ${formatAmount(loss[k])}`);
    note.textContent = beyond.length
      ? `Hollow points lie beyond the axes and stand at their edge: ${pairs.join("; ")}.` : "";
  };
  plot.move = (now) => {
    const g = svg("g", {}, plot.moving);
    const inside = svg("g", { "clip-path": "url(#reliability-clip)" }, g);
    const edge = MARGIN.top + plot.innerHeight;
    risk.forEach((value, k) => {
      const name = value <= now.price ? "accept" : "ask";
      const x = plot.px(value);
      const y = Math.min(Math.max(plot.py(loss[k]), MARGIN.top), edge);
      const hollow = beyond.includes(k) ? " hollow" : "";
      svg("line", {
        x1: x, x2: x, y1: plot.py(low[k]), y2: plot.py(high[k]), class: `whisker ${name}`,
      }, inside);
      if (name === "accept") svg("circle", { cx: x, cy: y, r: 5, class: `point accept${hollow}` }, g);
      else {
        svg("rect", {
          x: x - 4.5, y: y - 4.5, width: 9, height: 9, class: `point ask${hollow}`,
        }, g);
      }
    });
    const off = risk.filter((value, k) => value < low[k] || value > high[k]).length;
    plot.describe(
      `${risk.length} groups of rows, from a mean risk of ${formatAmount(risk[0])} and a mean loss `
      + `of ${formatAmount(loss[0])} to ${formatAmount(risk.at(-1))} and `
      + `${formatAmount(loss.at(-1))}. In ${off} of them the risk lies outside the limits of the loss.`,
    );
  };
  plot.table = () => [
    "Mean estimated risk and mean realised loss, in groups of similar risk",
    ["mean risk", "mean loss", "from", "to", "rows"],
    risk.map((value, k) => [
      cell(value), cell(loss[k]), cell(low[k]), cell(high[k]), [formatCount(rows[k]), rows[k]],
    ]),
  ];
  return plot;
}
