/* One answer: its statements, its sources, and what a person says of them. Every key is a button. */
import { alarm, api, byId, cut, el, enter, fill, points, say } from "./pages.js";
import {
  CHOICES, WORDS, showAgreement, showEstimate, showQueue, sourceName, wireQueue,
} from "./agreement.js";

const LABEL_OF_KEY = Object.fromEntries(CHOICES.map(([name, key]) => [key, name]));
let me = null;
let answer = null; // as the server told it, with what was said since
let at = 0; // the statement that is chosen
let seat = null; // [source, sentence] that is chosen
let texts = { answer: [], sources: [] }; // as lists of code points
let undo = []; // what an undo sends
let before = []; // rows that were here before this one
let since = performance.now();
let begun = performance.now();
let work = Promise.resolve();
let open = 0; // requests under way

/* requests keep their order; the page goes on meanwhile */
function send(path, body, then) {
  open += 1;
  work = work.then(async () => {
    try {
      const told = await api(path, body);
      alarm(null);
      open -= 1;
      await then?.(told);
    } catch (e) {
      open -= 1;
      alarm(e.message);
      if (answer) await load(answer.row).catch(() => {});
    }
  });
  return work;
}

/* drawing */
function show(told) {
  answer = told;
  texts = { answer: points(told.response), sources: told.sources.map((s) => points(s.text)) };
  at = Math.max(0, told.units.findIndex((u) => u.label === null));
  undo = [];
  since = begun = performance.now();
  byId("empty").hidden = true;
  byId("work").hidden = false;
  byId("item-title").textContent = `Answer of row ${told.row}`;
  byId("question").textContent = told.question;
  byId("question-box").hidden = !told.question;
  byId("answer-cut").hidden = !told.cut;
  drawAnswer();
  drawSources();
  drawUnits();
  choose(at);
  progress();
}

function progress() {
  const left = answer.units.filter((u) => u.label === null).length;
  byId("progress").textContent = [
    answer.done ? "done" : `${left} of ${answer.units.length} statements left`,
    `${me.done.toLocaleString("en")} of ${me.total.toLocaleString("en")} answers done by ${me.who}`,
    answer.double ? "everybody labels this answer" : null,
  ].filter(Boolean).join(" · ");
}

function drawAnswer() {
  const edges = new Set([0, texts.answer.length]);
  for (const u of answer.units) {
    edges.add(Math.min(u.start, texts.answer.length));
    edges.add(Math.min(u.end, texts.answer.length));
  }
  const places = [...edges].sort((a, b) => a - b);
  fill(byId("answer"), ...places.slice(0, -1).map((start, i) => {
    const end = places[i + 1];
    const of = answer.units.flatMap((u, n) => (u.start <= start && end <= u.end ? [n] : []));
    const piece = el("span", { class: of.length ? "unit" : null, "data-units": of.join(" "),
      "data-start": start }, cut(texts.answer, start, end));
    if (of.length) {
      piece.addEventListener("click", () => {
        if (!String(getSelection())) choose(of[0]);
      });
    }
    return piece;
  }));
}

function drawUnits() {
  fill(byId("units"), ...answer.units.map((u, n) => {
    const choices = CHOICES.map(([name, key, word, mark, tone]) => {
      const button = el("button", { type: "button", class: "choice", "data-v": tone,
        "data-label": name, "aria-pressed": String(u.label === name) },
      el("span", { class: "mark", "aria-hidden": "true" }, mark), word,
      el("kbd", { "aria-hidden": "true" }, key));
      button.addEventListener("click", () => { choose(n); label(name); });
      return button;
    });
    const box = el("fieldset", { class: "unit-box" },
      el("legend", { dir: "auto" },
        el("span", { class: "soft" }, `${n + 1}${u.missed || n >= answer.asked ? " · missed" : ""} `),
        u.text || "(the answer is empty)"),
      el("div", { class: "choices" }, ...choices),
      el("ul", { class: "marked" }, ...u.evidence.map((e, i) => {
        const text = cut(texts.sources[sourceAt(e)] ?? [], e[2], e[3]);
        const drop = el("button", { type: "button", class: "link" }, "remove");
        drop.addEventListener("click", () => { choose(n); unmark(i); });
        return el("li", {}, `Evidence: “${text}” `, drop);
      })),
      saidBy(u));
    box.addEventListener("focusin", () => { if (at !== n) choose(n, false); });
    return box;
  }));
  drawReveal();
}

