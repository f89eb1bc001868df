/* An answer that is pasted, and its check: each statement by itself, then the whole. */
import { draw, risk, statements, verdict } from "./answers.js";
import { alarm, byId, el, fill, points, say } from "./pages.js";

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

const state = (text) => { byId("paste-state").textContent = text; };

async function check(llm) {
  const response = byId("paste-response").value;
  const sources = byId("paste-sources").value.split(/^---[ \t]*$/m).map((s) => s.trim());
  const body = { question: byId("paste-question").value, contexts: sources.filter(Boolean) };
  if (response.trim() || !llm) body.response = response;
  let pts = points(response);
  let units = [];
  let ended = false;
  const show = () => {
    byId("paste-made").hidden = false;
    draw(byId("paste-answer"), pts, units);
    statements(byId("paste-claims"), pts, units);
  };
  byId("paste-verdict").textContent = "";
  byId("paste-scores").textContent = "";
  byId("paste-made").hidden = true;
  state(body.response === undefined ? `asking ${llm} …` : "checking …");
  const reply = await fetch("/api/check", { method: "POST", credentials: "same-origin",
    headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).detail ?? "not checked");
  for await (const step of lines(reply)) {
    if (step.event === "error") throw new Error(step.error);
    if (step.event === "statements") {
      units = step.statements.map(([start, end]) => ({ start, end, waiting: true }));
    } else if (step.event === "claim") {
      Object.assign(units[step.number], step, { waiting: false });
      state(`statement ${step.number + 1} of ${units.length}`);
    } else if (step.event === "result") {
      ended = true;
      pts = points(step.response);
      units = step.units;
      fill(byId("paste-verdict"), verdict(step.verdict),
        step.risk === null ? null : el("span", {}, `, risk ${risk(step.risk)}`));
      fill(byId("paste-scores"), step.why ? `${step.why}. ` : null, ...step.scores.filter(
        ([, , status]) => status !== "not_applicable").map(([name, value, status]) =>
        el("span", { class: "chip" }, `${name} ${status === "scored" ? risk(value) : status}`)));
      state("done");
      say(`${step.verdict}, risk ${risk(step.risk)}`);
    }
    if (step.event !== "asked") show();
  }
  if (!ended) throw new Error("the check ended early: the server was stopped");
}

export function wirePaste(llm) {
  byId("paste-llm").textContent = llm ? `(empty: ${llm} answers the question)` : "";
  byId("paste-form").addEventListener("submit", async (e) => {
    e.preventDefault();
    const button = byId("paste-go");
    if (button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true"); // and keeps the focus, as disabled would not
    alarm(null);
    try {
      await check(llm);
    } catch (error) {
      alarm(error.message);
      state("");
    }
    button.removeAttribute("aria-disabled");
  });
}
