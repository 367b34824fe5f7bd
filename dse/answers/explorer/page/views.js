// The views of the page, in the order in which they stand.
import { view as best } from "./table.js";
import { view as scatter } from "./scatter.js";
import { view as heat } from "./heat.js";
import { view as caps } from "./caps.js";
import { view as breakdown } from "./breakdown_view.js";
import { view as memory } from "./memory_view.js";
import { view as timeline } from "./timeline.js";
import { view as tornado } from "./tornado.js";
import { view as map } from "./map.js";

const views = [best, scatter, heat, caps, breakdown, memory, timeline, tornado, map];

export { views };