const sourceAt = ([kind, index]) =>
  answer.sources.findIndex((s) => s.kind === kind && s.index === index);

function saidBy(unit) {
  if (!answer.reveal) return null;
  const found = answer.reveal.units.filter(([, s, e]) => s < unit.end && unit.start < e);
  if (!found.length) return null;
  const [name, , , risk, verdict, kind] = found.reduce((a, b) => (b[3] > a[3] ? b : a));
  return el("p", { class: "said soft" },
    `The run: ${verdict ?? "no label"}${kind ? `, ${kind}` : ""}, risk ${risk.toFixed(2)} (${name})`);
}

function drawReveal() {
  const told = answer.reveal;
  byId("reveal").hidden = !told;
  if (told) {
    byId("reveal-line").textContent = `Verdict ${told.verdict}, risk ${told.risk ?? "none"}`
      + (told.by ? `, by ${told.by}` : "") + (told.decision ? `; decision ${told.decision}` : "");
    fill(byId("reveal-scores"), ...told.scores.map(([name, risk, status]) =>
      (status === "not_applicable" ? null
        : el("li", {}, el("bdi", {}, name), `: ${risk ?? status}`))));
  }
  byId("comment-shown").hidden = !answer.comment;
  byId("comment-shown").textContent = answer.comment ? `Comment: ${answer.comment}` : "";
}

function drawSources() {
  fill(byId("sources"), ...answer.sources.map((source, s) => {
    const text = el("div", { class: "text", dir: "auto" });
    let end = 0;
    source.sentences.forEach(([from, to], i) => {
      text.append(cut(texts.sources[s], end, from));
      const span = el("span", { class: "sentence", "data-source": s, "data-sentence": i,
        "data-start": from }, cut(texts.sources[s], from, to));
      span.addEventListener("click", () => { if (!String(getSelection())) sit(s, i); });
      text.append(span);
      end = to;
    });
    text.append(cut(texts.sources[s], end));
    return el("details", { class: "source", open: true },
      el("summary", {}, sourceName(source), source.cut ? " (cut)" : ""), text);
  }));
  if (!answer.sources.length) fill(byId("sources"), el("p", {}, "This answer has no sources."));
}

/* choosing */
function choose(n, scroll = true) {
  at = Math.min(Math.max(n, 0), answer.units.length - 1);
  const unit = answer.units[at];
  document.querySelectorAll("#answer .unit").forEach((piece) =>
    piece.classList.toggle("current", piece.dataset.units.split(" ").includes(String(at))));
  byId("units").childNodes.forEach((box, i) => {
    box.classList.toggle("current", i === at);
    box.setAttribute("aria-current", String(i === at));
  });
  if (scroll) byId("units").childNodes[at]?.scrollIntoView({ block: "nearest" });
  const source = unit.deciding ? sourceAt(unit.deciding) : -1;
  if (source >= 0) {
    const sentences = answer.sources[source].sentences;
    const i = sentences.findIndex(([, end]) => end > unit.deciding[2]);
    if (i >= 0) sit(source, i);
  } else {
    marks();
  }
}

function sit(source, sentence) {
  seat = [source, sentence];
  marks();
  const span = document.querySelector("#sources .sentence.current");
  if (!span) return;
  span.closest("details").open = true;
  const box = span.closest(".text"); // the page itself stays where it is
  const top = span.getBoundingClientRect().top - box.getBoundingClientRect().top;
  box.scrollTop += top - box.clientHeight / 3;
}

function marks() {
  const marked = answer.units[at].evidence;
  document.querySelectorAll("#sources .sentence").forEach((span) => {
    const s = Number(span.dataset.source);
    const i = Number(span.dataset.sentence);
    const [from, to] = answer.sources[s].sentences[i];
    span.classList.toggle("current", seat !== null && seat[0] === s && seat[1] === i);
    span.classList.toggle("evidence", marked.some((e) =>
      sourceAt(e) === s && e[2] < to && from < e[3]));
  });
}

