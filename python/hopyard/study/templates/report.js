"use strict";
// The value of the mark that is nearest to the pointer, and tables that are sorted by a column. Without scripts, the
// titles of the marks still tell their values, and the tables stand in the order of the study.
const tip = document.getElementById("tip");
const REACH = 28; // pixels within which a mark is meant

for (const svg of document.querySelectorAll("figure svg")) {
  const marks = [...svg.querySelectorAll(".tips circle")];
  if (!marks.length) continue;
  for (const mark of marks) {
    mark.dataset.tip = mark.textContent;
    mark.replaceChildren(); // The browser would show its own title too.
  }
  let shown = null;
  const show = (mark) => {
    if (shown) shown.classList.remove("on");
    shown = mark;
    tip.hidden = !mark;
    if (!mark) return;
    mark.classList.add("on");
    tip.textContent = mark.dataset.tip;
    const at = mark.getBoundingClientRect();
    const left = Math.min(Math.max(at.x + at.width / 2 - tip.offsetWidth / 2, 4), innerWidth - tip.offsetWidth - 4);
    const above = at.y - tip.offsetHeight - 6;
    tip.style.left = `${left}px`;
    tip.style.top = `${above < 4 ? at.bottom + 6 : above}px`;
  };
  const nearest = (event) => {
    let best = null, least = REACH;
    for (const mark of marks) {
      const at = mark.getBoundingClientRect();
      const far = Math.hypot(at.x + at.width / 2 - event.clientX, at.y + at.height / 2 - event.clientY);
      if (far < least) [best, least] = [mark, far];
    }
    show(best);
  };
  svg.addEventListener("pointermove", nearest);
  svg.addEventListener("pointerdown", nearest);
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-label", "Figure: the arrow keys go from mark to mark");
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(null);
    if (!step) return;
    event.preventDefault();
    const place = shown ? marks.indexOf(shown) + step : step > 0 ? 0 : -1;
    show(marks.at(place % marks.length));
  });
  svg.addEventListener("blur", () => show(null));
  addEventListener("scroll", () => show(null), { passive: true });
}

// On a telephone, the contents would fill the first screen.
if (innerWidth < 640) document.querySelector("nav details").open = false;

const text = (row, column) => row.cells[column].textContent.trim();
const key = (row, column) => {
  const given = row.cells[column].dataset.v ?? text(row, column).replace(/^[<≥≤ ]+/, "");
  const number = parseFloat(given);
  return Number.isNaN(number) ? null : number;
};
for (const table of document.querySelectorAll("table.sorted")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [row, key(row, column)]);
      const order = ([a, x], [b, y]) =>
        x !== null && y !== null ? x - y : x === null && y === null ? text(a, column).localeCompare(text(b, column)) : x === null ? 1 : -1;
      rows.sort((a, b) => (down ? -order(a, b) : order(a, b)));
      body.append(...rows.map(([row]) => row));
    });
  });
}
