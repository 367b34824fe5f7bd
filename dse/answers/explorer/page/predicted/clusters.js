// A cluster and a model as the engine predicts them, from their figures as they stand in the form.
import { lifted, plain } from "../../../../base/pages/python.js";
import { clustered, predictable } from "./rules.js";

/** What a rule says of values, found once for the three times that a request asks. */
function once(rule) {
  const known = new WeakMap();
  return (values) => {
    if (!known.has(values)) known.set(values, plain(rule(lifted(values))));
    return known.get(values);
  };
}

/** What predicts steps on a system: its record as the engine takes it, and the peak that MFU counts. */
const clusterOf = once(clustered);

/** What predicts steps of a model: its record as the engine takes it, and the operations of a step. */
const predictableOf = once(predictable);

export { clusterOf, predictableOf };
