// Drawings of the rows of a table, in places that name it: [data-heat-of=ID] over two axes, [data-points-of=ID] and
// [data-lines-of=ID]. They show what the filters leave, and choose rows of the table.
import { redraws } from "./canvas.js";
import { measureOf } from "./column_measures.js";
import { HeatMap } from "./heat_map.js";
import { LinesPlot } from "./lines_plot.js";
import { PointsPlot } from "./points_plot.js";
import { SumMap } from "./sum_map.js";
import { color, compared, hands } from "./tables.js";

const labelsOf = ({ columns }) => (row) => columns.map(({ heading, at, said }) => `${heading} ${said(at(row))}`).join(", ");

function mapped(place, hand) {
  const { across, down, sums } = place.dataset;
  const Drawn = sums === undefined ? HeatMap : SumMap;
  const map = new Drawn(place, { preferred: { x: [across], y: [down], of: [] }, choose: (row) => hand.choose(row) });
  const isNamed = ({ name }) => name === across || name === down;
  const named = hand.columns.filter((column) => column.isAxis || isNamed(column));
  const all = sums === undefined ? null : [...new Set(named.flatMap(({ values }) => values))].sort(compared);
  const axes = named.map((column) => ({ ...column, values: all ?? column.values })).map((axis) => ({ ...axis, place: (row) => axis.values.indexOf(axis.at(row)) }));
  const figures = hand.columns.filter((column) => column.isNumber && !column.isAxis && !isNamed(column)).map((column) => ({ ...column, title: column.heading, of: column.at }));
  hand.follow(({ kept, chosen }) => map.update({ axes, figures, rows: kept, label: labelsOf(hand), isChosen: (row) => row === chosen }));
}

function plotted(place, hand, Plot, words) {
  const { across, up, ink } = place.dataset;
  const measures = hand.columns.filter(({ isText }) => !isText).map(measureOf);
  const cost = (measures.find(({ name }) => name === up) ?? measures[0])?.read ?? (() => 0);
  const listed = (names) => (names ?? "").split("|");
  const plot = new Plot(place, { label: `${place.dataset.label} ${words}`, color, preferred: { x: listed(across), y: listed(up), ink: listed(ink) }, choose: (row) => hand.choose(row, { scrolls: false }) });
  hand.follow(({ kept, chosen }) => plot.update({
    measures, axes: measures, rows: kept, selected: chosen, label: labelsOf(hand), cost,
    order: () => [...kept].sort((one, other) => compared(cost(one), cost(other))),
  }));
  redraws(() => plot.draw());
}

for (const hand of hands) {
  const placed = (kind, draw) => document.querySelectorAll(`[data-${kind}-of="${hand.table.id}"]`).forEach(draw);
  placed("points", (place) => plotted(place, hand, PointsPlot, "as points; the arrow keys go from one to the next"));
  placed("lines", (place) => plotted(place, hand, LinesPlot, "as lines through their values"));
  placed("heat", (place) => mapped(place, hand));
}
