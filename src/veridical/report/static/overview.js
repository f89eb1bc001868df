"use strict";
/* The first part of the page: verdict cards and the histogram, which filter the records. */
const overviewView = ({ el, grouped, changed }) => {
  const chosen = { verdict: "", from: null, to: null }; // from, to: places of histogram bars
  const cards = [...document.querySelectorAll(".verdict-card")];
  const bars = [...document.querySelectorAll(".histogram .bin")].map((node) => ({
    low: Number(node.dataset.low), high: Number(node.dataset.high), records: Number(node.dataset.records),
  }));
  let hits = [];

  function paint() {
    for (const card of cards) card.setAttribute("aria-pressed", String(card.dataset.verdict === chosen.verdict));
    hits.forEach((hit, i) => hit.setAttribute("aria-pressed", String(chosen.from !== null && i >= chosen.from && i <= chosen.to)));
    document.querySelector(".histogram")?.classList.toggle("filtered", chosen.from !== null);
  }

  function choose(change) {
    Object.assign(chosen, change);
    paint();
    changed();
  }

  function chooseBar(i, extend) {
    const alone = chosen.from === i && chosen.to === i;
    if (alone && !extend) choose({ from: null, to: null });
    else if (extend && chosen.from !== null) choose({ from: Math.min(chosen.from, i), to: Math.max(chosen.to, i) });
    else choose({ from: i, to: i });
  }

  /** Bars become buttons with one tab stop; arrow keys move, and with Shift they widen the choice. */
  function setUp(records) {
    for (const card of cards) {
      card.disabled = !records.some((r) => r.verdict === card.dataset.verdict);
      card.addEventListener("click", () =>
        choose({ verdict: chosen.verdict === card.dataset.verdict ? "" : card.dataset.verdict }));
    }
    const plot = document.querySelector(".histogram .plot-area");
    if (!plot) return;
    const shown = new Set(records.filter((r) => r.risk !== null).map(barOf)); // of many records some are shown
    hits = bars.map((b, i) => el("button", {
      type: "button", class: "hit", tabindex: -1, "aria-pressed": "false", disabled: !shown.has(i),
      "aria-label": `Risk ${b.low.toFixed(2)} to ${b.high.toFixed(2)}: ${grouped(b.records)} ${b.records === 1 ? "record" : "records"}`,
      title: `risk ${b.low.toFixed(2)} to ${b.high.toFixed(2)}: ${grouped(b.records)}`,
      onclick: (event) => chooseBar(i, event.shiftKey),
    }));
    const usable = hits.filter((hit) => !hit.disabled);
    if (usable.length) usable.at(-1).tabIndex = 0;
    const group = el("div", { class: "hits", role: "group", "aria-label": "Filter the records by risk" }, hits);
    group.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const here = usable.indexOf(document.activeElement);
      if (!step || here < 0) return;
      event.preventDefault();
      const next = usable[Math.max(0, Math.min(usable.length - 1, here + step))];
      for (const hit of usable) hit.tabIndex = hit === next ? 0 : -1;
      next.focus();
      if (event.shiftKey) chooseBar(hits.indexOf(next), true);
    });
    plot.append(group);
  }

  /** A bar holds its lower end, the last one both. */
  function barOf(r) {
    return Math.min(bars.length - 1, Math.floor(r.risk * bars.length));
  }

  function passes(r) {
    if (chosen.verdict && r.verdict !== chosen.verdict) return false;
    if (chosen.from === null) return true;
    if (r.risk === null) return false;
    return barOf(r) >= chosen.from && barOf(r) <= chosen.to;
  }

  return {
    setUp, passes,
    verdict: () => chosen.verdict,
    setVerdict: (verdict) => choose({ verdict }),
    range: () => (chosen.from === null ? null : [bars[chosen.from].low, bars[chosen.to].high]),
    clearRange: () => choose({ from: null, to: null }),
    clear: () => { Object.assign(chosen, { verdict: "", from: null, to: null }); paint(); },
    active: () => Boolean(chosen.verdict) || chosen.from !== null,
  };
};
