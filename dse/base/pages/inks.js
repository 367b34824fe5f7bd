// A few ordered colours: of values that are few, one each; of many, one for each range.
import { element } from "./dom.js";

const STEPS = 6;
const SAMPLE = 4000; // numbers that tell the ranges

const short = (value) => Number(value.toPrecision(3));

/** {inks, of(value), legend: [{color, text}]}: `numbers` are those that occur, `say` writes one, `color` reads the page's. */
function inksOf(all, say, color) {
  const stride = Math.ceil(all.length / SAMPLE);
  const numbers = stride > 1 ? all.filter((_, index) => index % stride === 0) : all;
  const ramp = Array.from({ length: STEPS }, (_, index) => color(`r${index}`));
  const distinct = [...new Set(numbers)].filter(Number.isFinite).sort((a, b) => a - b);
  const none = color("muted");
  if (distinct.length <= STEPS) {
    const at = (index) => ramp[distinct.length === 1 ? 2 : Math.round((index * (STEPS - 1)) / (distinct.length - 1))];
    const places = new Map(distinct.map((value, index) => [value, at(index)]));
    return { inks: [...new Set([...places.values(), none])], of: (value) => places.get(value) ?? none, legend: distinct.map((value) => ({ color: places.get(value), text: say(value) })) };
  }
  const sorted = Float64Array.from([...numbers].filter(Number.isFinite)).sort();
  const edges = Array.from({ length: STEPS + 1 }, (_, index) => sorted[Math.min(sorted.length - 1, Math.floor((index * sorted.length) / STEPS))]);
  const of = (value) => {
    if (Number.isNaN(value)) return none;
    let step = STEPS - 1;
    while (step > 0 && value < edges[step]) step -= 1;
    return ramp[step];
  };
  const last = (index) => (index === STEPS - 1 ? edges[STEPS] : distinct.findLast((value) => value < edges[index + 1]));
  const range = (least, most) => (say(least) === say(most) ? say(least) : `${say(least)} to ${say(most)}`);
  const legend = ramp.flatMap((ink, index) => (edges[index] === edges[index + 1] ? [] : [{ color: ink, text: range(edges[index], last(index)) }]));
  return { inks: [...ramp, none], of, legend };
}

/** Black or white, whichever can be read on a colour that is written as #rrggbb. */
function inkOn(ground) {
  const [red, green, blue] = [1, 3, 5].map((start) => {
    const part = parseInt(ground.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05) ** 2 > 0.05 * 1.05 ? "#000000" : "#ffffff";
}

const legendOf = (entries) => element("ul", { class: "inks" }, ...entries.map(({ color, text }) => element("li", {}, element("i", { style: `background: ${color}` }), text)));

export { inkOn, inksOf, legendOf, short };
