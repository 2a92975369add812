// The page: one price, and everything that follows from it.

const SLIDER_STEPS = 1000;
const slider = document.getElementById("slider");
const field = document.getElementById("price");
let price = DATA.price;
let plots = [];

// -- words ------------------------------------------------------------------------------------

function against({ mean, low, high }, what) {
  const size = formatAmount(Math.abs(mean));
  if (low > 0) return `${size} less than ${what}`;
  if (high < 0) return `${size} more than ${what}`;
  if (mean === 0) return `as much as ${what}`;
  return `about as much as ${what} (${size} ${mean > 0 ? "less" : "more"}, within the noise)`;
}

function verdict(now) {
  const at = `At a cost of ${formatCost(now.price)}`;
  if (!now.asked) {
    return `${at} no row is worth deferring: the risk of each is at most that cost. A row costs `
      + `${formatAmount(now.loss)} on average; ${against(now.belowAlways, "always deferring")}.`;
  }
  if (!now.accepted) {
    return `${at} every row is worth deferring: the risk of each is above that cost. A row costs `
      + `as much; ${against(now.belowNever, "never deferring")}.`;
  }
  return `${at} the model answers ${formatCount(now.accepted)} rows and defers `
    + `${formatCount(now.asked)}. A row then costs ${formatAmount(now.loss)} on average: `
    + `${against(now.belowAlways, "always deferring")}, and ${against(now.belowNever, "never deferring")}.`;
}

/** How the loss of the accepted rows compares with that of all rows. */
function besideAll(ratio) {
  if (!Number.isFinite(ratio) || ratio < 0) return "";
  const change = Math.abs(1 - ratio);
  if (change < 0.005) return "The accepted rows lose as much.";
  return `The accepted rows lose ${formatPercent(change)} ${ratio < 1 ? "less" : "more"}.`;
}

const FORMATS = {
  number: formatNumber, percent: formatPercent, count: formatCount, amount: formatAmount,
};

function showNumbers(now) {
  for (const place of document.querySelectorAll("[data-figure]")) {
    const value = now[place.dataset.figure];
    place.textContent = FORMATS[place.dataset.as || "amount"](value);
    place.dataset.value = Number.isFinite(value) ? value : "";
  }
  const { low, high } = now.limits;
  document.querySelector("[data-interval=loss]").textContent = Number.isFinite(low)
    ? `95\u00a0% limits: ${formatAmount(DATA.nonnegative ? Math.max(low, 0) : low)} to ${formatAmount(high)}` : "";
  for (const place of document.querySelectorAll("[data-typical]")) {
    place.textContent = typicalError(now[place.dataset.typical]);
  }
  document.querySelector("[data-words=ratio]").textContent = besideAll(now.acceptedLoss / now.never);
  const longest = Math.max(now.always, now.never, now.loss);
  for (const place of document.querySelectorAll("[data-bar]")) {
    const share = Math.max((100 * now[place.dataset.bar]) / longest, 0) || 0;
    const bar = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none" });
    bar.setAttribute("aria-hidden", "true");
    svg("rect", { width: share, height: 10 }, bar);
    place.replaceChildren(bar);
  }
  const split = document.getElementById("split");
  split.replaceChildren();
  const accepted = (100 * now.accepted) / ROWS.n;
  svg("rect", { width: accepted, height: 10, class: "accept" }, split);
  svg("rect", { x: accepted, width: 100 - accepted, height: 10, class: "ask" }, split);
  document.getElementById("verdict").textContent = verdict(now);
}

let speaking;

function show({ moveField = true } = {}) {
  const now = ROWS.at(price);
  showNumbers(now);
  for (const plot of plots) {
    plot.last = now;
    plot.moving.replaceChildren();
    plot.move(now);
  }
  fill(plots[0], now);
  for (const row of document.querySelectorAll("tr[data-risk]")) {
    const asked = Number(row.dataset.risk) > price;
    const place = row.querySelector(".decision");
    place.textContent = asked ? "defer" : "accept";
    place.className = `decision ${asked ? "ask" : "accept"}`;
    place.dataset.sort = asked ? 1 : 0;
  }
  if (moveField) field.value = String(price);
  slider.value = Math.round(SLIDER_STEPS * Math.min(Math.max(SLIDER.share(price), 0), 1));
  slider.setAttribute(
    "aria-valuetext", `${formatAmount(price)}, ${formatPercent(now.rate)} deferred`,
  );
  clearTimeout(speaking);
  speaking = setTimeout(() => {
    document.getElementById("spoken").textContent = verdict(now);
  }, 700);
}

function fill(plot, now) {
  fillTable(plot.figure.querySelector(".scroll"), ...plot.table(now));
}

function pick(value) {
  price = four(value);
  complain(false);
  show();
}

function complain(wrong) {
  document.getElementById("price-error").hidden = !wrong;
  field.toggleAttribute("aria-invalid", wrong);
  if (wrong) field.setAttribute("aria-invalid", "true");
}

function draw() {
  const printing = matchMedia("print").matches || draw.printing;
  for (const plot of plots) {
    const wide = plot.figure.classList.contains("wide");
    if (printing) plot.reset(wide ? 700 : 360, wide ? 220 : 230);
    else plot.reset(plot.box.clientWidth);
    plot.draw();
  }
  show({ moveField: false });
}

// -- the table of rows ------------------------------------------------------------------------

function compare(a, b) {
  const [x, y] = [a, b].map((place) => place.dataset.sort);
  if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
  const numbers = [Number(x), Number(y)];
  const numeric = x !== "" && y !== "" && numbers.every(Number.isFinite);
  return numeric ? numbers[0] - numbers[1] : x.localeCompare(y, "en");
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, k) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const missing = (row) => row.cells[k].dataset.sort === undefined;
      const rows = [...body.rows].sort((a, b) => {
        // What is missing comes last, whichever way.
        if (missing(a) || missing(b)) return missing(a) - missing(b);
        return (down ? -1 : 1) * compare(a.cells[k], b.cells[k]);
      });
      body.append(...rows);
    });
  });
}

// -- the start -------------------------------------------------------------

function start() {
  themeButton();
  plots = [histogram(), costCurve(), coverageCurve(), reliability()];
  slider.max = SLIDER_STEPS;
  draw();
  field.value = String(price);
  for (const plot of plots) fill(plot, ROWS.at(price));
  slider.addEventListener("input", () => pick(SLIDER.value(slider.value / SLIDER_STEPS)));
  field.addEventListener("input", () => {
    const value = field.value.trim() === "" ? NaN : Number(field.value);
    complain(!(value >= 0) || !Number.isFinite(value));
    if (value >= 0 && Number.isFinite(value)) {
      price = value;
      show({ moveField: false });
    }
  });
  document.getElementById("reset").addEventListener("click", () => {
    price = DATA.price;
    complain(false);
    show();
  });
  document.querySelectorAll("table.sortable").forEach(sortable);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) draw();
    width = innerWidth;
  });
  addEventListener("beforeprint", () => { draw.printing = true; draw(); });
  addEventListener("afterprint", () => { draw.printing = false; draw(); });
  matchMedia("print").addEventListener("change", draw);
  // For what a program around the page may want to know or set.
  window.condriskReport = {
    get price() { return price; },
    set price(value) { price = Number(value); show(); },
    at: (value) => ROWS.at(value),
    format: FORMATS,
  };
}

start();
