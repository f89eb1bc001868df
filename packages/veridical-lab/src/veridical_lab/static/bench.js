// Sorting, and choosing what is shown. Follows theme.js; the page is complete without it.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // ---- sorting: within each part of the body, so that baselines stay below ---------------------
  const value = (row, column) => row.cells[column]?.dataset.v ?? "";
  function compare(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === ""); // unknown last, either way
    const numbers = [Number(a), Number(b)];
    const order = numbers.some(Number.isNaN) ? a.localeCompare(b) : numbers[0] - numbers[1];
    return sign * order;
  }
  function sort(head) {
    const table = head.closest("table");
    const before = head.getAttribute("aria-sort");
    const turned = before === "ascending" ? "descending" : "ascending";
    const way = before ? turned : head.dataset.first;
    for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", way);
    const sign = way === "ascending" ? 1 : -1;
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => ({ row, key: value(row, head.cellIndex) }));
      rows.sort((a, b) => compare(a.key, b.key, sign));
      body.append(...rows.map((r) => r.row));
    }
  }
  for (const head of all("th[data-first]")) {
    if (head.querySelector("a")) { // a heading that is a link already: sort by a button of its own
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = "↕";
      button.setAttribute("aria-label", `Sort by ${head.querySelector("a").textContent}`);
      button.addEventListener("click", () => sort(head));
      head.append(button);
      continue;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(head));
    head.append(button);
  }

  // ---- which split -----------------------------------------------------------------------------
  const choose = document.getElementById("choose");
  choose?.addEventListener("change", () => {
    for (const section of all(".split")) section.hidden = choose.value !== "" && section.id !== choose.value;
  });
  addEventListener("hashchange", () => { // a link to a split that is hidden shows it
    const target = all(".split").find((s) => `#${s.id}` === location.hash);
    if (!target?.hidden) return;
    choose.value = target.id;
    choose.dispatchEvent(new Event("change"));
    target.scrollIntoView();
  });

  // ---- which scorers: the same in all splits ---------------------------------------------------
  const out = new Set();
  function redraw() {
    for (const box of all(".picker input")) box.checked = !out.has(box.value);
    for (const line of all(".curves [data-series]")) line.classList.toggle("out", out.has(line.dataset.series));
  }
  for (const curves of all(".curves")) {
    const boxes = all(".picker input", curves);
    curves.addEventListener("change", (event) => {
      if (event.target.checked) out.delete(event.target.value);
      else out.add(event.target.value);
      redraw();
    });
    for (const button of all("[data-pick]", curves)) {
      button.addEventListener("click", () => {
        const most = { all: boxes.length, none: 0, top: 3 }[button.dataset.pick];
        boxes.forEach((box, i) => (i < most ? out.delete(box.value) : out.add(box.value)));
        redraw();
      });
    }
    const point = (of) => {
      curves.classList.toggle("pointed", of !== null);
      for (const line of all("[data-series]", curves)) line.classList.toggle("hot", line.dataset.series === of);
    };
    for (const label of all("label[data-of]", curves)) {
      label.addEventListener("pointerenter", () => point(label.dataset.of));
      label.addEventListener("pointerleave", () => point(null));
    }
  }
  redraw();
  document.documentElement.dataset.ready = "";
})();
