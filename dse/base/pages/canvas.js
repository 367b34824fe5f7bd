// Drawings on a canvas without a library: sharp on every screen, and an axis of times above their rows.
import { duration } from "./numbers.js";

const AXIS = 20; // above the rows, for the times

/** Sets the height of a canvas if one is given, and clears it; returns its pen and its size on the page. */
function sharp(canvas, given) {
  const ratio = window.devicePixelRatio || 1;
  if (given) canvas.style.height = `${given}px`;
  const [width, height] = [canvas.clientWidth, given ?? canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

// Round times, about one per 110 pixels.
function ticks(total, across) {
  const least = total / Math.max(1, Math.floor(across / 110));
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
  return Array.from({ length: Math.floor(total / step) + 1 }, (_, n) => n * step);
}

/** Draws times from 0 to `total_ns` and their lines, between `left` and `right` pixels of the edges. */
function paintTimes({ pen, width, height }, total_ns, { left, right, color }) {
  pen.font = "10px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.fillStyle = color("muted");
  pen.strokeStyle = color("grid");
  pen.lineWidth = 1;
  const across = width - left - right;
  for (const time of ticks(total_ns, across)) {
    const x = left + (time / total_ns) * across;
    pen.textAlign = x > width - 30 ? "right" : "center";
    pen.fillText(duration(time), x > width - 30 ? width : x, AXIS / 2 - 1);
    pen.beginPath();
    pen.moveTo(x, AXIS - 3);
    pen.lineTo(x, height);
    pen.stroke();
  }
}

/** Draws again in the colours of another scheme, and on paper in light ones. */
function redraws(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  for (const [when, isLight] of [["beforeprint", true], ["afterprint", false]]) {
    addEventListener(when, () => {
      document.documentElement.classList.toggle("light", isLight);
      draw();
    });
  }
}

export { AXIS, paintTimes, redraws, sharp };
