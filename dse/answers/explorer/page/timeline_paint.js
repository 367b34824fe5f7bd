// Paints a timeline on a canvas: time, a track for compute and for each group, and the memory of the rank.
import { cells, titleOf } from "./lanes.js";
import { inkOn } from "./point.js";

const AXIS = 28, TITLE = 19, GAP = 9, MEMORY = 74, EDGE = 4;

// Places of tracks from top to bottom; many lanes are low. {tracks: [{…track, y, laneHeight}], memoryY, height}
function layout(tracks, hasMemory) {
  let y = AXIS;
  const placed = tracks.map((track) => {
    const laneHeight = Math.max(5, Math.min(24, Math.floor(144 / track.lanes.length)));
    const place = { ...track, y: y + TITLE, laneHeight };
    y += TITLE + laneHeight * track.lanes.length + GAP;
    return place;
  });
  return { tracks: placed, memoryY: y + TITLE, height: hasMemory ? y + TITLE + MEMORY + GAP : y };
}

const nice = (least) => {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
};

// Times of grid lines, and how to write them: from the left edge on where they have too many digits.
function ticks({ from, to, width }, format) {
  const step = Math.max(1, nice((Math.max(64, width / 12) * (to - from)) / width));
  const [size, unit] = format.timeScale(to);
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  const isRelative = digits > 4;
  const base = isRelative ? from : 0;
  const found = [];
  const [own, ownUnit] = format.timeScale(isRelative ? to - from : to);
  const places = Math.max(0, Math.ceil(Math.log10(own / step) - 1e-9));
  for (let count = Math.ceil((from - base) / step); base + count * step <= to; count += 1) {
    const text = ((count * step) / own).toFixed(places);
    found.push({ time: base + count * step, text: `${isRelative ? "+" : ""}${text} ${ownUnit}` });
  }
  if (isRelative && found.length) found[0].text = `${(from / size).toFixed(digits)} ${unit}`;
  return found;
}

function paintAxis(ctx, { view, colors, format, end, bottom, fontOf }) {
  const { from, to, width } = view;
  const at = (time) => ((time - from) / (to - from)) * width;
  ctx.font = fontOf(11);
  ctx.textBaseline = "middle";
  let taken = -Infinity;
  for (const { time, text } of ticks(view, format)) {
    const x = Math.round(at(time)) + 0.5;
    ctx.fillStyle = colors.grid;
    ctx.fillRect(x - 0.5, AXIS - 6, 1, bottom - AXIS + 6);
    const wide = ctx.measureText(text).width;
    const left = Math.max(1, Math.min(width - wide - 1, x - wide / 2));
    if (left < taken + 8) continue;
    taken = left + wide;
    ctx.fillStyle = colors.muted;
    ctx.fillText(text, left, AXIS - 15);
  }
  ctx.fillStyle = colors.grid; // which part of the whole is shown
  ctx.fillRect(0, 0, width, 3);
  ctx.fillStyle = colors.accent;
  ctx.fillRect((from / end) * width, 0, Math.max(2, ((to - from) / end) * width), 3);
}

function paintLane(ctx, model, lane, y, height) {
  const { view, nodes, colorOf, fontOf } = model;
  ctx.font = fontOf(11);
  const letter = ctx.measureText("n").width;
  for (const { x, width, color, share, node } of cells(lane, view, colorOf)) {
    ctx.fillStyle = color;
    if (node < 0) {
      ctx.globalAlpha = 0.4 + 0.6 * share; // never too faint to be seen
      ctx.fillRect(x, y, 1, height);
      ctx.globalAlpha = 1;
      continue;
    }
    ctx.fillRect(x, y, Math.max(1.5, width - (width > 4 ? 1 : 0.4)), height);
    if (width < 24 || height < 14) continue;
    const most = Math.floor((width - 8) / letter);
    const text = [titleOf(nodes, node), model.shortOf(node)].find((name) => name.length <= most);
    if (!text) continue;
    ctx.fillStyle = inkOn(color);
    ctx.fillText(text, x + 4, y + height / 2 + 0.5);
  }
}

