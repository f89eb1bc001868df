"use strict";
/* What was decided on a record, and the answers that were selected or repaired. Drawn by report.js,
   whose helpers it is given: hostile text becomes text nodes, no more. */
const decisionsView = ({ el, figure, section, passage, codePoints }) => {
  /** Risk and decision of another answer, as a line. */
  const outcome = (made) => el("p", { class: "soft" },
    made.risk === null ? "Not scored" : `Risk ${figure(made.risk)}`,
    made.risk === null || !made.by ? null : el("bdi", {}, ` by ${made.by}`),
    made.decision ? ` · ${made.decision}` : null,
    Number.isInteger(made.remaining) ? ` · ${made.remaining} unsupported left` : null);

  function why(decision, causes) {
    if (!causes || !causes.length) return null;
    return section(`Decision: ${decision}`, el("ul", { class: "causes" },
      causes.map((cause) => el("li", {}, el("bdi", {}, cause)))));
  }

  function selected(made) {
    if (!made) return null;
    const name = made.kind === "response" ? "the response" : made.kind === "sample" ? `sample ${made.index + 1}` : "none";
    const risks = made.risks.map((risk, i) => `${i ? `sample ${i}` : "response"} ${figure(risk)}`).join(", ");
    return section(`Best of ${made.of}: ${name}`, outcome(made),
      made.kind === "sample" ? passage(made.text, made.text.length, "Selected answer") : null,
      el("p", { class: "soft" }, `Risk of each, judged by the others: ${risks}${made.risks.length < made.of ? ", ..." : ""}`));
  }

  const WORDS = { drop: "Repair, by leaving out", rewrite: "Repair, by rewriting" };
  const STATUS = { unchanged: "Nothing had to change.", not_applicable: "Not repaired: ", failed: "Failed: " };

  /** The answer with what was taken out struck through, and what was put in marked. */
  function repaired(made, chosen, response) {
    if (!made) return null;
    const selected = made.of === "selected";
    const text = selected && chosen ? chosen.text ?? "" : response;
    const points = codePoints(text);
    const slice = (a, b) => text.slice(points.at(Math.min(a, points.length)), points.at(Math.min(b, points.length)));
    const pieces = [];
    let at = 0;
    for (const change of made.changes) {
      pieces.push(slice(at, change.start),
        el("del", { title: change.why.length ? `Unsupported: ${change.why.join(" ")}` : null }, change.text),
        change.new ? [" ", el("ins", {}, change.new)] : null);
      at = change.end;
    }
    pieces.push(slice(at, points.length));
    return section(selected ? `${WORDS[made.how]}, of the selected answer` : WORDS[made.how],
      made.status === "changed" ? outcome(made) : el("p", { class: "soft" }, STATUS[made.status], el("bdi", {}, made.reason ?? "")),
      made.scorer ? el("p", { class: "soft" }, "What is unsupported, by ", el("bdi", {}, made.scorer), ".") : null,
      made.changes.length ? el("div", { class: "diff" }, passage(pieces, points.length, selected ? "Selected answer with changes" : "Response with changes")) : null);
  }

  return { why, selected, repaired };
};
