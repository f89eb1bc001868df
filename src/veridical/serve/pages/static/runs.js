/* The index of runs; a run, which may be under way; and one of its records. */
import { chips, count, draw, risk, statements, table, verdict } from "./answers.js";
import { api, byId, el, fill, points, say } from "./pages.js";

let entries = [];
let chosen = []; // keys of runs to compare
let run = null; // key of the run that is open
let page = 0;
let paging = false; // a page's number is being typed
let only = "";
let drawn = {}; // what each part was drawn from: what has not changed is left alone

const time = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
export const nameOf = (key) => entries.find((e) => e.key === key)?.path ?? key;

/* Whether another entry has the same name, so that its path tells them apart. */
const sameName = (entry) => entries.some((e) => e !== entry && e.name === entry.name);

/* Draw a part where what it shows has changed; the focus stays on what has the same data-key. */
function redraw(part, told, make) {
  const now = JSON.stringify(told);
  if (drawn[part] === now) return;
  drawn[part] = now;
  const node = byId(part);
  const held = node.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  fill(node, ...make());
  if (held) [...node.querySelectorAll("[data-key]")].find((n) => n.dataset.key === held)?.focus();
}

const tile = (card, attributes = {}) => el(attributes.type ? "button" : "span",
  { class: "verdict-card", "data-v": card.tone, ...attributes },
  el("span", { class: "verdict-mark", "aria-hidden": "true" }, card.mark),
  el("span", {}, card.word), el("b", {}, count(card.records)));

/* the index */
function choose(key, wanted) {
  chosen = wanted ? [...chosen.filter((k) => k !== key), key].slice(-2) : chosen.filter((k) => k !== key);
  drawIndex();
}

function line(entry) {
  const box = el("input", { type: "checkbox", "data-key": entry.key,
    "aria-label": `Compare ${entry.path}` });
  box.checked = chosen.includes(entry.key);
  box.addEventListener("change", () => choose(entry.key, box.checked));
  const place = chosen.indexOf(entry.key);
  const where = { run: `#run=${entry.key}`, tune: `#figures=${entry.key}` }[entry.kind];
  const link = where
    ? el("a", { href: where, "data-key": `to-${entry.key}`, title: entry.path }, el("bdi", {}, entry.name))
    : el("a", { href: `/report?key=${entry.key}`, target: "_blank", rel: "noopener",
      "data-key": `to-${entry.key}`, title: entry.path }, el("bdi", {}, entry.name));
  const told = entry.glance;
  return el("tr", {},
    el("td", { class: "pick" }, entry.kind === "run" ? box : null,
      place < 0 ? null : el("b", {}, "AB"[place])),
    el("th", { scope: "row" }, link,
      el("small", {}, `${entry.kind} · `,
        ...(entry.inputs.length ? [el("bdi", {}, entry.inputs.join(", ")), " · "] : []),
        `${time(entry.changed)} UTC`,
        ...(sameName(entry) ? [" · ", el("bdi", {}, entry.path)] : []),
        entry.live ? el("span", { class: "live" }, " · under way") : null)),
    el("td", { class: "n" }, told ? count(told.records) : ""),
    el("td", { class: "outcome" }, told ? el("div", { class: "tiles" }, ...told.cards.map((c) => tile(c))) : null,
      told && !told.cards.length ? el("span", { class: "soft" }, told.outcome) : null));
}

function drawIndex() {
  byId("nothing").hidden = entries.length > 0;
  byId("index-table").hidden = entries.length === 0;
  redraw("entries", [entries, chosen], () => entries.map(line));
  byId("compare-go").disabled = chosen.length !== 2;
  byId("compare-go").textContent = chosen.length === 2 ? "Compare A with B" : "Choose two runs to compare";
}

export async function lookIndex() {
  const told = await api("/api/index");
  entries = told.entries;
  chosen = chosen.filter((key) => entries.some((e) => e.key === key));
  drawIndex();
  return told;
}
byId("compare-go").addEventListener("click", () => { location.hash = `compare=${chosen.join(",")}`; });

/* a run */
function head(told) {
  const done = told.total ? told.records / told.total : null;
  const left = told.total && told.total > told.records ? told.total - told.records : 0;
  if (told.reading !== undefined) {
    return [el("p", { class: "answer-line" }, `Reading the run: ${Math.round(100 * told.reading)} %`),
      el("progress", { max: "1", value: String(told.reading), "aria-label": "Read" })];
  }
  const parts = told.outcome.split("; ");
  return [
    told.live ? el("p", { class: "live", id: "run-live" }, `Under way: ${count(told.records)}`
      + `${told.total ? ` of ${count(told.total)}` : ""} records so far`) : null,
    !told.live && left ? el("p", { class: "alarm" }, `It has not ended: ${count(left)} records have no `
      + "result. Its command, given again, goes on.") : null,
    told.live && done !== null
      ? el("progress", { max: "1", value: String(done), "aria-label": "Records scored" }) : null,
    el("p", { class: "answer-line" }, el("bdi", {}, parts[0]), parts.length > 1 ? "; " : null,
      parts.length > 1 ? el("span", {}, el("bdi", {}, parts.slice(1).join("; "))) : null),
    told.banner && (told.records || !told.live) ? el("div", { class: `banner ${told.banner.level}`, role: "note" },
      el("span", { class: "sign", "aria-hidden": "true" }, "!"),
      el("div", {}, el("strong", {}, told.banner.headline), el("ul", {}, ...told.banner.points.map(
        ([subject, statement]) => el("li", {}, el("bdi", {}, subject), " ", el("bdi", {}, statement)))))) : null,
  ];
}

