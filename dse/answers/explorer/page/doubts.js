// Why a time is not that of a real machine, in words: each row says of itself which links and splits are in doubt.

const LEGEND = "time in doubt"; // what plots call a point that a table marks

const parts = (text) => (text ? text.split("; ") : []);

// An entry of the column in plain words.
const crossing = (text) =>
  text.replace(/^(\w+ \d+) is charged for dimension (.+), not for (.+)$/, "$1 crosses dimension $3 but is timed on dimension $2, as in ASTRA-sim");

// The warnings of a point, one sentence each.
function warnings({ understated_comm: understated, impossible_split: split }) {
  return [
    ...parts(split).map((text) => `No program can split this: ${text}`),
    ...parts(understated).map((text) => `Slower links are not in this time: ${crossing(text)}`),
  ];
}

// In few words, for a table.
const mark = ({ fractional, understated_comm: understated, impossible_split: split }) => [
  split ? "impossible split" : fractional ? "shards are cut" : "", understated ? "slower links left out" : "",
].filter(Boolean).join(", ");

// How many of the points that finish cannot be believed, and why.
function summary(rows) {
  const impossible = rows.filter(({ impossible_split: split }) => split).length;
  const understated = rows.filter(({ understated_comm: text }) => text).length;
  const cut = rows.filter(({ fractional, impossible_split: split }) => fractional && !split).length;
  const has = (count, text, texts) => (count === 1 ? `1 of ${rows.length} points ${text}` : `${count} of ${rows.length} points ${texts}`);
  return [
    impossible && `${has(impossible, "splits", "split")} sequences, tokens or heads, which no program can: workload.divisibility=whole makes them infeasible`,
    understated && `${has(understated, "has", "have")} messages that cross slower links than they are charged for, as in the reference: the real time is longer`,
    cut && `${has(cut, "has", "have")} widths of matrices that do not divide, and are cut by less than one row of a shard, where programs pad`,
  ].filter(Boolean);
}

export { LEGEND, warnings, mark, summary };
