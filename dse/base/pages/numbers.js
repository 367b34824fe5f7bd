// Numbers for people, as dse.base.units writes them: what every page of the package says them with.
const NONE = "–";

function bytes(value) {
  if (value === null || value === undefined) return NONE;
  if (value < 1000) return `${value} B`;
  let scaled = value;
  for (const unit of ["kB", "MB", "GB"]) {
    scaled /= 1000;
    if (Number(scaled.toFixed(2)) < 1000) return `${scaled.toFixed(2)} ${unit}`;
  }
  return `${(scaled / 1000).toFixed(2)} TB`;
}

function duration(ns) {
  if (ns === null || ns === undefined) return NONE;
  let scaled = ns;
  for (const unit of ["ns", "µs", "ms"]) {
    if (Number(scaled.toPrecision(4)) < 1000) return `${Number(scaled.toPrecision(4))} ${unit}`;
    scaled /= 1000;
  }
  return `${scaled < 9999.5 ? Number(scaled.toPrecision(4)) : Math.round(scaled)} s`;
}

const whole = (value) =>
  value === null || value === undefined ? NONE : String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
const percent = (value) => (Number.isFinite(value) ? `${value.toFixed(1)} %` : NONE);

// Four digits with a suffix: 1.35k.
function count(value) {
  if (value === null || value === undefined) return NONE;
  let scaled = value;
  for (const suffix of ["", "k", "M", "G", "T"]) {
    if (Number(Math.abs(scaled).toPrecision(4)) < 1000) return `${Number(scaled.toPrecision(4))}${suffix}`;
    scaled /= 1000;
  }
  return `${Number(scaled.toPrecision(4))}P`;
}

// As Python rounds: halves to the even neighbour.
function rounded(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

const scaleOf = (most, steps) => steps.find(([scale]) => most >= scale) ?? steps.at(-1);
const timeScale = (most) => scaleOf(most, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]);
const memoryScale = (most) => scaleOf(most, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]);

export { NONE, bytes, duration, whole, percent, count, rounded, timeScale, memoryScale };
