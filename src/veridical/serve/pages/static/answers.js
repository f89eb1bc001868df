/* An answer with its statements marked, beside what they rest on: of a record, and of a check. */
import { cut, el, fill } from "./pages.js";

const TONES = {
  contradicted: ["✗", "contradiction"], unsupported: ["?", "neutral"],
  inconsistent: ["≠", "contradiction"], unclear: ["~", "unclear"], unchecked: ["–", "none"],
  consistent: ["≈", "entailment"], supported: ["✓", "entailment"],
};
const LABELS = {
  contradiction: ["✗", "contradiction", "contradicted"],
  neutral: ["?", "neutral", "not supported"], unsupported: ["?", "neutral", "not supported"],
  inconsistent: ["≠", "contradiction", "inconsistent"], unclear: ["~", "unclear", "unclear"],
  consistent: ["≈", "entailment", "consistent"], supported: ["✓", "entailment", "supported"],
  entailment: ["✓", "entailment", "supported"],
};
export const KINDS = { context: "Source", sample: "Sample", reference: "Reference", token: "Token" };

export const risk = (value) =>
  value === null || value === undefined ? "–" : value.toFixed(2);
export const count = (value) => value.toLocaleString("en");

export function verdict(name) {
  const [mark, tone] = TONES[name] ?? ["–", "none"];
  return el("span", { class: "told", "data-v": tone }, `${mark} ${name}`);
}

function label(u) {
  if (u.waiting) return el("span", { class: "soft" }, "not looked at yet");
  const [mark, tone, word] = LABELS[u.label] ?? ["–", "none", "not judged"];
  return el("span", { class: "told", "data-v": tone }, `${mark} ${word}`);
}

export const chips = (...texts) => el("p", { class: "chips" },
  ...texts.filter(Boolean).map((text) => el("span", { class: "chip" }, text)));

export function draw(node, pts, units) {
  const pieces = [];
  let end = 0;
  for (const u of [...units].sort((a, b) => a.start - b.start || b.end - a.end)) {
    if (u.start < end) continue;
    pieces.push(cut(pts, end, u.start));
    const tone = u.waiting ? "none" : (LABELS[u.label] ?? ["–", "none"])[1];
    pieces.push(el("span", { class: u.waiting ? "" : "piece", "data-v": tone },
      cut(pts, u.start, u.end)));
    end = u.end;
  }
  fill(node, ...pieces, cut(pts, end));
}

export function statements(node, pts, units) {
  fill(node, ...units.map((u) => el("li", {},
    el("p", { class: "text", dir: "auto" }, u.text ?? cut(pts, u.start, u.end)),
    el("p", { class: "judged" }, label(u),
      u.kind ? ` ${u.kind}` : null,
      u.risk === null || u.risk === undefined ? null : ` risk ${risk(u.risk)}`),
    ...(u.evidence ?? []).slice(0, 2).map(([kind, index, text]) => el("blockquote", {},
      el("p", { class: "role" }, `${KINDS[kind] ?? kind} ${index + 1}`),
      el("p", { class: "text", dir: "auto" }, text))))));
}

/* A table that scrolls inside itself; figures are to the right. */
export function table(name, heads, rows, figures = []) {
  const side = (i) => (figures.includes(i) ? "n" : null);
  return el("div", { class: "scroll", role: "group", tabindex: "0", "aria-label": name },
    el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h, i) =>
      el("th", { scope: "col", class: side(i) }, h)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell, i) => el(i ? "td" : "th",
      { scope: i ? null : "row", class: side(i) },
      typeof cell === "string" ? el("bdi", {}, cell) : cell)))))));
}
