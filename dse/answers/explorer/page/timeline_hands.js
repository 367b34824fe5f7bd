// Keys, wheel, fingers and buttons of a timeline.
// `acts` are what hands can ask for: pan(share of the view), zoom(factor, x), step(nodes, tracks), whole(),
// start(), end(), clear(), zoomToNode(), choose(x, y), hover(event or null), isReady(); `view` has its width.
import { element } from "../../../base/pages/dom.js";

function listen(canvas, acts) {
  canvas.addEventListener("keydown", (event) => onKey(event, acts));
  canvas.addEventListener("wheel", (event) => onWheel(event, acts), { passive: false });
  const fingers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    if (!acts.isReady() || event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, { x: event.offsetX, first: event.offsetX, isDrag: false });
  });
  canvas.addEventListener("pointermove", (event) => acts.isReady() && onMove(event, fingers, acts));
  const onUp = (event) => {
    const finger = fingers.get(event.pointerId);
    fingers.delete(event.pointerId);
    canvas.style.cursor = "grab";
    if (acts.isReady() && finger && !finger.isDrag && event.type === "pointerup") acts.choose(event.offsetX, event.offsetY);
  };
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, onUp);
  canvas.addEventListener("pointerleave", () => acts.isReady() && acts.hover(null));
}

function onKey(event, acts) {
  if (!acts.isReady() || event.altKey || event.ctrlKey || event.metaKey) return;
  const act = {
    ArrowLeft: () => (event.shiftKey ? acts.step(-1) : acts.pan(-0.2)),
    ArrowRight: () => (event.shiftKey ? acts.step(1) : acts.pan(0.2)),
    ArrowUp: () => acts.step(0, -1), ArrowDown: () => acts.step(0, 1),
    "+": () => acts.zoom(0.6), "=": () => acts.zoom(0.6), "-": () => acts.zoom(1 / 0.6),
    Home: acts.start, End: acts.end, 0: acts.whole, Enter: acts.zoomToNode, Escape: acts.clear,
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// Only with Ctrl, or once the timeline has the focus: else the wheel scrolls the page.
function onWheel(event, acts) {
  if (!acts.isReady()) return;
  const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  const isOurs = event.ctrlKey || event.metaKey || document.activeElement === event.currentTarget;
  if (!isSideways && !isOurs) return;
  event.preventDefault();
  const lines = event.deltaMode ? 16 : 1;
  if (isSideways) acts.pan(((event.deltaX || event.deltaY) * lines) / acts.view.width);
  else acts.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY * lines)) * (event.ctrlKey ? 0.01 : 0.004)), event.offsetX);
}

function onMove(event, fingers, acts) {
  const finger = fingers.get(event.pointerId);
  if (!finger) return acts.hover(event);
  const other = [...fingers.values()].find((one) => one !== finger);
  if (other) {
    const [was, is] = [finger.x, event.offsetX].map((x) => Math.max(8, Math.abs(x - other.x)));
    acts.zoom(was / is, other.x);
    finger.isDrag = other.isDrag = true;
  } else if (finger.isDrag || Math.abs(event.offsetX - finger.first) > 4) {
    finger.isDrag = true;
    acts.hover(null);
    event.currentTarget.style.cursor = "grabbing";
    acts.pan((finger.x - event.offsetX) / acts.view.width);
  }
  finger.x = event.offsetX;
}

function buttons(acts) {
  const bar = element("div", { role: "group", "aria-label": "Timeline", class: "noprint" });
  bar.style.cssText = "display: flex; flex-wrap: wrap; gap: .35rem; align-items: center; margin: .5rem 0";
  const add = (text, label, act) => {
    const made = element("button", text, { type: "button", class: "plain", "aria-label": label, title: label });
    made.addEventListener("click", () => acts.isReady() && act());
    bar.append(made);
    return made;
  };
  add("+", "Zoom in", () => acts.zoom(0.5));
  add("−", "Zoom out", () => acts.zoom(2));
  add("‹", "Earlier", () => acts.pan(-0.4));
  add("›", "Later", () => acts.pan(0.4));
  add("Whole step", "Whole step", acts.whole).dataset.whole = "";
  add("‹ node", "Previous node of the track", () => acts.step(-1));
  add("node ›", "Next node of the track", () => acts.step(1));
  return bar;
}

export { listen, buttons };
