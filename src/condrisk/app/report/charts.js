// Small figures in SVG. Colours come from the style sheet, by class.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, parent, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function html(name, attributes, parent, text) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

/** Values that are easy to read, about `wanted` of them. */
function linearTicks(low, high, wanted) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.99);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12) + 1e-300; k += 1) {
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

function logTicks(low, high, wanted) {
  const every = [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]];
  let ticks = [];
  for (const digits of every) {
    ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
      for (const digit of digits) {
        const value = Number((digit * 10 ** e).toPrecision(6));
        if (value >= low && value <= high) ticks.push(value);
      }
    }
    if (ticks.length <= wanted + 1) return ticks;
  }
  const skip = Math.ceil(ticks.length / (wanted + 1));
  return ticks.filter((_, k) => k % skip === 0);
}

/** An axis: values to shares of its length, and back. */
class Axis {
  constructor({ low, high, log = false, format = formatNumber, label = "" }) {
    Object.assign(this, { low, high, log, format, label: log ? `${label} (log scale)` : label });
  }

  share(value) {
    if (!this.log) return (value - this.low) / (this.high - this.low);
    if (value <= this.low) return 0;
    return Math.log(value / this.low) / Math.log(this.high / this.low);
  }

  value(share) {
    if (!this.log) return this.low + share * (this.high - this.low);
    return this.low * (this.high / this.low) ** share;
  }

  ticks(wanted) {
    const make = this.log ? logTicks : linearTicks;
    return make(this.low, this.high, wanted);
  }
}

const MARGIN = { top: 18, right: 26, bottom: 44 };

/** A figure with two axes, a layer that stays and a layer that moves with the price. */
class Plot {
  constructor(figure, { title, x, y, key = [], height = 300, onPick = null }) {
    Object.assign(this, { figure, title, x, y, key, height, onPick });
    this.box = figure.querySelector(".plot");
    this.id = figure.id;
    this.description = "";
  }

  /** Start again at the width that there is now. */
  reset(width, height = this.height) {
    this.drawnHeight = height;
    this.width = Math.max(width, 260);
    // Room for the longest number of the upright axis, beside its name.
    const labels = this.y.ticks(5).map((tick) => this.y.format(tick).length);
    this.left = 32 + 7 * Math.max(...labels, 3);
    this.box.replaceChildren();
    this.drawKey();
    this.drawSave();
    const { width: w, drawnHeight: h } = this;
    this.root = svg("svg", {
      viewBox: `0 0 ${w} ${h}`,
      role: "img",
      "aria-labelledby": `${this.id}-title ${this.id}-desc`,
    }, this.box);
    svg("title", { id: `${this.id}-title` }, this.root, this.title);
    this.desc = svg("desc", { id: `${this.id}-desc` }, this.root, this.description);
    const clip = svg("clipPath", { id: `${this.id}-clip` }, svg("defs", {}, this.root));
    svg("rect", {
      x: this.left, y: MARGIN.top - 2,
      width: this.innerWidth, height: this.innerHeight + 2,
    }, clip);
    this.drawAxes();
    this.still = svg("g", { "clip-path": `url(#${this.id}-clip)` }, this.root);
    this.moving = svg("g", {}, this.root);
    if (this.onPick) this.listen();
  }

  get innerWidth() { return this.width - this.left - MARGIN.right; }

  get innerHeight() { return this.drawnHeight - MARGIN.top - MARGIN.bottom; }

  px(value) {
    return this.left + Math.min(Math.max(this.x.share(value), 0), 1) * this.innerWidth;
  }

  py(value) {
    // A little beyond the frame at most: what leaves it is clipped there.
    const share = Math.min(Math.max(this.y.share(value), -0.5), 1.5);
    return MARGIN.top + (1 - share) * this.innerHeight;
  }

