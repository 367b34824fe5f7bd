// Columns of a table as plots take them: axes have a place for each value, figures the unit of the largest.
import { unitOf } from "./filters.js";
import { short } from "./inks.js";

/** A column of ascending `values`, numbers or texts; an axis has few. `at` reads a row, and `said` writes a value. */
function measureOf({ name, heading, values, isNumber, isAxis, at, said }) {
  const say = isNumber ? said : (place) => said(values[place]);
  if (isAxis) {
    const read = isNumber ? (row) => at(row) ?? NaN : (row) => values.indexOf(at(row));
    return { name, title: heading, heading, places: isNumber ? values : values.map((_, place) => place), read, say, sayInk: say };
  }
  const [unit, one, isSuffix] = unitOf(values.at(-1), said(values.at(-1)));
  return {
    name, title: heading, heading: unit && !isSuffix ? `${heading}, ${unit}` : heading, read: (row) => (at(row) ?? NaN) / one,
    say: (value) => `${short(value)}${isSuffix ? unit : ""}`, sayInk: (value) => said(value * one),
  };
}

export { measureOf };