function step(by) {
  const all = answer.sources.flatMap((s, n) => s.sentences.map((_, i) => [n, i]));
  if (!all.length) return;
  const now = seat ? all.findIndex(([s, i]) => s === seat[0] && i === seat[1]) : -1;
  const [s, i] = all[Math.min(Math.max(now + by, 0), all.length - 1)];
  sit(s, i);
  const [from, to] = answer.sources[s].sentences[i];
  say(cut(texts.sources[s], from, to));
}

/* labelling */
function seconds() {
  const now = performance.now();
  const spent = (now - since) / 1000;
  since = now;
  return Math.min(Math.round(spent * 10) / 10, 1e6);
}

function post(n) {
  const unit = answer.units[n];
  const row = answer.row;
  const place = n < answer.asked ? { unit: n } : { span: [unit.start, unit.end] };
  return send("/api/label", { row, ...place, label: unit.label, evidence: unit.evidence,
    seconds: seconds() }, (told) => {
    if (open > 0 || answer?.row !== row) return;
    const known = JSON.stringify(answer);
    answer = merged(told.answer);
    if (JSON.stringify(answer) === known) return; // a button that is being pressed stays
    drawUnits();
    choose(at, false);
    progress();
  });
}

/* What the server says, and of this page what has no label yet: missed statements and evidence. */
function merged(told) {
  const alike = (a, b) => a.start === b.start && a.end === b.end && a.level === b.level;
  const units = told.units.map((u, n) => {
    const mine = n < told.asked ? answer.units[n] : answer.units.find((a) => alike(a, u));
    return u.label === null && mine ? { ...u, evidence: mine.evidence } : u;
  });
  const open = answer.units.filter((a, n) => n >= answer.asked && a.label === null
    && !units.some((u, i) => i >= told.asked && alike(a, u)));
  return { ...told, units: [...units, ...open] };
}

function remember(n) {
  const { label: was, evidence, start, end, text } = answer.units[n];
  undo.push({ n, was, evidence: [...evidence], start, end, text });
}

function label(name) {
  if (!me.labels) return;
  const n = at;
  remember(n);
  answer.units[n].label = name;
  drawUnits();
  post(n);
  const left = answer.units.findIndex((u, i) => i > n && u.label === null);
  const first = left >= 0 ? left : answer.units.findIndex((u) => u.label === null);
  say(`${WORDS[name]}. ${first >= 0 ? `Statement ${first + 1}: ${answer.units[first].text}`
    : "All statements have a label. Enter: done."}`);
  choose(first >= 0 ? first : n);
  progress();
}

function goBack() {
  const last = undo.pop();
  if (!last) return say("There is nothing to undo.");
  const unit = answer.units.find((u, n) => u.start === last.start && u.end === last.end
    && (n < answer.asked) === (last.n < answer.asked) && u.text === last.text);
  if (!unit) return say("There is nothing to undo.");
  unit.label = last.was;
  unit.evidence = last.evidence;
  drawUnits();
  choose(answer.units.indexOf(unit));
  say("Taken back.");
  return post(answer.units.indexOf(unit));
}

/* the part of a text node's box that is selected, as code points of the whole text */
function selected(box, pts) {
  const chosen = getSelection();
  if (!chosen.rangeCount || chosen.isCollapsed) return null;
  const range = chosen.getRangeAt(0);
  if (!box.contains(range.startContainer) || !box.contains(range.endContainer)) return null;
  const lead = document.createRange();
  lead.selectNodeContents(box);
  lead.setEnd(range.startContainer, range.startOffset);
  const start = points(lead.toString()).length;
  const end = Math.min(start + points(range.toString()).length, pts.length);
  return start < end ? [start, end] : null;
}

function mark() {
  if (!me.labels) return;
  let place = null;
  document.querySelectorAll("#sources .text").forEach((box, s) => {
    const found = selected(box, texts.sources[s]);
    if (found) place = [answer.sources[s].kind, answer.sources[s].index, ...found];
  });
  if (!place && seat) {
    const source = answer.sources[seat[0]];
    place = [source.kind, source.index, ...source.sentences[seat[1]]];
  }
  if (!place) return void say("Choose a sentence of the sources first.");
  const unit = answer.units[at];
  if (unit.evidence.some((e) => String(e) === String(place))) return void say("It is marked.");
  remember(at);
  unit.evidence = [...unit.evidence, place];
  drawUnits();
  choose(at, false);
  say("Marked as evidence.");
  if (unit.label !== null) post(at);
}

