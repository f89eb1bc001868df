/* An answer that is pasted, and its check: each statement by itself, then the whole. */
import { alarm, byId, cut, el, fill, points, say } from "./pages.js";

export const TONES = {
  contradicted: ["✗", "contradiction"], unsupported: ["?", "neutral"],
  inconsistent: ["≠", "contradiction"], unchecked: ["–", "none"],
  consistent: ["≈", "entailment"], supported: ["✓", "entailment"],
  contradiction: ["✗", "contradiction"], neutral: ["?", "neutral"], entailment: ["✓", "entailment"],
};

export function verdict(name) {
  const [mark, tone] = TONES[name] ?? ["–", "none"];
  return el("span", { class: "verdict", "data-v": tone }, `${mark} ${name ?? "no label"}`);
}

let sources = [];

function draw(pts, units) {
  const pieces = [];
  let end = 0;
  for (const u of [...units].sort((a, b) => a.start - b.start)) {
    if (u.start < end) continue;
    pieces.push(cut(pts, end, u.start));
    const [, tone] = TONES[u.label] ?? ["–", "none"];
    pieces.push(el("span", { class: "piece", "data-v": tone }, cut(pts, u.start, u.end)));
    end = u.end;
  }
  fill(byId("paste-answer"), ...pieces, cut(pts, end));
}

function claim(pts, u) {
  return el("li", {},
    el("p", { dir: "auto" }, cut(pts, u.start, u.end)),
    el("p", {}, u.waiting ? "…" : verdict(u.label),
      u.risk === null || u.risk === undefined ? "" : ` risk ${u.risk.toFixed(2)}`),
    ...(u.evidence ?? []).slice(0, 1).map(([, index, start, end]) =>
      el("p", { class: "evidence", dir: "auto" },
        `Source ${index + 1}: “${cut(points(sources[index] ?? ""), start, end)}”`)));
}

function list(pts, units) {
  fill(byId("paste-claims"), ...units.map((u) => claim(pts, u)));
}

async function* lines(reply) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    rest += value;
    const whole = rest.split("\n");
    rest = whole.pop();
    for (const line of whole) yield JSON.parse(line);
  }
}

async function check(llm) {
  const response = byId("paste-response").value;
  sources = byId("paste-sources").value.split(/^---[ \t]*$/m).map((s) => s.trim()).filter(Boolean);
  const body = { question: byId("paste-question").value, contexts: sources };
  if (response.trim() || !llm) body.response = response;
  let pts = points(response);
  let units = [];
  byId("paste-verdict").textContent = "";
  byId("paste-state").textContent = body.response === undefined ? `asking ${llm} …` : "checking …";
  draw(pts, []);
  list(pts, []);
  const reply = await fetch("/api/check", { method: "POST", credentials: "same-origin",
    headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).detail ?? "not checked");
  for await (const step of lines(reply)) {
    if (step.event === "error") throw new Error(step.error);
    if (step.event === "statements") {
      units = step.statements.map(([start, end]) => ({ start, end, waiting: true }));
    } else if (step.event === "claim") {
      Object.assign(units[step.number], step, { waiting: false });
      byId("paste-state").textContent = `statement ${step.number + 1} of ${units.length}`;
    } else if (step.event === "result") {
      pts = points(step.response);
      units = step.units;
      fill(byId("paste-verdict"), verdict(step.verdict),
        step.risk === null ? "" : `, risk ${step.risk.toFixed(2)}`,
        el("span", { class: "soft" }, step.by ? ` by ${step.by}` : ""));
      byId("paste-state").textContent = "done";
      say(`${step.verdict}. Risk ${step.risk ?? "none"}.`);
    }
    draw(pts, units);
    list(pts, units);
  }
}

export function wirePaste(llm) {
  byId("paste-llm").hidden = !llm;
  byId("paste-llm").textContent = llm ? `(empty: ${llm} answers the question)` : "";
  byId("paste-form").addEventListener("submit", async (e) => {
    e.preventDefault();
    byId("paste-go").disabled = true;
    alarm(null);
    try {
      await check(llm);
    } catch (error) {
      alarm(error.message);
      byId("paste-state").textContent = "";
    }
    byId("paste-go").disabled = false;
  });
}
