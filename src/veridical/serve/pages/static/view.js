/* The index of runs, runs under way, and two side by side. */
import { alarm, api, byId, el, enter, fill, say } from "./pages.js";
import { verdict, wirePaste } from "./paste.js";

const EVERY = 2000; // milliseconds between two looks
let entries = [];
let chosen = []; // keys of runs to compare
let pair = null;
let page = 0;
let shown = ""; // what the cards of runs were drawn from

const time = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
const risk = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));

/* the index */
function drawIndex() {
  byId("nothing").hidden = entries.length > 0;
  byId("index-table").hidden = entries.length === 0;
  fill(byId("entries"), ...entries.map((entry) => {
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${entry.path}`,
      "data-key": entry.key });
    box.checked = chosen.includes(entry.key);
    box.addEventListener("change", () => {
      chosen = box.checked ? [...chosen, entry.key].slice(-2) : chosen.filter((k) => k !== entry.key);
      drawIndex();
      document.querySelector(`[data-key="${entry.key}"]`).focus();
    });
    const open = entry.kind === "tune"
      ? el("button", { type: "button", class: "link" }, "figures")
      : el("a", { href: `/report?key=${entry.key}`, target: "_blank", rel: "noopener" }, "report");
    if (entry.kind === "tune") open.addEventListener("click", () => figures(entry.key));
    return el("tr", {},
      el("td", {}, entry.kind === "run" ? box : null),
      el("th", { scope: "row" }, el("bdi", {}, entry.path)),
      el("td", {}, entry.kind, entry.live ? el("span", { class: "live" }, " · under way") : null),
      el("td", {}, `${time(entry.changed)} UTC`),
      el("td", {}, open));
  }));
  byId("compare-go").disabled = chosen.length !== 2;
}

function card(entry, told) {
  const done = told.total ? told.records / told.total : null;
  return el("article", { class: "run", "data-key": entry.key, "aria-label": told.path },
    el("h3", {}, el("bdi", {}, told.path)),
    told.live ? el("p", { class: "live" }, `Under way: ${told.records.toLocaleString("en")}`
      + `${told.total ? ` of ${told.total.toLocaleString("en")}` : ""} records so far`) : null,
    told.live && done !== null
      ? el("progress", { max: "1", value: String(done), "aria-label": "Records scored" }) : null,
    el("p", { class: "answer-line" }, told.outcome),
    el("div", { class: "verdict-cards" }, ...told.cards.map((c) =>
      el("div", { class: "verdict-tile", "data-v": c.tone },
        el("span", { class: "verdict-mark", "aria-hidden": "true" }, c.mark),
        el("span", {}, c.word), el("b", {}, c.records.toLocaleString("en"))))),
    told.worst.length ? el("div", { class: "scroll", role: "group", tabindex: "0",
      "aria-label": `Riskiest records of ${told.path}` },
    el("table", {},
      el("caption", {}, "Riskiest records"),
      el("thead", {}, el("tr", {}, ...["Row", "Id", "Verdict", "Risk"].map((h, i) =>
        el("th", { scope: "col", class: i % 3 ? null : "n" }, h)))),
      el("tbody", {}, ...told.worst.map((r) => el("tr", {},
        el("th", { scope: "row", class: "n" }, String(r.row)), el("td", {}, el("bdi", {}, r.id)),
        el("td", {}, verdict(r.verdict)), el("td", { class: "n" }, risk(r.risk))))))) : null);
}

async function look() {
  const told = await api("/api/index");
  if (JSON.stringify(told.entries) !== JSON.stringify(entries)) {
    entries = told.entries;
    if (!byId("entries").contains(document.activeElement)) drawIndex();
  }
  const runs = entries.filter((e) => e.kind === "run").slice(0, 6);
  const cards = await Promise.all(runs.map(async (entry) => {
    try {
      return [entry, await api(`/api/run?key=${entry.key}`)];
    } catch (e) {
      return [entry, { path: entry.path, outcome: e.message, records: 0, total: null, cards: [],
        worst: [], live: entry.live }];
    }
  }));
  const now = JSON.stringify(cards);
  if (now !== shown) {
    shown = now;
    fill(byId("runs"), ...cards.map(([entry, run]) => card(entry, run)));
  }
  return told;
}

async function follow() {
  for (;;) {
    await new Promise((resume) => { setTimeout(resume, EVERY); });
    if (document.hidden || byId("index").hidden) continue;
    try {
      await look();
      alarm(null);
    } catch (e) { alarm(e.message); }
  }
}

/* A against B */
async function compare() {
  const only = byId("compare-only").value;
  const told = await api(`/api/compare?a=${pair[0]}&b=${pair[1]}&page=${page}&only=${only}`);
  page = told.page;
  const name = (key) => entries.find((e) => e.key === key)?.path ?? key;
  byId("compare-a").textContent = name(pair[0]);
  byId("compare-b").textContent = name(pair[1]);
  const moved = told.moved.filter(([x, y]) => x !== y).reduce((sum, [, , n]) => sum + n, 0);
  byId("compare-line").textContent = `${moved.toLocaleString("en")} of `
    + `${told.common.toLocaleString("en")} records have another verdict in B`
    + (told.only[0] || told.only[1]
      ? `; ${told.only[0]} are in A alone, ${told.only[1]} in B alone` : "");
  fill(byId("moved"), el("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": "Verdicts" },
    el("table", {},
      el("thead", {}, el("tr", {}, ...["Verdict in A", "Verdict in B", "Records"].map((h, i) =>
        el("th", { scope: "col", class: i === 2 ? "n" : null }, h)))),
      el("tbody", {}, ...told.moved.map(([x, y, n]) => el("tr", {}, el("td", {}, verdict(x)),
        el("td", {}, verdict(y)), el("td", { class: "n" }, n.toLocaleString("en"))))))));
  fill(byId("records"), ...told.records.map((r) => el("div", { class: "record" },
    el("p", { class: "soft" }, `row ${r.row} · `, el("bdi", {}, r.a.id)),
    r.a.question ? el("p", {}, el("bdi", {}, r.a.question)) : null,
    el("div", { class: "both" }, ...[["A", r.a], ["B", r.b]].map(([side, one]) =>
      el("div", {}, el("p", {}, `${side}: `, verdict(one.verdict), ` risk ${risk(one.risk)}`,
        one.decision ? `, ${one.decision}` : ""),
      side === "B" && one.answer === r.a.answer ? el("p", { class: "soft" }, "the same answer")
        : el("p", { dir: "auto" }, one.answer ?? "")))))));
  byId("page-count").textContent = `page ${page + 1} of ${told.pages} (${told.count.toLocaleString("en")} records)`;
  byId("page-before").disabled = page === 0;
  byId("page-after").disabled = page + 1 >= told.pages;
}
function go(to) {
  page = Math.max(0, to);
  compare().catch((e) => alarm(e.message));
}
byId("compare-go").addEventListener("click", async () => {
  pair = [...chosen];
  page = 0;
  try {
    await compare();
    view("compare");
  } catch (e) { alarm(e.message); }
});
byId("compare-only").addEventListener("change", () => go(0));
byId("page-before").addEventListener("click", () => go(page - 1));
byId("page-after").addEventListener("click", () => go(page + 1));

/* figures of tune */
async function figures(key) {
  try {
    const told = await api(`/api/figures?key=${key}`);
    const span = (f) => (f && f.value !== null && f.value !== undefined
      ? `${f.value.toFixed(3)} [${risk(f.ci_low)}, ${risk(f.ci_high)}]` : "–");
    fill(byId("figures-body"),
      el("p", { class: "answer-line" }, `${told.metric ?? "figure"} ${span(told.ensemble)} on ${told.n} answers`),
      el("p", { class: "soft" }, el("bdi", {}, told.path)),
      el("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": "Components" },
        el("table", {}, el("thead", {}, el("tr", {}, ...["Component", "Alone", "Weight", "Answers"].map(
          (h, i) => el("th", { scope: "col", class: i ? "n" : null }, h)))),
        el("tbody", {}, ...told.components.map((c) => el("tr", {},
          el("th", { scope: "row" }, el("bdi", {}, String(c.name))),
          ...[span(c.alone), span(c.weight), String(c.n)].map((v) => el("td", { class: "n" }, v))))))),
      el("ul", {}, ...told.notes.map((note) => el("li", {}, note))));
    view("figures");
  } catch (e) { alarm(e.message); }
}

function view(name) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const button of document.querySelectorAll(".view")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  byId(`${name}-title`).focus({ preventScroll: true });
}
for (const button of document.querySelectorAll(".view")) {
  button.addEventListener("click", () => view(button.dataset.view));
}

async function start() {
  try {
    await enter();
    const told = await look();
    drawIndex();
    byId("views").hidden = false;
    wirePaste(told.llm);
    view("index");
    follow();
    say(`${entries.length} entries`);
  } catch (e) { alarm(e.message); }
  document.documentElement.dataset.ready = "";
}

start();