function filters(cards) {
  return cards.map((card) => {
    const button = tile(card, { type: "button", "data-key": card.verdict,
      "aria-pressed": String(only === card.verdict) });
    button.addEventListener("click", () => {
      only = only === card.verdict ? "" : card.verdict;
      page = 0;
      drawn["run-cards"] = "";
      lookRun();
    });
    return button;
  });
}

async function lookRecords() {
  const wanted = () => `/api/records?key=${run}&page=${page}&order=${byId("run-order").value}`
    + `&verdict=${only}&find=${encodeURIComponent(byId("run-find").value.trim())}`;
  const asked = wanted();
  const find = byId("run-find").value.trim();
  const told = await api(asked);
  if (asked !== wanted()) return; // something else was asked for meanwhile: its answer follows
  page = told.page;
  byId("run-none").hidden = told.count > 0 || !find;
  redraw("run-records", [run, told.records], () => told.records.map((r) => el("tr", {},
    el("td", { class: "n" }, risk(r.risk)), el("td", {}, verdict(r.verdict)),
    el("th", { scope: "row" }, el("a", { href: `#record=${run},${r.row}`, "data-key": `row-${r.row}` },
      el("bdi", {}, r.answer || "(empty)")),
    el("small", {}, `row ${r.row} · `, el("bdi", {}, r.id), r.decision ? ` · ${r.decision}` : null,
      r.question ? " · " : null, el("bdi", {}, r.question))))));
  byId("run-count").textContent = `page ${page + 1} of ${count(told.pages)} (${count(told.count)} records)`;
  byId("run-page").max = told.pages;
  if (!paging) byId("run-page").value = page + 1;
  byId("run-before").disabled = page === 0;
  byId("run-after").disabled = page + 1 >= told.pages;
}

export async function lookRun() {
  const told = await api(`/api/run?key=${run}`);
  const ready = told.reading === undefined;
  byId("run-title").textContent = told.path;
  byId("run-report").href = `/report?key=${run}`;
  byId("run-list").hidden = !ready;
  redraw("run-head", { ...told, cards: 0 }, () => head(told));
  redraw("run-cards", [told.cards ?? [], only], () => filters(told.cards ?? []));
  if (ready) await lookRecords();
}

export async function openRun(key) {
  if (run !== key) {
    [run, page, only, drawn] = [key, 0, "", {}];
    fill(byId("run-records"));
    byId("run-find").value = "";
  }
  await lookRun();
}

/* a record */
const card = (name, text) => el("div", { class: "card" },
  el("p", { class: "role" }, name), el("div", { class: "text", dir: "auto" }, text || "(empty)"));

function cards(title, name, texts) {
  return texts.length === 0 ? null : el("section", { class: "part", "aria-label": title },
    el("h3", {}, title), el("div", { class: "cards" }, ...texts.map((t, i) => card(`${name} ${i + 1}`, t))));
}

export async function openRecord(key, row) {
  const told = await api(`/api/record?key=${key}&row=${row}`);
  const pts = points(told.response);
  run = key;
  byId("record-title").textContent = `Record ${told.row}`;
  byId("record-back").href = `#run=${key}`;
  byId("record-id").textContent = told.id;
  fill(byId("record-verdict"), verdict(told.verdict),
    told.risk === null ? null : el("span", {}, `, risk ${risk(told.risk)}`));
  byId("record-why").textContent = told.why ?? "";
  fill(byId("record-decision"), told.decision ? chips(`decision: ${told.decision}`) : null);
  byId("record-question").textContent = told.question;
  byId("record-asked").hidden = !told.question;
  draw(byId("record-answer"), pts, told.units);
  statements(byId("record-claims"), pts, told.units);
  byId("record-none").hidden = told.units.length > 0;
  fill(byId("record-texts"), cards("Sources", "Source", told.contexts),
    cards("References", "Reference", told.reference), cards("Samples", "Sample", told.samples));
  fill(byId("record-scores"), table("Scores", ["Scorer", "Risk", "Status"], [
    ...told.scores.filter(([, , status]) => status !== "not_applicable"),
    ...told.scores.filter(([, , status]) => status === "not_applicable")].map(
    ([name, value, status, reason]) => [name, risk(value),
      status.replace("_", " ") + (reason ? `: ${reason}` : "")]), [1]));
  say(`${told.verdict}, risk ${risk(told.risk)}`);
}

export function wireRuns(fail) {
  const go = (to) => { page = Math.max(0, to); lookRun().catch(fail); };
  byId("run-order").addEventListener("change", () => go(0));
  let typed = 0;
  byId("run-find").addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => go(0), 250);
  });
  byId("run-before").addEventListener("click", () => go(page - 1));
  byId("run-after").addEventListener("click", () => go(page + 1));
  byId("run-page").addEventListener("input", () => { paging = true; });
  byId("run-page").addEventListener("change", (e) => {
    paging = false;
    go((Number.parseInt(e.target.value, 10) || 1) - 1);
  });
}
