/* A against B: whether B is worse, by which figures, and record by record what changed. */
import { KINDS, chips, count, risk, table, verdict } from "./answers.js";
import { api, byId, el, fill } from "./pages.js";

const EVERY = 1000; // milliseconds between two looks at how far a comparison is
let pair = null;
let page = 0;

function side(name, told, other) {
  return el("div", { role: "group", "aria-label": name },
    el("p", {}, `${name}: `, verdict(told.verdict), `, risk ${risk(told.risk)}`,
      told.decision ? `, ${told.decision}` : null),
    other !== null && told.answer === other.answer
      ? el("p", { class: "soft" }, "the same answer")
      : el("p", { class: "text", dir: "auto" }, told.answer || "(empty)"),
    told.sentence ? el("p", { class: "role" }, "worst sentence") : null,
    told.sentence ? el("blockquote", {}, el("p", { class: "text", dir: "auto" }, told.sentence)) : null,
    ...told.evidence.slice(0, 1).flatMap((e) => [el("p", { class: "role" }, `${KINDS[e.kind]} ${e.index + 1}`),
      el("blockquote", {}, el("p", { class: "text", dir: "auto" }, e.text))]));
}

/* What changed in a pair, in words. */
function changes({ a, b, scores }) {
  const moved = a.risk !== null && b.risk !== null && a.risk !== b.risk;
  return chips(
    a.verdict !== b.verdict ? `${a.verdict} → ${b.verdict}` : null,
    a.decision !== b.decision ? `${a.decision ?? "no decision"} → ${b.decision ?? "no decision"}` : null,
    moved ? `risk ${risk(a.risk)} → ${risk(b.risk)}` : null,
    a.answer !== b.answer ? "another answer" : "the same answer",
    ...scores.slice(0, 3).map(([name, x, y]) => `${name} ${risk(x)} → ${risk(y)}`));
}

const record = (r) => el("article", { class: "flip" },
  el("h3", {}, r.direction ? `${r.direction}: ` : null, el("bdi", {}, r.id),
    el("span", { class: "soft" }, ` row ${r.b.row}`)),
  r.question ? el("p", { class: "soft", dir: "auto" }, r.question) : null,
  changes(r),
  el("div", { class: "sides" }, side("A", r.a, null), side("B", r.b, r.a)));

/* The comparison; how far it is stands there until it is made. None where another is wanted now. */
async function prepared() {
  const [asked, state] = [pair.join(), byId("compare-state")];
  const wanted = () => pair.join() === asked && !byId("compare").hidden;
  state.textContent = "comparing …";
  try {
    for (;;) {
      const only = byId("compare-only").value;
      const told = await api(`/api/compare?a=${pair[0]}&b=${pair[1]}&page=${page}&only=${only}`);
      if (!wanted()) return null;
      if (told.preparing === undefined) return told;
      fill(state, `comparing: ${Math.round(100 * told.preparing)} % `,
        el("progress", { max: "1", value: String(told.preparing), "aria-label": "Compared" }));
      await new Promise((resume) => { setTimeout(resume, EVERY); });
      if (!wanted()) return null;
    }
  } finally { if (wanted()) state.textContent = ""; }
}

async function show() {
  const told = await prepared();
  if (told === null) return;
  page = told.page;
  byId("compare-a").textContent = `${told.a.path} (${count(told.a.n)} results)`;
  byId("compare-b").textContent = `${told.b.path} (${count(told.b.n)} results)`;
  const [first, ...others] = told.sentence.split("; ");
  fill(byId("compare-line"), first, others.length ? "; " : null,
    others.length ? el("span", {}, others.join("; ")) : null);
  byId("compare-meaning").textContent =
    `${told.meaning.join(" ")} ${count(told.pairs)} pairs by ${told.paired_by}.`;
  fill(byId("compare-notes"), ...told.notes.map((note) => el("li", { dir: "auto" }, note)));
  fill(byId("compare-figures"), table("Figures of both runs", told.heads, told.figures,
    told.heads.map((_, i) => i).slice(1)));
  fill(byId("compare-directions"), chips(...["worse", "other", "better"].map((d) =>
    `${count(told.directions[d] ?? 0)} ${d}`)));
  fill(byId("compare-records"), ...told.records.map(record));
  byId("compare-none").hidden = told.records.length > 0;
  byId("compare-count").textContent =
    `page ${page + 1} of ${count(told.pages)} (${count(told.count)} records)`;
  byId("compare-before").disabled = page === 0;
  byId("compare-after").disabled = page + 1 >= told.pages;
  byId("compare-page").href = `/comparison?a=${pair[0]}&b=${pair[1]}`;
  byId("compare-body").hidden = false;
}

export async function openComparison(a, b) {
  if (pair?.join() !== [a, b].join()) {
    [pair, page] = [[a, b], 0];
    byId("compare-body").hidden = true;
  }
  await show();
}

export function wireCompare(fail) {
  const go = (to) => { page = Math.max(0, to); show().catch(fail); };
  byId("compare-only").addEventListener("change", () => go(0));
  byId("compare-before").addEventListener("click", () => go(page - 1));
  byId("compare-after").addEventListener("click", () => go(page + 1));
  byId("compare-swap").addEventListener("click", () => { location.hash = `compare=${pair[1]},${pair[0]}`; });
}
