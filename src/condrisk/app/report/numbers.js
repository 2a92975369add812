// What happens to the rows at a price, from sums over them in order of risk.

function runningSums(values) {
  const sums = new Float64Array(values.length + 1);
  for (let k = 0; k < values.length; k += 1) sums[k + 1] = sums[k] + values[k];
  return sums;
}

/** How many of the increasing values are at most the limit. */
function countUpTo(values, limit) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sums over the steps, from what the page holds; what can be worked out is not written there. */
function stepsFrom({ threshold, rows, loss, squares }) {
  const each = rows || threshold.map(() => 1);
  const sum = loss || threshold;
  return {
    threshold,
    rows: runningSums(each),
    loss: runningSums(sum),
    squares: runningSums(squares || sum.map((value) => value * value)),
  };
}

/** Mean and 95 % limits of n values with this sum and this sum of squares. */
function meanWithLimits(sum, squares, n) {
  const mean = sum / n;
  if (n < 2) return { mean, low: NaN, high: NaN };
  const variance = Math.max(squares - n * mean * mean, 0) / (n - 1);
  const margin = 1.959963984540054 * Math.sqrt(variance / n);
  return { mean, low: mean - margin, high: mean + margin };
}

class Rows {
  constructor(data) {
    this.byRisk = stepsFrom(data.steps);
    this.byLoss = null;
    if (data.by_loss === "sorted") {
      // Every step is one row: its losses, sorted, are all there is to know.
      const losses = Float64Array.from(data.steps.loss).sort();
      this.byLoss = stepsFrom({ threshold: Array.from(losses) });
    } else if (data.by_loss) {
      this.byLoss = stepsFrom(data.by_loss);
    }
    this.n = this.byRisk.rows.at(-1);
    this.mean = this.byRisk.loss.at(-1) / this.n;
  }

  /** Everything that moves with the price. */
  at(price) {
    const { threshold, rows, loss, squares } = this.byRisk;
    const { n } = this;
    const end = countUpTo(threshold, price);
    const [accepted, kept, keptSquares] = [rows[end], loss[end], squares[end]];
    const asked = n - accepted;
    const rest = loss.at(-1) - kept;
    const restSquares = squares.at(-1) - keptSquares;
    const paid = kept + price * asked;
    return {
      price,
      accepted,
      asked,
      rate: asked / n,
      loss: paid / n,
      limits: meanWithLimits(paid, keptSquares + price * price * asked, n),
      always: price,
      never: this.mean,
      oracle: this.oracle(price),
      acceptedLoss: accepted ? kept / accepted : NaN,
      // By how much asking by risk is cheaper than always and than never asking.
      belowAlways: meanWithLimits(
        price * accepted - kept,
        price * price * accepted - 2 * price * kept + keptSquares,
        n,
      ),
      belowNever: meanWithLimits(
        rest - price * asked,
        restSquares - 2 * price * rest + price * price * asked,
        n,
      ),
    };
  }

  /** Mean cost of the rule that knows every loss. */
  oracle(price) {
    if (!this.byLoss) return NaN;
    const end = countUpTo(this.byLoss.threshold, price);
    return (this.byLoss.loss[end] + price * (this.n - this.byLoss.rows[end])) / this.n;
  }

  /** Coverage and mean loss of the accepted rows, a point for each step. */
  coverage(steps = this.byRisk) {
    return steps.threshold.map((threshold, k) => ({
      threshold,
      coverage: steps.rows[k + 1] / this.n,
      loss: steps.loss[k + 1] / steps.rows[k + 1],
    }));
  }
}

// Numbers as people read them.

function formatNumber(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  let text;
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    text = `${Number(mantissa)}e${Number(exponent)}`;
  } else if (size >= 1000) {
    text = `${value < 0 ? "-" : ""}${Math.round(size).toLocaleString("en")}`;
  } else {
    const rounded = Number(value.toPrecision(3));
    text = Math.abs(rounded) >= 1000 ? rounded.toLocaleString("en") : rounded.toString();
  }
  return text.replace(/-/g, "−");
}

function formatPercent(share) {
  if (share > 0 && share < 0.001) return "under 0.1\u00a0%";
  if (share > 0.999 && share < 1) return "over 99.9\u00a0%";
  return `${(100 * share).toFixed(1).replace(/\.0$/, "")}\u00a0%`;
}

function formatCount(n) {
  return Math.round(n).toLocaleString("en");
}

/** An amount of the loss, as `Amounts` of the commands writes it. */
function formatAmount(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const { percent, unit } = DATA.amounts;
  if (percent) return `${formatNumber(100 * value)}\u00a0%`;
  return unit && !DATA.amounts.square ? `${formatNumber(value)}\u00a0${unit}` : formatNumber(value);
}

/** The error that an amount of squared error stands for; empty for other losses. */
function typicalError(value) {
  if (!DATA.amounts.square || !(value >= 0) || !Number.isFinite(value)) return "";
  const unit = DATA.amounts.unit ? `\u00a0${DATA.amounts.unit}` : "";
  return `about ±\u00a0${formatNumber(Math.sqrt(value))}${unit}`;
}

/** A cost of deferring, in words that say what it is a share or a square of. */
function formatCost(value) {
  if (DATA.amounts.percent) return `${formatAmount(value)} of an error`;
  const typical = typicalError(value);
  return typical ? `${formatAmount(value)} (${typical})` : formatAmount(value);
}
