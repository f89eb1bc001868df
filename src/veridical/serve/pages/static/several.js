/* Several runs beside each other, each against the first. */
import { count, risk } from "./answers.js";
import { api, byId, el, fill } from "./pages.js";

const MOST = 8; // runs that the server has open at a time
let keys = [];
let drawn = "";

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const signed = (value, text) => `${value < 0 ? "−" : "+"}${text(Math.abs(value))}`;

/* A figure, and how far it is from the first run's. */
function cell(value, first, text, mine) {
  const known = value !== null && first !== null && !mine;
  return el("td", { class: "n" }, value === null ? "–" : text(value),
    known ? el("small", {}, signed(value - first, text)) : null);
}

function line(run, i, told) {
  const [first] = told.runs;
  const name = el("th", { scope: "row" },
    el("a", { href: `#run=${run.key}` }, el("bdi", {}, run.path)),
    run.live ? el("small", { class: "live" }, "under way") : null);
  if (run.reading !== undefined) {
    return el("tr", {}, name, el("td", { colspan: String(told.verdicts.length + 3) },
      `reading: ${Math.round(100 * run.reading)} %`));
  }
  const base = first.reading === undefined ? first : { risk: null };
  return el("tr", {}, name, el("td", { class: "n" }, count(run.records)),
    cell(run.risk, base.risk, risk, i === 0),
    ...told.verdicts.map((v) => cell(run.verdicts[v] ?? 0, base.verdicts ? base.verdicts[v] ?? 0 : null,
      percent, i === 0)),
    el("td", {}, i === 0 ? "the first" : el("a", { href: `#compare=${first.key},${run.key}`,
      "aria-label": `A against B: ${first.path} against ${run.path}` }, "A against B")));
}

export async function lookSeveral() {
  const told = await api(`/api/several?keys=${keys.slice(0, MOST)}`);
  const now = JSON.stringify(told);
  if (now === drawn) return;
  drawn = now;
  byId("several-more").hidden = keys.length <= MOST;
  byId("several-more").textContent = `The first ${MOST} of ${keys.length} runs.`;
  fill(byId("several-head"), ...["Run", "Records", "Mean risk", ...told.verdicts, "Record by record"].map(
    (text, i) => el("th", { scope: "col", class: i > 0 && i < told.verdicts.length + 3 ? "n" : null }, text)));
  fill(byId("several-runs"), ...told.runs.map((run, i) => line(run, i, told)));
}

export async function openSeveral(value) {
  if (value !== keys.join()) [keys, drawn] = [value.split(","), ""];
  await lookSeveral();
}
