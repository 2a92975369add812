// The four figures of the page: what stays, what moves with the price, and the table behind.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = new Rows(DATA);
const RISK = new Axis({ ...DATA.scale, label: "estimated risk" });
const SLIDER_LOW = Math.max(DATA.scale.low, 0);
const SLIDER = new Axis({ ...DATA.scale, low: SLIDER_LOW });

const cell = (value) => [formatNumber(value), value];
const four = (value) => Number(value.toPrecision(4));
const highest = (values) => values.reduce((a, b) => Math.max(a, b), 0);

function histogram() {
  const { edges, rows } = DATA.bars;
  const plot = new Plot(document.getElementById("histogram"), {
    title: "Histogram of the estimated risk",
    x: RISK,
    y: new Axis({ low: 0, high: highest(rows) * 1.12 || 1, format: formatCount, label: "rows" }),
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
      [`accepted ${formatCount(now.accepted)}`, x - MARGIN.left, x - 8, "end", "note accept"],
      [`asked ${formatCount(now.asked)}`, plot.width - 4 - x, x + 8, "start", "note ask"],
    ];
    for (const [text, free, at, anchor, name] of sides) {
      if (free > 7.5 * text.length + 8) plot.note(at, MARGIN.top + 4, text, anchor, name);
    }
    plot.describe(
      `${formatCount(ROWS.n)} rows with risks from ${formatNumber(DATA.lowest)} to `
      + `${formatNumber(DATA.highest)}. At a price of ${formatNumber(now.price)}, `
      + `${formatCount(now.accepted)} are accepted and ${formatCount(now.asked)} asked about.`,
    );
  };
  plot.table = (now) => [
    "Rows by estimated risk",
    ["risk from", "to", "rows", "at this price"],
    rows.map((n, k) => [
      cell(edges[k]), cell(edges[k + 1]), [formatCount(n), n],
      [now.price >= edges[k + 1] ? "accepted" : now.price < edges[k] ? "asked" : "both"],
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
    title: "Mean cost a row against the price of asking",
    x: new Axis({ ...DATA.scale, low: SLIDER_LOW, label: "price of asking" }),
    y: new Axis({ low: Math.min(0, ROWS.mean), high: top || 1, label: "cost a row" }),
    key: [
      ["curve ours", "ask by risk"], ["curve always", "always ask"], ["curve never", "never ask"],
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
      `At a price of ${formatNumber(now.price)} asking by risk costs ${formatNumber(now.loss)} `
      + `a row, always asking ${formatNumber(now.always)} and never asking `
      + `${formatNumber(now.never)}.`,
    );
  };
  plot.table = () => [
    "Mean cost a row at each price",
    ["price", "ask by risk", "asked about", "always ask", "never ask",
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
    y: new Axis({ low, high: highest(settled.map((point) => point.loss)) * 1.15 || 1, label: "mean loss of accepted" }),
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
        ? `At this price ${formatPercent(share)} of the rows are accepted, with a mean loss of `
          + `${formatNumber(now.acceptedLoss)}; all rows have ${formatNumber(now.never)}.`
        : "At this price no row is accepted.",
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

function reliability() {
  const { risk, loss, low, high, rows } = DATA.bins;
  const log = DATA.scale.log && Math.min(...loss, ...risk) > 0;
  const ends = [...risk, ...loss];
  const top = log ? Math.max(...ends) * 1.6 : highest([...ends, ...high]) * 1.08 || 1;
  const bottom = log ? Math.min(...ends) / 1.6 : Math.min(0, ...ends);
  const axis = (label) => new Axis({ low: bottom, high: top, log, label });
  const plot = new Plot(document.getElementById("reliability"), {
    title: "Reliability: mean realised loss against mean estimated risk",
    x: axis("estimated risk"),
    y: axis("realised loss"),
    key: [
      ["point accept", "accepted", "dot"], ["point ask", "asked about", "square"],
      ["curve never", "perfectly calibrated"],
    ],
  });
  plot.draw = () => plot.line([[bottom, bottom], [top, top]], "curve never");
  plot.move = (now) => {
    const g = svg("g", { "clip-path": "url(#reliability-clip)" }, plot.moving);
    risk.forEach((value, k) => {
      const name = value <= now.price ? "accept" : "ask";
      const x = plot.px(value);
      const y = plot.py(loss[k]);
      svg("line", {
        x1: x, x2: x, y1: plot.py(low[k]), y2: plot.py(high[k]), class: `whisker ${name}`,
      }, g);
      if (name === "accept") svg("circle", { cx: x, cy: y, r: 5, class: "point accept" }, g);
      else svg("rect", { x: x - 4.5, y: y - 4.5, width: 9, height: 9, class: "point ask" }, g);
    });
    const off = risk.filter((value, k) => value < low[k] || value > high[k]).length;
    plot.describe(
      `${risk.length} groups of rows, from a mean risk of ${formatNumber(risk[0])} and a mean loss `
      + `of ${formatNumber(loss[0])} to ${formatNumber(risk.at(-1))} and `
      + `${formatNumber(loss.at(-1))}. In ${off} of them the risk lies outside the limits of the loss.`,
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
