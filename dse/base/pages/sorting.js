// Tables of class "sorts": a heading sorts the rows, by the figure in data-of of a cell, else by its text.
const valueOf = (cell) => {
  if (!cell) return null; // a cell before it spans several columns
  const { of } = cell.dataset;
  if (of === undefined) return cell.textContent.trim();
  return of === "" ? null : Number(of);
};

// Rows without a figure come last, whichever way the others go.
function compared(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null);
  return sign * (typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other);
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.querySelector(".unseen")) return; // nothing to press
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
      rows.sort(([one], [other]) => compared(one, other, descending ? -1 : 1));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

for (const table of document.querySelectorAll("table.sorts")) makeSortable(table);
