"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
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
      const rows = [...table.tBodies[0].rows];
      const isNumber = rows.some((row) => !Number.isNaN(number(key(row)))) && head.classList.contains("number");
      rows.sort((a, b) => {
        if (!isNumber) return key(a).localeCompare(key(b)) * (up ? 1 : -1);
        const [x, y] = [number(key(a)), number(key(b))];
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return (x - y) * (up ? 1 : -1);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
