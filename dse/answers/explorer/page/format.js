// Sizes as people write them, and numbers that only an explorer says, beside those of every page.
import { NONE, bytes, duration, whole, percent, count, timeScale, memoryScale } from "../../../base/pages/numbers.js";

const UNITS = {
  b: 1n, kb: 10n ** 3n, mb: 10n ** 6n, gb: 10n ** 9n, tb: 10n ** 12n,
  kib: 2n ** 10n, mib: 2n ** 20n, gib: 2n ** 30n, tib: 2n ** 40n,
};
const SIZE = /^(\d{1,20})?(?:\.(\d{0,20}))?(?:[eE]([+-]?\d{1,2}))?\s*([A-Za-z]*)$/;
const SIZES_ALLOWED = "a positive number and one of the units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, such as 80GB";

// With a sign, and a true minus: it stands in running text.
function signedPercent(value) {
  if (!Number.isFinite(value)) return NONE;
  const digits = Math.abs(value) >= 99.95 ? 0 : 1;
  const text = Math.abs(value).toFixed(digits);
  return `${Number(text) === 0 ? "±" : value < 0 ? "−" : "+"}${text} %`;
}

function number(value, unit = "") {
  if (value === null || value === undefined) return NONE;
  const short = Number(value.toPrecision(6));
  const text = Number.isInteger(value) && Math.abs(value) < 1e15 ? (value < 1e4 ? String(value) : whole(value)) : String(short);
  return unit ? `${text} ${unit}` : text;
}

// What a number of bytes is, or why the text is none: {value} or {problem}. Empty is no cap: null.
function parsedSize(text) {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.toLowerCase() === "none") return { value: null };
  const [, digits, fraction = "", power = "0", unit] = SIZE.exec(trimmed) ?? [];
  if (digits === undefined && fraction === "") return { problem: `'${trimmed}' is not a number of bytes; write ${SIZES_ALLOWED}, or nothing for no cap` };
  if (!unit) return { problem: `'${trimmed}' has no unit; write ${trimmed}GB (${trimmed.split(/e/i)[0]}e${Number(power) + 9} bytes) or ${trimmed}GiB (${trimmed} x 2^30 bytes)` };
  const factor = UNITS[unit.toLowerCase()];
  if (factor === undefined) return { problem: `'${unit}' is no unit; write ${SIZES_ALLOWED}` };
  const shift = BigInt(power) - BigInt(fraction.length);
  const bytesBefore = BigInt((digits ?? "") + fraction) * factor;
  const size = shift < 0n ? bytesBefore / 10n ** -shift : bytesBefore * 10n ** shift;
  if (size < 1n || size > BigInt(Number.MAX_SAFE_INTEGER)) return { problem: "it must be from 1B to 9007TB" };
  return { value: Number(size) };
}

// The shortest exact way to write a size: 80GB, 80GiB, 80.5GB, 123456789B.
function size(value) {
  if (value === null) return "";
  const ways = [];
  for (const unit of ["TB", "GB", "MB", "kB", "TiB", "GiB", "MiB", "KiB"]) {
    const scaled = Number((value / Number(UNITS[unit.toLowerCase()])).toFixed(3));
    const text = `${scaled}${unit}`;
    if (scaled >= 1 && scaled < 1e6 && parsedSize(text).value === value) ways.push(text);
  }
  return ways.sort((a, b) => a.length - b.length)[0] ?? `${value}B`;
}

export { NONE, bytes, duration, whole, percent, count, timeScale, memoryScale, signedPercent, number, parsedSize, size };