function paintMemory(ctx, model, y) {
  const { view, curve, peak, cap, colors, format, fontOf } = model;
  const { from, to, width } = view;
  const most = Math.max(peak, cap ?? 0) * 1.04;
  const up = (size) => y + MEMORY - (size / most) * MEMORY;
  const at = (time) => ((time - from) / (to - from)) * width;
  let [low, high] = [0, curve.length]; // the first step in sight
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve[middle][0] > from) high = middle;
    else low = middle + 1;
  }
  // Of each column the fullest moment and the last: the shape stays true however many steps it has.
  const path = new Path2D();
  let [now, column, fullest] = [low ? curve[low - 1][1] : 0, 0, 0];
  path.moveTo(0, up(now));
  fullest = now;
  const flush = () => {
    if (fullest > now) path.lineTo(column, up(fullest));
    path.lineTo(column, up(now));
  };
  for (let index = low; index < curve.length && curve[index][0] < to; index += 1) {
    const x = Math.round(at(curve[index][0]) * 2) / 2;
    if (x !== column) {
      flush();
      path.lineTo(x, up(now));
      [column, fullest] = [x, curve[index][1]];
    }
    now = curve[index][1];
    fullest = Math.max(fullest, now);
  }
  flush();
  path.lineTo(width, up(now));
  const area = new Path2D(path);
  area.lineTo(width, y + MEMORY);
  area.lineTo(0, y + MEMORY);
  ctx.globalAlpha = 0.25;
  ctx.fillStyle = colors.accent;
  ctx.fill(area);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = colors.accent;
  ctx.lineWidth = 1.25;
  ctx.stroke(path);
  ctx.fillStyle = colors.line;
  ctx.fillRect(0, y + MEMORY, width, 1);
  if (cap !== null) {
    ctx.setLineDash([6, 4]);
    ctx.strokeStyle = colors.bad;
    ctx.beginPath();
    ctx.moveTo(0, up(cap));
    ctx.lineTo(width, up(cap));
    ctx.stroke();
    ctx.setLineDash([]);
  }
  ctx.font = fontOf(11);
  ctx.fillStyle = colors.ink;
  const text = `peak ${format.bytes(peak)}${cap === null ? "" : `, cap ${format.bytes(cap)}`}`;
  ctx.textAlign = "right";
  ctx.fillText(text, width - 1, y - TITLE / 2);
  ctx.textAlign = "left";
}

// `mark` frames a span: {track, lane, place}.
function paintMark(ctx, { view, placed, colors }, mark, color, thick) {
  const track = placed.tracks[mark.track];
  const lane = track.lanes[mark.lane];
  const scale = view.width / (view.to - view.from);
  const left = (lane.start[mark.place] - view.from) * scale;
  const right = (lane.end[mark.place] - view.from) * scale;
  if (right < -EDGE || left > view.width + EDGE) return;
  const x = Math.max(-EDGE, left);
  ctx.strokeStyle = colors[color];
  ctx.lineWidth = thick;
  ctx.strokeRect(x - 1, track.y + mark.lane * track.laneHeight - 1, Math.max(3, Math.min(view.width + EDGE, right) - x + 1), track.laneHeight + 1);
}

// `model`: {view: {from, to, width}, placed, nodes, colorOf, shortOf, curve, peak, cap, colors, format, fontOf, end,
// selected, hovered, waited (marks of what the selected node waited for)}
function paint(ctx, model) {
  const { placed, colors, fontOf, view } = model;
  ctx.clearRect(0, 0, view.width, placed.height);
  paintAxis(ctx, { ...model, bottom: placed.height - GAP });
  for (const track of placed.tracks) {
    ctx.font = fontOf(11.5);
    ctx.fillStyle = colors.muted;
    ctx.fillText(track.title, 0, track.y - TITLE / 2, view.width);
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, track.y, view.width, track.laneHeight * track.lanes.length - 1);
    track.lanes.forEach((lane, number) => paintLane(ctx, model, lane, track.y + number * track.laneHeight, track.laneHeight - 1));
  }
  if (model.curve.length) {
    ctx.font = fontOf(11.5);
    ctx.fillStyle = colors.muted;
    ctx.fillText("memory", 0, placed.memoryY - TITLE / 2);
    paintMemory(ctx, model, placed.memoryY);
  }
  for (const mark of model.waited) paintMark(ctx, model, mark, "muted", 1.5);
  if (model.hovered) paintMark(ctx, model, model.hovered, "accent", 2);
  if (model.selected) paintMark(ctx, model, model.selected, "ink", 2);
}

export { layout, paint, ticks, MEMORY };
