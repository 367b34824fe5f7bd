// The rows as CSV, JSON and Parquet. `columns` are those of a study: [name, type in Parquet].
import * as answers from "./answers.js";
import { npusOf } from "./scenario.js";

// Rows with the names of their scenario, finished ones first, in the order of the ranking.
function table(rows, scenario, columns) {
  const inputs = { model: scenario.model.name, system: scenario.system.name, npus: npusOf(scenario.system) };
  const ok = answers.finished(rows);
  const others = rows.filter((row) => !ok.includes(row));
  const perNpu = ({ tokens_per_s: tokens }) => ((tokens ?? null) === null ? null : tokens / inputs.npus);
  return [...ok, ...others].map((row) => ({ ...row, tokens_per_s_per_npu: perNpu(row) })).map((row) =>
    Object.fromEntries(columns.map(([name]) => [name, (name in inputs ? inputs[name] : row[name]) ?? null])));
}

const cell = (value) => {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function csv(rows, scenario, columns) {
  const lines = table(rows, scenario, columns).map((row) => columns.map(([name]) => cell(row[name])).join(","));
  return `${[columns.map(([name]) => name).join(","), ...lines].join("\r\n")}\r\n`;
}

const json = (rows, scenario, columns, about) => `${JSON.stringify({ ...about, scenario, rows: table(rows, scenario, columns) }, null, 1)}\n`;

function parquet(rows, scenario, columns, about) {
  const entries = table(rows, scenario, columns);
  const typed = (value, type) => (value === null ? null : type === "INT64" ? BigInt(value) : value);
  return globalThis.hyparquetWriter.parquetWriteBuffer({
    columnData: columns.map(([name, type]) => ({ name, type, data: entries.map((row) => typed(row[name], type)) })),
    codec: "UNCOMPRESSED",
    createdBy: `dse ${about.version ?? ""}`.trim(),
    kvMetadata: [
      ...Object.entries(about).map(([key, value]) => ({ key: `dse.${key}`, value: String(value) })),
      { key: "dse.scenario", value: JSON.stringify(scenario) },
    ],
  });
}

export { table, csv, json, parquet };
