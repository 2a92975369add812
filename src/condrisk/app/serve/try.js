// The form to try a row: ask the server, show what it says.
(() => {
"use strict";

const form = document.getElementById("try");
const answer = document.getElementById("try-answer");
const button = form.querySelector(".try-go");
const usesCost = form.dataset.usesCost === "true";
const controls = [...form.querySelectorAll("[data-name]")];
const SVG = "http://www.w3.org/2000/svg";
let latest = 0;
let timer = null;

class Problem extends Error {
  constructor(message, reasons = []) {
    super(message);
    this.reasons = reasons;
  }
}

// -- what is asked ----------------------------------------------------------------------------

function valueOf(control) {
  if (control.tagName === "SELECT" && control.selectedOptions[0].hasAttribute("data-missing")) {
    return null;
  }
  const { kind, name } = control.dataset;
  if (kind === "number" && control.validity.badInput) throw new Problem(`${name} must be a number.`);
  if (kind === "boolean") return control.value === "true";
  if (control.tagName !== "SELECT" && control.value === "") return null;
  return kind === "number" ? Number(control.value) : control.value;
}

function question() {
  const row = Object.create(null);
  for (const control of controls) {
    control.removeAttribute("aria-invalid");
    try {
      row[control.dataset.name] = valueOf(control);
    } catch (problem) {
      control.setAttribute("aria-invalid", "true");
      throw problem;
    }
  }
  const asked = { rows: [row], explain: true };
  const price = priceNow();
  if (price !== null) asked.cost = price;
  return asked;
}

function priceNow() {
  const text = usesCost ? document.getElementById("price").value : "";
  return text !== "" && Number(text) >= 0 ? Number(text) : null;
}

async function ask(asked) {
  let response;
  try {
    response = await fetch("decide", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(asked),
    });
  } catch {
    throw new Problem("The service does not answer. Is it still running?");
  }
  let said;
  try {
    said = await response.json();
  } catch {
    throw new Problem(`The service answered with status ${response.status}.`);
  }
  if (!response.ok) throw new Problem(said.error, (said.rows ?? []).map((row) => row.reason));
  return said.rows[0];
}

// -- what is shown ----------------------------------------------------------------------------

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function shape(name, attributes, parent) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

// Numbers are written as everywhere on the page: the form says of which kind they are.
const { percent, unit } = form.dataset;
const plainNumber = (value) => {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`.replace(/-/g, "−");
  }
  const digits = size >= 1000
    ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
  return value.toLocaleString("en", digits).replace("-", "−");
};
const amount = (value) => {
  if (percent === "true") return `${plainNumber(100 * value)}\u00a0%`;
  return unit && form.dataset.square !== "true"
    ? `${plainNumber(value)}\u00a0${unit}` : plainNumber(value);
};
const full = (value) => {
  if (form.dataset.square !== "true" || !(value >= 0)) return amount(value);
  return `${amount(value)} (about ±\u00a0${plainNumber(Math.sqrt(value))}${unit ? `\u00a0${unit}` : ""})`;
};
const shown = (value) => {
  if (typeof value !== "number") return String(value);
  return unit ? `${plainNumber(value)}\u00a0${unit}` : plainNumber(value);
};

function numbers(decision, price) {
  const list = element("dl", undefined, "try-numbers");
  const entries = [
    ["prediction", decision.prediction, shown], ["risk", decision.risk, full],
  ];
  if (price !== null) entries.push(["cost of deferring", price, amount]);
  for (const [label, value, write] of entries) {
    const entry = element("div");
    entry.append(element("dt", label), element("dd", write(value)));
    entry.lastChild.dataset.value = String(value);
    list.append(entry);
  }
  return list;
}

function bar(decision, price) {
  const most = Math.max(decision.risk, price, 0) * 1.15 || 1;
  const at = (value) => `${(100 * Math.max(value, 0)) / most}%`;
  const relation = decision.risk > price ? "above" : "at most";
  const picture = shape("svg", {
    class: "try-bar", role: "img",
    "aria-label": `Risk ${amount(decision.risk)} is ${relation} the cost of deferring, ${amount(price)}.`,
  });
  shape("rect", { class: "track", y: 11, width: "100%", height: 12, rx: 6 }, picture);
  const kind = decision.defer ? "ask" : "accept";
  shape("rect", { class: kind, y: 11, width: at(decision.risk), height: 12, rx: 6 }, picture);
  shape("line", { class: "price", x1: at(price), x2: at(price), y1: 3, y2: 31 }, picture);
  return picture;
}

function words(decision, price) {
  if (price === null) return decision.defer ? "The rule defers this row." : "The rule accepts it.";
  return decision.defer
    ? "The answer can be expected to lose more than deferring costs."
    : "The answer can be expected to lose no more than deferring costs.";
}

function show(decision, price) {
  const verdict = element(
    "p", decision.defer ? "Defer" : "Accept", `try-verdict ${decision.defer ? "ask" : "accept"}`,
  );
  const parts = [verdict, numbers(decision, price)];
  if (price !== null) parts.push(bar(decision, price));
  parts.push(element("p", words(decision, price), "small"));
  if (decision.outside.length) parts.splice(1, 0, warning(decision.outside));
  if (decision.raised_by?.length) parts.push(reasons(decision.raised_by));
  answer.replaceChildren(...parts);
  for (const control of controls) {
    control.closest(".try-field").classList.toggle(
      "outside", decision.outside.includes(control.dataset.name),
    );
  }
}

/** Say that the row leaves what the model has seen: its risk is then a guess. */
function warning(names) {
  const list = names.join(", ");
  return element(
    "p", `Outside what the model has seen: ${list}. Neither prediction nor risk can be relied on.`,
    "try-outside",
  );
}

function reasons(raised) {
  const list = raised.map(({ column, change }) => `${column} (+${amount(change)})`).join(", ");
  return element("p", `Raises the risk most, against the average row: ${list}.`, "small try-raised");
}

function complain(problem) {
  const parts = [element("p", problem.message, "error")];
  if (problem.reasons?.length) {
    const list = element("ul");
    list.append(...problem.reasons.map((reason) => element("li", reason)));
    parts.push(list);
  }
  answer.replaceChildren(...parts);
}

async function decide() {
  const mine = ++latest;
  answer.classList.add("stale");
  button.disabled = true;
  try {
    const asked = question();
    const decision = await ask(asked);
    if (mine === latest) show(decision, usesCost ? asked.cost ?? null : null);
  } catch (problem) {
    if (mine === latest) complain(problem);
  } finally {
    if (mine === latest) {
      answer.classList.remove("stale");
      button.disabled = false;
    }
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(decide, 200);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  decide();
});
form.addEventListener("reset", soon);
form.addEventListener("change", soon);
if (usesCost) {
  // Slider and button are the report's, which is not always there.
  for (const name of ["price", "slider"]) document.getElementById(name)?.addEventListener("input", soon);
  document.getElementById("reset")?.addEventListener("click", soon);
}
decide();
})();
