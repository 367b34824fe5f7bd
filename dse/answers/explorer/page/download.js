// The rows as CSV, JSON and Parquet: columns named and typed as those of a study.
import * as answers from "./answers.js";
import * as doubts from "./doubts.js";
import { npusOf } from "./scenario.js";

const COLUMNS = [
  ["dp", "INT32"], ["tp", "INT32"], ["sp", "INT32"], ["pp", "INT32"],
  ["weight_sharded", "BOOLEAN"], ["activation_recompute", "BOOLEAN"],
  ["model", "STRING"], ["system", "STRING"], ["status", "STRING"], ["reason", "STRING"],
  ["fractional", "BOOLEAN"], ["npus", "INT32"],
  ["wall_time_ns", "INT64"], ["gpu_time_ns", "INT64"], ["comm_time_ns", "INT64"], ["exposed_comm_ns", "INT64"],
  ["compute_bound_pct", "DOUBLE"], ["compute_utilization_pct", "DOUBLE"], ["memory_utilization_pct", "DOUBLE"],
  ["operation_intensity", "DOUBLE"], ["peak_memory_bytes", "INT64"], ["rank0_wall_time_ns", "INT64"],
  ["rank0_peak_memory_bytes", "INT64"], ["last_rank", "INT32"], ["rank_classes", "INT32"],
  ["mfu_pct", "DOUBLE"], ["tokens_per_s", "DOUBLE"], ["tokens_per_s_per_npu", "DOUBLE"],
  ["understated_comm", "STRING"], ["impossible_split", "STRING"],
];

// Rows with the names of their scenario, finished ones first, in the order of the ranking.
function table(rows, scenario) {
  const inputs = { model: scenario.model.name, system: scenario.system.name, npus: npusOf(scenario.system) };
  const ok = answers.finished(rows);
  const others = rows.filter((row) => !ok.includes(row));
  const perNpu = ({ tokens_per_s: tokens }) => ((tokens ?? null) === null ? null : tokens / inputs.npus);
  return [...ok, ...others].map((row) => ({ ...row, tokens_per_s_per_npu: perNpu(row), ...doubts.of(row, scenario) })).map((row) =>
    Object.fromEntries(COLUMNS.map(([name]) => [name, (name in inputs ? inputs[name] : row[name]) ?? null])));
}

const cell = (value) => {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function csv(rows, scenario) {
  const lines = table(rows, scenario).map((row) => COLUMNS.map(([name]) => cell(row[name])).join(","));
  return `${[COLUMNS.map(([name]) => name).join(","), ...lines].join("\r\n")}\r\n`;
}

const json = (rows, scenario, about) => `${JSON.stringify({ ...about, scenario, rows: table(rows, scenario) }, null, 1)}\n`;

function parquet(rows, scenario, about) {
  const entries = table(rows, scenario);
  const typed = (value, type) => (value === null ? null : type === "INT64" ? BigInt(value) : value);
  return globalThis.hyparquetWriter.parquetWriteBuffer({
    columnData: COLUMNS.map(([name, type]) => ({ name, type, data: entries.map((row) => typed(row[name], type)) })),
    codec: "UNCOMPRESSED",
    createdBy: `dse ${about.version ?? ""}`.trim(),
    kvMetadata: [
      ...Object.entries(about).map(([key, value]) => ({ key: `dse.${key}`, value: String(value) })),
      { key: "dse.scenario", value: JSON.stringify(scenario) },
    ],
  });
}

// Hands a file to the browser.
function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export { COLUMNS, table, csv, json, parquet, save };
