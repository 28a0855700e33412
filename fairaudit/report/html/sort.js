"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const rest = table.closest(".table")?.querySelector("details.rest");
  const gather = () => {
    if (rest?.isConnected) body.append(...rest.querySelectorAll("tbody tr"));
    rest?.remove();
  };
  if (rest || body.rows.length > 8) {
    const field = document.createElement("input");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", `Filter rows of ${table.caption.textContent}`);
    field.addEventListener("input", () => {
      gather();
      const words = field.value.toLowerCase().split(/\s+/);
      for (const row of body.rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.closest(".scroll").before(field);
  }
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[column].textContent.trim();
      const number = (text) => parseFloat(text.replace(/[,\s]/g, "").replace("∞", "Infinity").replace(/^[<=]/, ""));
      gather();
      const rows = [...body.rows];
      const isNumber = rows.some((row) => !Number.isNaN(number(key(row)))) && head.classList.contains("number");
      rows.sort((a, b) => {
        if (!isNumber) return key(a).localeCompare(key(b)) * (up ? 1 : -1);
        const [x, y] = [number(key(a)), number(key(b))];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return (x - y) * (up ? 1 : -1);
      });
      body.append(...rows);
    });
  });
}
