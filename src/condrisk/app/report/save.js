// Figures as files: a picture with its title and key, or the numbers behind it.

const KEPT = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "font-size", "font-family", "font-weight", "opacity", "paint-order", "text-anchor",
];

/** Write what the style sheet says into the elements themselves: a file has no style sheet. */
function withStyles(original, copy) {
  const style = getComputedStyle(original);
  for (const name of KEPT) {
    const value = style.getPropertyValue(name);
    if (value) copy.setAttribute(name, value);
  }
  [...original.children].forEach((child, k) => withStyles(child, copy.children[k]));
}

/** The figure as an SVG of its own, with title and key above the plot. */
function asSvg(plot) {
  const style = getComputedStyle(document.body);
  const ground = getComputedStyle(plot.figure).backgroundColor;
  const text = {
    fill: style.color, "font-family": style.fontFamily, "font-size": "12px",
  };
  const samples = [...plot.box.querySelectorAll(".legend li")];
  const top = 34 + (samples.length ? 22 * Math.ceil(samples.length / 2) : 0);
  const [width, height] = [plot.width, plot.drawnHeight + top];
  const whole = svg("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  svg("rect", { width, height, fill: ground }, whole);
  const title = plot.figure.querySelector("h2").textContent;
  const size = `${Math.min(15, (1.7 * (width - 24)) / title.length).toFixed(1)}px`;
  svg("text", { ...text, x: 12, y: 22, "font-size": size, "font-weight": 600 }, whole, title);
  samples.forEach((item, k) => {
    const x = 12 + (k % 2) * (width / 2);
    const y = 34 + 22 * Math.floor(k / 2);
    const sample = item.querySelector("svg").cloneNode(true);
    withStyles(item.querySelector("svg"), sample);
    for (const [name, value] of Object.entries({ x, y: y + 4, width: 26, height: 10 })) {
      sample.setAttribute(name, value);
    }
    whole.append(sample);
    svg("text", { ...text, x: x + 34, y: y + 13 }, whole, item.textContent);
  });
  const copy = plot.root.cloneNode(true);
  withStyles(plot.root, copy);
  const attributes = { x: 0, y: top, width: plot.width, height: plot.drawnHeight };
  for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, value);
  whole.append(copy);
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

function asCsv(plot) {
  const [, header, rows] = plot.table(plot.last);
  const quoted = (value) => (/[",\n]/.test(value) ? `"${String(value).replace(/"/g, '""')}"` : value);
  const lines = rows.map((row) => row.map(([text, value]) => quoted(value ?? text)).join(","));
  return [header.map(quoted).join(","), ...lines].join("\r\n") + "\r\n";
}

function download(name, url) {
  const link = html("a", { href: url, download: name }, document.body);
  link.click();
  link.remove();
}

const dataUrl = (kind, text) => `data:${kind};charset=utf-8,${encodeURIComponent(text)}`;

function saveFigure(plot, kind) {
  const name = `${plot.id}.${kind}`;
  if (kind === "csv") {
    download(name, dataUrl("text/csv", asCsv(plot)));
    return;
  }
  const made = asSvg(plot);
  const url = dataUrl("image/svg+xml", made.text);
  if (kind === "svg") {
    download(name, url);
    return;
  }
  const image = new Image();
  image.onload = () => {
    const canvas = html("canvas", { width: 2 * made.width, height: 2 * made.height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(name, canvas.toDataURL("image/png"));
  };
  image.src = url;
}