function unmark(i) {
  remember(at);
  answer.units[at].evidence = answer.units[at].evidence.filter((_, n) => n !== i);
  drawUnits();
  choose(at, false);
  if (answer.units[at].label !== null) post(at);
}

function missed() {
  if (!me.labels) return;
  const found = selected(byId("answer"), texts.answer);
  if (found) return void add(found);
  byId("missed-text").value = answer.response;
  byId("missed").showModal();
  byId("missed-text").focus();
  byId("missed-text").setSelectionRange(0, 0);
}

function add([start, end]) {
  const text = cut(texts.answer, start, end);
  if (!text.trim()) return void say("Select some words of the answer.");
  const known = answer.units.findIndex((u, n) => n >= answer.asked && u.start === start && u.end === end);
  if (known < 0) {
    answer.units.push({ level: "span", start, end, text, label: null, missed: true, evidence: [],
      deciding: null });
  }
  getSelection().removeAllRanges();
  drawAnswer();
  drawUnits();
  choose(known < 0 ? answer.units.length - 1 : known);
  progress();
  say("A missed statement. Give it a label.");
}

/* A text area shows line ends as one character each. */
function areaToPoints(text, offset) {
  let shown = 0;
  let count = 0;
  for (let i = 0; i < text.length && shown < offset; count += 1) {
    const pair = text[i] === "\r" && text[i + 1] === "\n";
    const size = String.fromCodePoint(text.codePointAt(i)).length;
    i += size;
    shown += pair ? 0 : size;
  }
  return count;
}

/* It takes no text, but a caret, which browsers give to no read-only area. */
byId("missed-text").addEventListener("beforeinput", (e) => e.preventDefault());

byId("missed-mark").addEventListener("click", () => {
  const area = byId("missed-text");
  const span = [area.selectionStart, area.selectionEnd].map((o) => areaToPoints(answer.response, o));
  byId("missed").close();
  if (span[0] < span[1]) add(span);
  else say("Nothing was selected.");
});

function done() {
  if (!me.labels || !answer) return;
  if (answer.done) return void next();
  const missing = answer.units.findIndex((u) => u.label === null);
  if (missing >= 0) {
    choose(missing);
    return void alarm(`Statement ${missing + 1} has no label yet.`);
  }
  const { row } = answer;
  const spent = Math.min(Math.round((performance.now() - begun) / 100) / 10, 1e6);
  return send("/api/done", { row, seconds: spent }, (told) => {
    me = told.session;
    showEstimate(me.estimate);
    if (answer?.row !== row) return;
    const was = at;
    answer = { ...told.answer };
    drawUnits();
    choose(was, false);
    progress();
    say(`Done. The run says ${told.answer.reveal?.verdict ?? "nothing"}. Enter: next answer.`);
  });
}

async function load(row) {
  const told = await api(`/api/answer?row=${row}`);
  show(told.answer);
}

async function next() {
  await work;
  try {
    const told = await api(`/api/next${answer ? `?after=${answer.row}` : ""}`);
    if (told.answer) {
      if (answer && before[before.length - 1] !== answer.row) before.push(answer.row);
      show(told.answer);
      byId("item-title").focus({ preventScroll: true });
      scrollTo(0, 0);
      say(`Answer of row ${told.answer.row}. ${told.answer.units[0]?.text ?? ""}`);
    } else {
      const all = byId("empty");
      all.hidden = false;
      all.textContent = !me.labels ? "You adjudicate: see Agreement."
        : me.estimate?.done ? "The estimate has its labels. Thank you."
          : "There is no answer left for you. Thank you.";
      if (!answer) byId("work").hidden = true;
      say(all.textContent);
    }
  } catch (e) { alarm(e.message); }
}

async function previous() {
  await work;
  const row = before.pop();
  if (row === undefined) return void say("There is no answer before this one.");
  try { await load(row); } catch (e) { alarm(e.message); }
}

