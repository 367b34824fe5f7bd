// What the views over many points share: elements, axes and options of charts, and when a section is in sight.
(() => {
  "use strict";
  const explorer = (globalThis.explorer ??= {});
  const { element } = explorer.dom;

  // A kind of points for each pair of flags: name, colour and shape, as in the report.
  const KINDS = [
    ["neither fsdp nor recompute", "plain", "circle"], ["recompute", "recompute", "triangle"],
    ["fsdp", "fsdp", "rect"], ["fsdp and recompute", "both", "rectRot"],
  ];
  const kindOf = (row) => 2 * Number(row.weight_sharded) + Number(row.activation_recompute);
  const GLIDE_MS = 320;
  const MOST_GLIDING = 600; // of more points, moving each of them every frame is too slow

  // A table in a box that scrolls: `columns` are [heading, is a number]; cells are texts or elements.
  function table(columns, rows, caption) {
    const made = element("table");
    if (caption) made.append(element("caption", {}, caption));
    const head = element("tr");
    for (const [heading, isNumber] of columns) head.append(element("th", { scope: "col", class: isNumber && "n" }, heading));
    made.createTHead().append(head);
    const body = made.createTBody();
    for (const cells of rows) {
      const row = body.insertRow();
      cells.forEach((cell, index) => {
        const isHead = index === 0 && !columns[index][1];
        row.append(element(isHead ? "th" : "td", { scope: isHead && "row", class: columns[index][1] && "n" }, cell));
      });
    }
    return made;
  }

  // A table that is made when it is opened, and again when the points change while it is open.
  function lazyTable(section, summary, make) {
    const details = element("details");
    const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": summary });
    details.append(element("summary", {}, summary), box);
    section.append(details);
    const fill = () => { if (details.open) box.replaceChildren(make() ?? ""); };
    details.addEventListener("toggle", fill);
    return { details, fill };
  }

  function pointButton(tools, row) {
    const button = element("button", { type: "button", class: "link" }, row.label);
    button.addEventListener("click", () => tools.select(row.label));
    return button;
  }

  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);

  // A cap far from the points would squeeze them into a corner: it is said in words instead.
  const isNear = (cap, sizes) => cap !== null && sizes.length > 0 && cap <= 2 * most(sizes) && cap >= least(sizes) / 2;

  function tick(isWide) {
    return (value) => {
      const short = Number(Number(value).toPrecision(6));
      return isWide && !/^[125]e/.test(short.toExponential()) ? "" : String(short);
    };
  }

  function axis(color, text, { isWide = false, ...more } = {}) {
    return {
      type: isWide ? "logarithmic" : "linear",
      title: { display: true, text: isWide ? `${text}, logarithmic` : text, color: color("ink") },
      grid: { color: color("grid") }, border: { color: color("line") },
      ticks: { color: color("muted"), includeBounds: false, callback: tick(isWide) },
      ...more,
    };
  }

  // Options of a chart whose points are strategies: entries of its data have a `row`, and a click chooses it.
  function options(tools, { isGliding = false, describe = describeRow } = {}) {
    const { color, format } = tools;
    return {
      animation: isGliding && !tools.isReducedMotion() ? { duration: GLIDE_MS, easing: "easeOutCubic" } : false,
      responsive: true, maintainAspectRatio: false,
      interaction: { mode: "nearest", intersect: true },
      onClick: (event, hits) => {
        const row = hits.map(({ datasetIndex, index }) => event.chart.data.datasets[datasetIndex].data[index]?.row).find(Boolean);
        if (row) tools.select(row.label);
      },
      onHover: (event, hits) => { event.native.target.style.cursor = hits.length ? "pointer" : ""; },
      plugins: {
        legend: {
          position: "bottom", onClick: null,
          labels: {
            filter: (item, data) => !data.datasets[item.datasetIndex].isUnnamed,
            color: color("ink"), usePointStyle: true, boxHeight: 8, padding: 14,
          },
        },
        tooltip: {
          filter: (item, index) => index === 0, animation: false,
          callbacks: { title: () => "", label: (item) => describe(format, item) },
        },
      },
    };
  }

  function describeRow(format, { raw, dataset }) {
    if (!raw.row) return dataset.label;
    return [raw.row.label, `${format.duration(raw.row.wall_time_ns)}, ${format.bytes(raw.row.peak_memory_bytes)}`];
  }

  // Names beside marked points: `marks()` gives [{x, y, text}] in values of the axes.
  function names(color, marks) {
    return {
      id: "names",
      afterDatasetsDraw({ ctx, scales, chartArea }) {
        ctx.save();
        ctx.font = `600 ${Chart.defaults.font.size}px ${Chart.defaults.font.family}`;
        ctx.textBaseline = "bottom";
        ctx.textAlign = "left";
        for (const mark of marks()) {
          const [x, y] = [scales.x.getPixelForValue(mark.x), scales.y.getPixelForValue(mark.y)];
          const { width } = ctx.measureText(mark.text);
          const isRight = x + 14 + width > chartArea.right;
          const left = Math.max(chartArea.left + 2, Math.min(isRight ? x - 10 - width : x + 10, chartArea.right - width - 2));
          const top = Math.max(chartArea.top + 16, y - 7);
          ctx.lineWidth = 4;
          ctx.strokeStyle = color("page");
          ctx.strokeText(mark.text, left, top);
          ctx.fillStyle = color("ink");
          ctx.fillText(mark.text, left, top);
        }
        ctx.restore();
      },
    };
  }

  // Calls `enter` when a section comes into sight; `isVisible()` says whether it is.
  function sight(section, enter) {
    let isVisible = false;
    new IntersectionObserver((entries) => {
      isVisible = entries.at(-1).isIntersecting;
      if (isVisible) enter();
    }, { rootMargin: "100px" }).observe(section);
    return () => isVisible;
  }

  explorer.plots = {
    KINDS, MOST_GLIDING, kindOf, table, lazyTable, pointButton, most, least, isNear, axis, options, describeRow, names, sight,
  };
})();
