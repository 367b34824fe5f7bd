// The values at which a slider stops: round numbers between its ends, and the value that the page began with.

const SPAN = 64; // of a slider whose field names no ends
const MOST_STOPS = 400;

// 1.0, 1.1 … 9.9, 10, 11 …: each about as much above the last as a hand can tell.
function decimal(least, most) {
  const stops = [];
  for (let exponent = Math.floor(Math.log10(least)); exponent <= Math.log10(most); exponent += 1) {
    for (let digits = 10; digits < 100; digits += digits < 20 ? 1 : digits < 50 ? 2 : 5) stops.push(Number(`${digits}e${exponent - 1}`));
  }
  return stops;
}

// 4, 5, 6, 7 times powers of two: sizes that divide well.
function binary(least, most) {
  const stops = [];
  for (let power = 2 ** Math.max(-2, Math.floor(Math.log2(least)) - 2); power * 4 <= most; power *= 2) {
    for (const factor of [4, 5, 6, 7]) if (Number.isInteger(power * factor)) stops.push(power * factor);
  }
  return stops;
}

function powers(value, least, most) {
  const stops = [];
  for (let each = value; each >= least && Number.isInteger(each); each /= 2) stops.push(each);
  for (let each = 2 * value; each <= most; each *= 2) stops.push(each);
  return stops;
}

function even(least, most, isInteger) {
  const step = (most - least) / 200;
  const round = isInteger ? Math.max(1, Math.ceil(step)) : Number(step.toPrecision(1)) || 1;
  const stops = [];
  for (let index = 0; least + index * round <= most; index += 1) stops.push(Number((least + index * round).toPrecision(12)));
  return stops;
}

// The stops of a field, ascending.
function stopsOf(field) {
  const { value } = field;
  const low = Math.max(field.least ?? -Infinity, field.slider_least ?? (value > 0 ? value / SPAN : 0));
  const high = Math.min(field.most ?? Infinity, field.slider_most ?? (value > 0 ? value * SPAN : 1000));
  const isNpus = field.key.endsWith(".npus") && value > 0;
  const stops = isNpus ? powers(value, low, high)
    : !(field.is_log && low > 0) ? even(low, high, field.is_integer)
      : field.is_integer ? (high - low <= MOST_STOPS ? even(low, high, true) : binary(low, high)) : decimal(low, high);
  const inside = stops.filter((stop) => stop >= low && stop <= high);
  if (typeof value === "number") inside.push(value);
  return [...new Set(inside)].sort((a, b) => a - b);
}

// Memory caps around those of the page: powers of two and what lies between.
function capStops(capBytes) {
  const stops = capBytes === null ? [] : [capBytes];
  for (const digits of decimal(1, 2000)) if (digits <= 2000) stops.push(Math.round(digits * 1e9));
  return [...new Set(stops)].sort((a, b) => a - b);
}

// The stop that is nearest to a value.
function nearest(stops, value) {
  let [low, high] = [0, stops.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (stops[middle] <= value) low = middle;
    else high = middle;
  }
  return Math.abs(stops[high] - value) < Math.abs(stops[low] - value) ? high : low;
}

export { stopsOf, capStops, nearest };