/* finding */
byId("find").addEventListener("input", () => {
  const wanted = byId("find").value.trim().toLowerCase();
  let count = 0;
  let first = null;
  document.querySelectorAll("#sources .sentence").forEach((span) => {
    const hit = wanted !== "" && span.textContent.toLowerCase().includes(wanted);
    span.classList.toggle("hit", hit);
    if (hit) { count += 1; first ??= span; }
  });
  byId("found").textContent = wanted ? `${count} sentences` : "";
  if (first) sit(Number(first.dataset.source), Number(first.dataset.sentence));
});

/* comment */
function comment() {
  if (!me.labels) return;
  byId("comment-text").value = answer.comment;
  byId("comment").showModal();
}
byId("comment-save").addEventListener("click", () => {
  const text = byId("comment-text").value;
  byId("comment").close();
  answer.comment = text;
  drawReveal();
  send("/api/comment", { row: answer.row, comment: text }, () => say("Comment kept."));
});

/* keys and buttons */
const ACTIONS = {
  before: () => choose(at - 1),
  after: () => choose(at + 1),
  evidence: mark,
  back: () => step(-1),
  forth: () => step(1),
  missed,
  comment,
  undo: goBack,
  find: () => byId("find").focus(),
  keys: () => byId("keys").showModal(),
  previous,
  next,
  done,
};
const KEYS = {
  ArrowUp: "before", ArrowDown: "after", ArrowLeft: "previous", ArrowRight: "next", Enter: "done",
  e: "evidence", "[": "back", "]": "forth", m: "missed", c: "comment", u: "undo", "/": "find",
  "?": "keys",
};
for (const button of document.querySelectorAll("[data-do]")) {
  button.addEventListener("mousedown", (e) => e.preventDefault()); // a selection stays
  button.addEventListener("click", () => { if (answer || button.dataset.do === "keys") act(button.dataset.do); });
}
function act(name) {
  alarm(null);
  ACTIONS[name]();
}
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  if (byId("item").hidden || !answer || !me) return;
  // what a closed dialog held keeps the focus until the next frame: its keys are the page's
  const held = e.target.closest("dialog") ? document.body : e.target;
  if (held.matches("input, textarea, select")) {
    if (e.key === "Escape" && held.id === "find") held.blur();
    return;
  }
  if (!byId("shortcuts").checked && !e.key.startsWith("Arrow") && e.key !== "Enter") return;
  if (e.key === "Enter" && held.matches("button, summary, a")) return;
  const name = LABEL_OF_KEY[e.key];
  if (name) { e.preventDefault(); alarm(null); label(name); return; }
  if (Object.hasOwn(KEYS, e.key)) {
    e.preventDefault();
    act(KEYS[e.key]);
  }
});

/* views */
async function view(name) {
  for (const button of document.querySelectorAll(".view")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
    byId(button.dataset.view).hidden = button.dataset.view !== name;
  }
  try {
    if (name === "queue") await showQueue(openRow);
    if (name === "agreement") await showAgreement(openRow);
    if (name === "item" && !answer) await next();
  } catch (e) { alarm(e.message); }
  if (name !== "item") byId(`${name}-title`).focus();
}
async function openRow(row) {
  await view("item");
  try {
    if (answer) before.push(answer.row);
    await load(row);
    byId("item-title").focus();
  } catch (e) { alarm(e.message); }
}
for (const button of document.querySelectorAll(".view")) {
  button.addEventListener("click", () => view(button.dataset.view));
}
wireQueue(openRow);

async function start() {
  try {
    await enter();
    me = await api("/api/me");
  } catch (e) {
    alarm(e.message);
    document.documentElement.dataset.ready = "";
    return;
  }
  byId("byline").textContent = `${me.who} · order ${me.order}${me.blind ? " · blind" : ""}`;
  byId("views").hidden = false;
  document.querySelector('[data-view="agreement"]').hidden = !me.adjudicates;
  showEstimate(me.estimate);
  if (!me.labels) {
    document.querySelector('[data-view="item"]').hidden = true;
    document.querySelector('[data-view="queue"]').hidden = true;
  }
  await view(me.labels ? "item" : "agreement");
  document.documentElement.dataset.ready = "";
}
start();
