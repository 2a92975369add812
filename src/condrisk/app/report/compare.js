// Two models on the same rows: three figures that stay.

const DATA = JSON.parse(document.getElementById("data").textContent);
const cell = (value) => [formatAmount(value), value];

function costAxis() {
  const positive = DATA.cost.filter((value) => value > 0);
  const [low, high] = [Math.min(...positive), Math.max(...positive)];
  const ends = DATA.log ? { low: low / 1.1, high: high * 1.1 } : { low: 0, high: high * 1.05 };
  return new Axis({ ...ends, log: DATA.log, label: "cost of deferring", format: formatAmount });
}

function deferral() {
  const top = Math.max(...DATA.first, ...DATA.second, ...DATA.never) * 1.15 || 1;
  const low = Math.min(0, ...DATA.first, ...DATA.second);
  const plot = new Plot(document.getElementById("deferral"), {
    title: "Mean cost a row of both models against the cost of deferring",
    x: costAxis(),
    y: new Axis({ low, high: top, label: "cost a row", format: formatAmount }),
    key: [
      ["curve ours", DATA.names[0]], ["curve other", DATA.names[1]],
      ["curve always", "always defer"],
    ],
  });
  const points = (values) => DATA.cost.map((value, k) => [value, values[k]]);
  plot.draw = () => {
    plot.line(points(DATA.cost), "curve always");
    plot.line(points(DATA.second), "curve other");
    plot.line(points(DATA.first), "curve ours");
  };
  plot.table = () => [
    "Mean cost a row of both models", ["cost of deferring", ...DATA.names],
    DATA.cost.map((value, k) => [cell(value), cell(DATA.first[k]), cell(DATA.second[k])]),
  ];
  return plot;
}

function difference() {
  const values = [...DATA.lower, ...DATA.upper, 0];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.1 * (high - low) || 1;
  const plot = new Plot(document.getElementById("difference"), {
    title: `Mean cost a row: ${DATA.names[0]} less ${DATA.names[1]}`,
    x: costAxis(),
    y: new Axis({ low: low - room, high: high + room, label: "difference", format: formatAmount }),
    key: [["curve ours", "difference"], ["band", "95\u00a0% band", "square"], ["curve never", "no difference"]],
  });
  plot.draw = () => {
    const there = DATA.cost.map((value, k) => `${plot.px(value).toFixed(2)} ${plot.py(DATA.upper[k]).toFixed(2)}`);
    const back = DATA.cost.map((value, k) => `${plot.px(value).toFixed(2)} ${plot.py(DATA.lower[k]).toFixed(2)}`);
    svg("path", { d: `M${[...there, ...back.reverse()].join("L")}Z`, class: "band" }, plot.still);
    plot.line([[plot.x.low, 0], [plot.x.high, 0]], "curve never");
    plot.line(DATA.cost.map((value, k) => [value, DATA.difference[k]]), "curve ours");
  };
  plot.table = () => [
    "Difference of the mean costs, with its band", ["cost of deferring", "difference", "from", "to"],
    DATA.cost.map((value, k) => [
      cell(value), cell(DATA.difference[k]), cell(DATA.lower[k]), cell(DATA.upper[k]),
    ]),
  ];
  return plot;
}

function coverage() {
  const losses = DATA.curves.flatMap(([share, loss]) => loss.filter((_, k) => share[k] > 0.04));
  const plot = new Plot(document.getElementById("coverage"), {
    title: "Mean loss of the accepted rows against their share, for both models",
    x: new Axis({ low: 0, high: 1, format: formatPercent, label: "share of rows accepted" }),
    y: new Axis({
      low: Math.min(0, ...losses), high: Math.max(...losses) * 1.15 || 1,
      label: "mean loss of accepted", format: formatAmount,
    }),
    key: [["curve ours", DATA.names[0]], ["curve other", DATA.names[1]]],
  });
  const points = ([share, loss]) => share.map((value, k) => [value, loss[k]]);
  plot.draw = () => {
    plot.line(points(DATA.curves[1]), "curve other");
    plot.line(points(DATA.curves[0]), "curve ours");
  };
  const rows = (k) => points(DATA.curves[k]).map(([share, loss]) => [
    [DATA.names[k]], [formatPercent(share), share], cell(loss),
  ]);
  plot.table = () => [
    "Mean loss of the accepted rows", ["model", "accepted", "mean loss"],
    [...rows(0), ...rows(1)],
  ];
  return plot;
}

const PLOTS = [deferral(), difference(), coverage()];

function draw(printing = matchMedia("print").matches) {
  for (const plot of PLOTS) {
    const wide = plot.figure.classList.contains("wide");
    if (printing) plot.reset(wide ? 700 : 360, 230);
    else plot.reset(plot.box.clientWidth);
    plot.describe(`${plot.title}. The table below the figure has the numbers.`);
    plot.draw();
    fillTable(plot.figure.querySelector(".scroll"), ...plot.table());
  }
}

themeButton();
draw();
let drawnAt = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== drawnAt) draw();
  drawnAt = innerWidth;
});
addEventListener("beforeprint", () => draw(true));
addEventListener("afterprint", () => draw(false));