  drawKey() {
    if (!this.key.length) return;
    const list = html("ul", { class: "legend" }, this.box);
    for (const [name, text, shape] of this.key) {
      const item = html("li", {}, list);
      const sample = svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, item);
      if (shape === "dot") svg("circle", { cx: 13, cy: 5, r: 4.5, class: name }, sample);
      else if (shape === "square") {
        svg("rect", { x: 9, y: 1, width: 8, height: 8, class: name }, sample);
      } else svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, class: name }, sample);
      html("span", {}, item, text);
    }
  }

  /** Buttons that save the figure as a picture or as data. */
  drawSave() {
    const place = this.figure.querySelector(".save");
    if (!place || place.childElementCount) return;
    place.append("Save as ");
    for (const kind of ["SVG", "PNG", "CSV"]) {
      const button = html("button", { type: "button", class: "link" }, place, kind);
      button.setAttribute("aria-label", `Save “${this.title}” as ${kind}`);
      button.addEventListener("click", () => saveFigure(this, kind.toLowerCase()));
    }
  }

  drawAxes() {
    const g = svg("g", { class: "axes", "aria-hidden": "true" }, this.root);
    const bottom = this.drawnHeight - MARGIN.bottom;
    const right = this.width - MARGIN.right;
    for (const tick of this.y.ticks(5)) {
      const y = this.py(tick);
      svg("line", { x1: this.left, x2: right, y1: y, y2: y, class: "grid" }, g);
      svg("text", { x: this.left - 8, y: y + 4, "text-anchor": "end" }, g, this.y.format(tick));
    }
    let ticks = this.x.ticks(Math.max(this.innerWidth / 80, 2));
    if (this.x.atLow) {
      // What a log scale cannot show, zero above all, stands at its left end.
      svg("text", { x: this.px(this.x.low), y: bottom + 18, "text-anchor": "middle" }, g, this.x.atLow);
      ticks = ticks.filter((tick) => this.px(tick) > this.px(this.x.low) + 48);
    }
    for (const tick of ticks) {
      const x = this.px(tick);
      svg("line", { x1: x, x2: x, y1: bottom, y2: bottom + 4, class: "frame" }, g);
      svg("text", { x, y: bottom + 18, "text-anchor": "middle" }, g, this.x.format(tick));
    }
    svg("line", { x1: this.left, x2: right, y1: bottom, y2: bottom, class: "frame" }, g);
    svg("text", {
      x: this.left + this.innerWidth / 2, y: this.drawnHeight - 5,
      "text-anchor": "middle", class: "axis-label",
    }, g, this.x.label);
    svg("text", {
      x: -(MARGIN.top + this.innerHeight / 2), y: 13,
      transform: "rotate(-90)", "text-anchor": "middle", class: "axis-label",
    }, g, this.y.label);
  }

  line(points, name, layer = this.still) {
    const path = points
      .map(([x, y], k) => `${k ? "L" : "M"}${this.px(x).toFixed(2)} ${this.py(y).toFixed(2)}`)
      .join("");
    return svg("path", { d: path, class: name }, layer);
  }

  /** The upright line at the price. */
  priceLine(price) {
    const x = this.px(price);
    svg("line", {
      x1: x, x2: x, y1: MARGIN.top - 6, y2: this.drawnHeight - MARGIN.bottom, class: "price-line",
    }, this.moving);
    return x;
  }

  mark(x, y, name = "marker") {
    svg("circle", { cx: this.px(x), cy: this.py(y), r: 5.5, class: name }, this.moving);
  }

  note(x, y, text, anchor = "start", name = "note") {
    svg("text", { x, y, "text-anchor": anchor, class: name }, this.moving, text);
  }

  describe(text) {
    this.description = text;
    if (this.desc) this.desc.textContent = text;
  }

  /** Let the price be dragged; the slider does the same for the keyboard. */
  listen() {
    this.root.classList.add("pickable");
    const pick = (event) => {
      const frame = this.root.getBoundingClientRect();
      const x = ((event.clientX - frame.left) / frame.width) * this.width;
      const share = Math.min(Math.max((x - this.left) / this.innerWidth, 0), 1);
      this.onPick(this.x.value(share));
    };
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      pick(event);
    });
    this.root.addEventListener("pointermove", (event) => {
      if (event.buttons & 1) pick(event);
    });
  }
}

/** A table of numbers for those who cannot or do not want to see the figure. */
function fillTable(place, caption, header, rows) {
  const table = html("table", { class: "numbers" });
  html("caption", { class: "unseen" }, table, caption);
  const top = html("tr", {}, html("thead", {}, table));
  for (const name of header) html("th", { scope: "col" }, top, name);
  const body = html("tbody", {}, table);
  for (const row of rows) {
    const line = html("tr", {}, body);
    row.forEach(([text, value], k) => {
      const cell = html(k ? "td" : "th", k ? {} : { scope: "row" }, line, text);
      if (value !== undefined) cell.dataset.value = value;
    });
  }
  place.replaceChildren(table);
}

/** At most about two points for each pixel of a long curve: where it turns stays in sight. */
function thinned(points, wanted = 700) {
  if (points.length <= 2 * wanted) return points;
  const kept = [];
  const size = points.length / wanted;
  for (let k = 0; k < wanted; k += 1) {
    const part = points.slice(Math.floor(k * size), Math.floor((k + 1) * size));
    let low = part[0];
    let high = part[0];
    for (const point of part) {
      if (point[1] < low[1]) low = point;
      if (point[1] > high[1]) high = point;
    }
    kept.push(...(low[0] <= high[0] ? [low, high] : [high, low]));
  }
  kept.push(points.at(-1));
  return kept;
}

/** A button for dark or light colours. */
function themeButton() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = isDark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();
  button.hidden = false;
}
