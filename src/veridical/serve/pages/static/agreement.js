/* The views beside the one of an answer: the queue, agreement, and the estimated rate. */
import { alarm, api, byId, el, fill, percent } from "./pages.js";

export const CHOICES = [
  ["supported", "1", "Supported", "✓", "entailment"],
  ["says_nothing", "2", "Not in the sources", "?", "neutral"],
  ["contradicted", "3", "Contradicted", "✗", "contradiction"],
  ["not_a_claim", "0", "States nothing", "–", "none"],
];
export const WORDS = Object.fromEntries(CHOICES.map(([name, , word]) => [name, word]));
const STATES = { open: "open", begun: "begun", done: "✓ done" };

/* the queue */
let page = 0;

export async function showQueue(open) {
  const wanted = () => `/api/queue?page=${page}&only=${byId("only").value}`;
  const asked = wanted();
  const told = await api(asked);
  if (asked !== wanted()) return; // something else was asked for meanwhile: its answer follows
  page = told.page;
  fill(byId("rows"), ...told.answers.map((answer) => {
    const button = el("button", { type: "button", class: "link" }, `row ${answer.row}`);
    button.addEventListener("click", () => open(answer.row));
    return el("tr", {},
      el("th", { scope: "row", class: "n" }, button),
      el("td", {}, el("bdi", {}, answer.id)),
      el("td", {}, el("bdi", {}, answer.question)),
      el("td", {}, el("bdi", {}, answer.answer)),
      el("td", {}, STATES[answer.state]));
  }));
  byId("page-number").value = String(page + 1);
  byId("page-number").max = String(told.pages);
  byId("page-count").textContent = `of ${told.pages} (${told.count.toLocaleString("en")} answers)`;
  byId("page-before").disabled = page === 0;
  byId("page-after").disabled = page + 1 >= told.pages;
}

export function wireQueue(open) {
  const go = (to) => {
    page = Math.max(0, to);
    showQueue(open).catch((e) => alarm(e.message));
  };
  byId("page-before").addEventListener("click", () => go(page - 1));
  byId("page-after").addEventListener("click", () => go(page + 1));
  byId("page-number").addEventListener("change", (e) => go(Number(e.target.value) - 1 || 0));
  byId("only").addEventListener("change", () => go(0));
}

/* agreement */
const interval = (f) => f.ci_low === null ? "" : ` [${f.ci_low.toFixed(2)}, ${f.ci_high.toFixed(2)}]`;

export async function showAgreement(open) {
  const told = await api("/api/agreement");
  byId("alpha").textContent = told.alpha.value === null
    ? "Krippendorff's alpha: nothing to compare yet"
    : `Krippendorff's alpha ${told.alpha.value.toFixed(2)}${interval(told.alpha)}`;
  byId("agree").textContent = told.agree.value === null
    ? "No statement has labels of two people who are done with its answer."
    : `${percent(told.agree.value)} of pairs of labels are equal${interval(told.agree)}; `
      + `${told.units} statements of ${told.answers} answers were labelled by several people, blind.`;
  const names = CHOICES.map(([name]) => name);
  fill(byId("confusion"), told.confusion.length ? el("div",
    { class: "scroll", role: "group", tabindex: "0", "aria-label": "Confusion of labels" },
    el("table", {},
      el("caption", {}, "One label against the other ",
        el("span", { class: "soft" }, "(each pair once: its share of all pairs, with its 95 % interval)")),
      el("thead", {}, el("tr", {}, el("td", {}),
        ...names.map((n) => el("th", { scope: "col", class: "n" }, WORDS[n])))),
      el("tbody", {}, ...names.map((first) => {
        const cells = told.confusion.filter((c) => c.first === first);
        return cells.length ? el("tr", {}, el("th", { scope: "row" }, WORDS[first]),
          ...names.map((second) => {
            const c = cells.find((cell) => cell.second === second);
            return c ? el("td", { class: "n" }, `${c.count} `,
              el("span", { class: "soft" }, `${percent(c.share, 0)}${interval(c)}`)) : el("td", {});
          })) : null;
      })))) : null);
  fill(byId("open"), ...(told.open.length ? told.open.map((c) => caseOf(c, open))
    : [el("p", {}, "None is open.")]));
}

function caseOf(told, open) {
  const box = el("div", { class: "case", role: "group", "aria-label": `Row ${told.row}` },
    el("p", { class: "soft" }, `Row ${told.row}`),
    el("p", { class: "text", dir: "auto" }, told.unit.text),
    el("p", {}, "Labels: ", el("strong", {}, told.labels.map((l) => WORDS[l]).join(" / "))));
  const sources = el("div");
  const details = el("details", {}, el("summary", {}, "Question, answer and sources"), sources);
  details.addEventListener("toggle", async () => {
    if (!details.open || sources.childNodes.length) return;
    const { answer } = await api(`/api/answer?row=${told.row}`);
    fill(sources,
      answer.question ? el("p", { class: "text", dir: "auto" }, answer.question) : null,
      el("h4", {}, "Answer"), el("p", { class: "text", dir: "auto" }, answer.response),
      ...answer.sources.flatMap((s) => [
        el("h4", {}, sourceName(s)), el("p", { class: "text", dir: "auto" }, s.text)]));
  });
  const buttons = CHOICES.map(([name, , word, mark, tone]) => {
    const button = el("button", { type: "button", class: "choice", "data-v": tone, "data-label": name },
      el("span", { class: "mark", "aria-hidden": "true" }, mark), word);
    button.addEventListener("click", async () => {
      try {
        await api("/api/adjudicate", { row: told.row, unit: told.unit, label: name });
        await showAgreement(open);
        byId("agreement-title").focus();
      } catch (e) { alarm(e.message); }
    });
    return button;
  });
  box.append(el("div", { class: "choices" }, ...buttons), details);
  return box;
}

export const sourceName = (s) =>
  `${s.kind[0].toUpperCase()}${s.kind.slice(1)} ${s.index + 1}${s.id === null ? "" : ` · ${s.id}`}`;

/* the estimate */
export function showEstimate(told) {
  if (!told) return;
  byId("estimate").hidden = false;
  byId("estimate-line").textContent = told.rate === null
    ? `No label yet, of ${told.budget}`
    : `${percent(told.rate)} hallucinated, 95 % interval ${percent(told.ci_low)} to `
      + `${percent(told.ci_high)}`;
  const more = told.more.map((m) => `${m.labels} more: ${percent(m.width)} wide`);
  byId("estimate-more").textContent = `${told.n} of ${told.budget} answers labelled`
    + (told.done ? "; the estimate is done" : "")
    + (more.length ? `. Now ${percent(told.ci_high - told.ci_low)} wide; ${more.join(", ")}.` : ".");
  fill(byId("estimate-groups"), ...Object.entries(told.groups).map(([field, groups]) =>
    el("details", { class: "fold" }, el("summary", {}, `By ${field}`),
      el("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": `By ${field}` },
        el("table", {},
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, field),
            ...["Rate", "From", "To", "Labels", "Answers"].map((h) =>
              el("th", { scope: "col", class: "n" }, h)))),
          el("tbody", {}, ...Object.entries(groups).map(([name, g]) => el("tr", {},
            el("th", { scope: "row" }, el("bdi", {}, name)),
            ...[percent(g.rate), percent(g.ci_low), percent(g.ci_high), g.n, g.n_total].map((v) =>
              el("td", { class: "n" }, String(v)))))))))));
}
