"use strict";
/* The report page. Record data is hostile text: it reaches the page as text nodes and attribute
   values made by el(), never as markup (the policy in the head forbids innerHTML and its like). */
(() => {
  const $ = (id) => document.getElementById(id);
  const { verdicts: VERDICTS, reasons: REASONS } = JSON.parse($("config").textContent); // word, mark, tone
  const wide = matchMedia("(min-width: 60rem)");
  const ROW = 96; // px; the height of .option in the style sheet
  const words = Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;

  const markdown = markdownView({ el });

  // ---- small helpers ---------------------------------------------------------------------------
  function el(tag, props, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(props || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "class") node.className = value;
      else if (key.startsWith("--")) node.style.setProperty(key, value);
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else node.setAttribute(key, value === true ? "" : String(value));
    }
    node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
    return node;
  }
  const figure = (x, digits = 2) => (typeof x === "number" ? x.toFixed(digits) : "–");
  const grouped = (n) => n.toLocaleString("en");
  const band = (risk) => (typeof risk === "number" ? Math.min(4, Math.floor(risk * 5)) : "none");
  /** A name inside a label that cannot isolate it: without what would turn the label around. */
  const calm = (name) => name.replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  const say = (text) => { $("say").textContent = text; };

  /** Offsets in the data count code points; JavaScript strings count UTF-16 units. */
  function codePoints(text) {
    if (!/[\ud800-\udfff]/.test(text)) return { length: text.length, at: (i) => i };
    const places = [];
    let unit = 0;
    for (const character of text) {
      places.push(unit);
      unit += character.length;
    }
    places.push(unit);
    return { length: places.length - 1, at: (i) => places[i] };
  }

  // ---- data blocks -----------------------------------------------------------------------------
  const blocks = { index: [], search: [], detail: [] };
  for (const node of document.querySelectorAll("script[data-kind]")) {
    blocks[node.dataset.kind].push({ first: Number(node.dataset.first), node });
  }

  async function decode(block) {
    const binary = atob(block.node.textContent);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  const kept = new Map(); // the last few detail blocks
  async function detailOf(at) {
    const block = blocks.detail.findLast((b) => b.first <= at);
    let found = kept.get(block.first);
    kept.delete(block.first);
    found ??= decode(block);
    kept.set(block.first, found);
    if (kept.size > 6) kept.delete(kept.keys().next().value);
    return (await found)[at - block.first];
  }

  let searchTexts = null;
  function loadSearch() {
    searchTexts ??= (async () => {
      const texts = [];
      for (const block of blocks.search) {
        for (const text of await decode(block)) texts.push(text.toLowerCase());
      }
      return texts;
    })();
    return searchTexts;
  }

  const records = []; // in file order: {at, row, id, risk, verdict, decision, question, snippet, failed}
  const placeOfRow = new Map();
  async function loadIndex() {
    for (const block of blocks.index) {
      for (const [row, id, risk, verdict, decision, question, snippet, failed] of await decode(block)) {
        const at = records.length;
        records.push({ at, row, id, risk, verdict, decision, question, snippet, failed });
        if (!placeOfRow.has(row)) placeOfRow.set(row, at);
      }
    }
  }

  // ---- the list: filter, sort, draw only what is in sight -----------------------------------------
  let view = []; // records that pass the filters, in order
  let chosen = -1; // place in `records`
  let descending = true;
  let applying = 0;

  let judged = false; // whether any record has a verdict to show
  const severity = Object.keys(VERDICTS).reverse();
  const overview = overviewView({ el, grouped, changed: () => { $("verdict").value = overview.verdict(); apply(true); } });

  function setUpFilters() {
    overview.setUp(records);
    judged = Boolean(document.querySelector(".verdict-card"));
    $("verdict").append(...Object.entries(VERDICTS).filter(([name]) => records.some((r) => r.verdict === name))
      .map(([name, [word]]) => el("option", { value: name }, word)));
    $("verdict").hidden = !judged;
    $("decision").hidden = !records.some((r) => r.decision);
    let timer = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => apply(true), 120);
    });
    $("verdict").addEventListener("input", () => overview.setVerdict($("verdict").value));
    $("decision").addEventListener("input", () => apply(true));
    $("range").addEventListener("click", () => overview.clearRange());
    $("sort").addEventListener("change", () => {
      setDirection($("sort").value !== "row");
      apply();
    });
    $("direction").addEventListener("click", () => {
      setDirection(!descending);
      apply();
    });
    $("clear").addEventListener("click", () => {
      for (const id of ["search", "verdict", "decision"]) $(id).value = "";
      overview.clear();
      apply();
      $("search").focus();
    });
    $("filters").addEventListener("submit", (event) => event.preventDefault());
  }

  function setDirection(down) {
    descending = down;
    $("direction").textContent = down ? "↓" : "↑";
    $("direction").setAttribute("aria-label", `Sort order: ${down ? "highest" : "lowest"} first`);
  }

  /** Filter, sort and draw; where the `filter` changed, a record that no longer passes is left. */
  async function apply(filter = false) {
    const turn = ++applying;
    const terms = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const texts = terms.length ? await loadSearch() : null;
    if (turn !== applying) return; // a later change overtook this one
    const decision = $("decision").value;
    view = records.filter((r) => overview.passes(r) && (!decision || r.decision === decision)
      && (!texts || terms.every((term) => texts[r.at].includes(term))));
    const by = $("sort").value;
    const key = by === "verdict" ? (r) => severity.indexOf(r.verdict) : (r) => r[by];
    const sign = descending ? -1 : 1;
    view.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null) || a.row - b.row; // unknown last
      return sign * (x - y) || (b.risk ?? -1) - (a.risk ?? -1) || a.row - b.row;
    });
    const range = overview.range();
    $("range").hidden = !range;
    if (range) $("range").textContent = `Risk ${figure(range[0])} to ${figure(range[1])} ×`;
    $("active").hidden = !overview.active() && !decision && !terms.length;
    $("count").textContent = view.length === records.length
      ? `${grouped(view.length)} ${view.length === 1 ? "record" : "records"}`
      : `${grouped(view.length)} of ${grouped(records.length)} records`;
    $("list").scrollTop = 0;
    draw();
    if (filter && wide.matches && view.length && !view.some((r) => r.at === chosen)) choose(view[0].at, false);
  }

  const rows = el("div", { role: "presentation", class: "rows" });
  function draw() {
    const list = $("list");
    const from = Math.max(0, Math.floor(list.scrollTop / ROW) - 5);
    const to = Math.min(view.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 5);
    rows.style.height = `${view.length * ROW}px`;
    rows.replaceChildren(...view.slice(from, to).map((r, i) => option(r, from + i)));
    const shown = $(`option-${chosen}`);
    if (shown) list.setAttribute("aria-activedescendant", shown.id);
    else list.removeAttribute("aria-activedescendant");
  }

  function option(r, place) {
    const [word, mark, tone] = VERDICTS[r.verdict];
    return el("div", {
      role: "option", id: `option-${r.at}`, class: "option", "aria-selected": String(r.at === chosen),
      "aria-setsize": view.length, "aria-posinset": place + 1, "--top": `${place * ROW}px`,
      onclick: () => choose(r.at, true),
    },
    el("span", { class: "gauge", "--r": r.risk ?? 0 }, figure(r.risk)),
    r.question ? el("span", { class: "asked", dir: "auto" }, r.question) : null,
    el("span", { class: "snippet", dir: "auto" }, r.snippet || "(empty answer)"),
    el("span", { class: "facts" },
      judged ? [el("span", { class: "told", "data-v": tone }, `${mark} ${word}`), " · "] : null,
      `row ${r.row}`, String(r.row) === r.id ? null : el("bdi", {}, ` · ${r.id}`),
      r.decision ? ` · ${r.decision}` : null,
      r.failed ? el("span", { class: "alarm" }, ` · ${r.failed} failed`) : null));
  }

  function move(step) {
    const place = view.findIndex((r) => r.at === chosen);
    const next = place < 0 ? (step > 0 ? 0 : view.length - 1) : place + step;
    const r = view[Math.max(0, Math.min(view.length - 1, next))];
    if (r) choose(r.at, false);
  }

  function bringIntoSight() {
    const list = $("list");
    const top = view.findIndex((r) => r.at === chosen) * ROW;
    if (top < 0) return;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  }

  // ---- which record is open: the address (#row=17) is the one place that says it -------------------
  function choose(at, open) {
    const reading = document.body.classList.contains("reading");
    const hash = `#row=${records[at].row}`;
    const how = open && !wide.matches && !reading ? "pushState" : "replaceState";
    history[how](null, "", hash);
    show(at, open || reading);
  }

  function route() {
    const row = /^#row=(\d+)$/.exec(location.hash);
    const at = row ? placeOfRow.get(Number(row[1])) : undefined;
    $("missing").hidden = !row || at !== undefined;
    $("missing").textContent = $("missing").hidden ? "" : `Row ${row[1]} is not among the records of this report.`;
    if (at !== undefined) show(at, true);
    else if (!wide.matches) closeDetail();
    else if (view.length && chosen < 0) show(view[0].at, false);
    return at !== undefined;
  }

  async function show(at, open) {
    chosen = at;
    bringIntoSight();
    draw();
    if (open) document.body.classList.add("reading");
    if (!open && !wide.matches) return; // on a narrow page the list stays until a record is opened
    const data = await detailOf(at);
    if (chosen !== at) return;
    const article = $("detail");
    const held = article.contains(document.activeElement) ? document.activeElement.id || "detail-title" : null;
    article.replaceChildren(...detailView(records[at], data));
    article.setAttribute("aria-labelledby", "detail-title");
    article.hidden = false;
    $("response").dispatchEvent(new Event("ready"));
    if (wide.matches && article.getBoundingClientRect().top < 0) article.scrollIntoView();
    if (held) ($(held) || $("detail-title")).focus({ preventScroll: true });
    if (!open || wide.matches) return;
    if (scrollY > article.offsetTop || !held) scrollTo(0, 0);
    if (!held) $("detail-title").focus();
  }

  function closeDetail() {
    const was = document.body.classList.contains("reading");
    document.body.classList.remove("reading");
    draw(); // the list may have been hidden, with no height
    bringIntoSight();
    if (was) $("list").focus({ preventScroll: wide.matches });
  }

  // ---- the detail view -----------------------------------------------------------------------------
  function detailView(r, data) {
    const cards = new Map(); // "sample:3" -> {node, card, points}: where evidence is marked
    const step = (by, label, text) => el("button", { type: "button", class: "quiet", id: `step${by}`,
      "aria-label": label, onclick: () => move(by) }, text);
    return [
      el("header", { class: "detail-head" },
        el("div", { class: "turn" },
          el("button", { type: "button", class: "quiet back", onclick: back }, "← All records"),
          el("button", { type: "button", class: "quiet", id: "raw", onclick: toggleRaw, "aria-pressed": String(isRaw()) }, "Raw text"),
          step(-1, "Previous record", "↑"), step(1, "Next record", "↓")),
        el("div", { class: "verdict" },
          el("p", { class: "big", "--r": r.risk ?? 0 }, figure(r.risk),
            el("span", {}, r.risk === null ? "no risk" : "risk", data.by ? el("bdi", {}, ` · by ${data.by}`) : null)),
          el("div", {},
            verdictLine(r, data),
            el("h2", { id: "detail-title", tabindex: -1 }, `Row ${r.row}`,
              r.id === String(r.row) ? null : [" · ", el("bdi", { class: "id" }, r.id)]),
            el("p", { class: "chips" },
              r.decision ? el("span", { class: "chip" }, r.decision) : null,
              data.label === null ? null : el("span", { class: "chip" },
                `human label ${figure(data.label)} (0 right, 1 hallucinated)`))))),
      data.notes.length ? el("p", { class: "soft" }, `${data.notes.join("; ")}.`) : null,
      decided.why(r.decision, data.why),
      promptView(data.prompt),
      responseView(data, cards),
      fieldsView(data.fields),
      data.scores.filter((s) => s.findings).map(findingsView),
      decided.selected(data.selected),
      decided.repaired(data.repair, data.selected, data.response),
      cardsView("Samples", "sample", data.samples.map((text) => ({ text })), cards, data.response),
      cardsView("Contexts", "context", data.contexts, cards, null),
      cardsView("Reference", "reference", data.reference.map((text) => ({ text })), cards, null),
      data.meta.length ? section("Meta", el("dl", { class: "pairs" }, data.meta.map(([key, value]) =>
        el("div", {}, el("dt", {}, el("bdi", {}, key)), el("dd", { dir: "auto" }, value))))) : null,
      scoresView(data.scores),
    ].flat().filter(Boolean);
  }

  /** Whether texts are shown with what marks them up; a choice that outlives a visit. */
  const isRaw = () => document.body.classList.contains("unrendered");
  function toggleRaw(event) {
    document.body.classList.toggle("unrendered");
    event.currentTarget.setAttribute("aria-pressed", String(isRaw()));
    memory.set("raw", isRaw() ? "on" : "off");
  }

  /** The verdicts on the fields of a structured answer. */
  function fieldsView(fields) {
    if (!fields || !fields.length) return null;
    const rowOf = ([path, value, verdict, risk]) => el("tr", {},
      el("th", { scope: "row" }, el("bdi", {}, path)),
      el("td", {}, el("bdi", { dir: "auto" }, value)),
      el("td", {}, VERDICTS[verdict] ? `${VERDICTS[verdict][1]} ${verdict}` : verdict),
      el("td", {}, risk === null ? "–" : el("span", { class: "bar", "--r": risk }, figure(risk))));
    return section("Fields", el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Table of fields" },
      el("table", { class: "scores" },
        el("thead", {}, el("tr", {}, ["Field", "Value", "Verdict", "Risk"].map((t) => el("th", { scope: "col" }, t)))),
        el("tbody", {}, fields.map(rowOf)))));
  }

  /** The verdict, and where there is none why. */
  function verdictLine(r, data) {
    const [word, mark, tone] = VERDICTS[r.verdict];
    return el("p", { class: "verdict-line", "data-v": tone }, el("span", { class: "verdict-mark", "aria-hidden": "true" }, mark),
      el("b", {}, ` ${word}`), data.reason ? el("span", { class: "soft" }, `: ${REASONS[data.reason]}`) : null);
  }

  let sections = 0;
  function section(title, ...children) {
    const id = `part-${++sections}`;
    return el("section", { "aria-labelledby": id, class: "part" }, el("h3", { id }, title), children);
  }

  /** A text to read; a long one scrolls in its own box, which the keyboard can reach. */
  const passage = (content, length, name) => el("p", length > 2500
    ? { class: "text long", dir: "auto", tabindex: 0, role: "group", "aria-label": name }
    : { class: "text", dir: "auto" }, content);

  function promptView(messages) {
    if (!messages.length) return null;
    return section("Question", messages.map((m) => el("div", { class: "prompt" },
      m.role === null ? null : el("bdi", { class: "role" }, m.role),
      passage(m.text, m.text.length, `Prompt ${m.role ?? ""}`))));
  }

  let preferred = null; // whose units the reader chose to see, kept from record to record
  function responseView(data, cards) {
    const choices = data.scores.filter((s) => s.units.length || s.claims)
      .map((s) => ({ name: s.name, units: s.units, claims: s.claims }));
    if (data.labels.length) {
      choices.push({ name: "human labels", units: data.labels.map(([start, end, label]) =>
        ({ level: "span", start, end, risk: label, evidence: [], label: "human label" })) });
    }
    // First what made the risk where it marks wrong words, then claims, then what made the risk, then
    // units with evidence, then the finer ones.
    const evident = (c) => c.units.some((u) => u.evidence.length);
    const deciding = (c) => c.name.split("(")[0] === data.by;
    const marked = (c) => deciding(c) && c.units.some((u) => u.level === "span");
    choices.sort((a, b) => marked(b) - marked(a) || Boolean(b.claims) - Boolean(a.claims) || (a.claims ? 0
      : deciding(b) - deciding(a) || evident(b) - evident(a) || b.units.length - a.units.length));
    const text = el("div", { id: "response", class: "text", dir: "auto" });
    const panel = el("aside", { class: "evidence", id: "evidence", tabindex: -1, "aria-label": "Evidence" });
    const bar = el("div", { class: "bar-of-units" }); // how the units are told apart
    const list = el("div", { class: "claims" });
    const select = el("select", { id: "units" }, choices.map((c, i) => el("option", { value: i },
      `${calm(c.name)} (${grouped(c.units.length)} ${c.claims ? "claim" : "unit"}${c.units.length === 1 ? "" : "s"})`)));
    const before = choices.findIndex((c) => c.name === preferred);
    if (before >= 0) select.value = before;
    const paint = () => {
      const choice = choices[Number(select.value)];
      if (choice?.claims) {
        verdicts.paint({ box: text, panel, bar, list, data, choice, cards });
        return;
      }
      bar.replaceChildren(legend());
      list.replaceChildren();
      paintResponse(text, panel, data, choice ? choice.units : [], cards);
    };
    select.addEventListener("change", () => {
      preferred = choices[Number(select.value)].name;
      paint();
    });
    // Evidence is marked in cards that do not exist yet: paint when the page is together.
    text.addEventListener("ready", paint, { once: true });
    return section("Answer",
      choices.length ? el("div", { class: "tools" }, el("label", { for: "units" }, "Units of "), select, bar) : null,
      el("div", { class: choices.length ? "reading-desk" : null }, el("div", {}, text, list), choices.length ? panel : null));
  }

  const legend = () => el("span", { class: "legend", "aria-hidden": "true" }, "risk ",
    [0.1, 0.3, 0.5, 0.7, 0.9].map((r) => el("span", { class: "unit", "data-band": band(r), "--r": r }, figure(r, 1))));

  /** Cut the response where units begin and end; each piece knows all units over it, the
      most specific first: that one gives the colour, so that a sound fact in a bad sentence shows. */
  function pieces(units, length) {
    const edges = [...new Set([0, length, ...units.flatMap((u) => [u.start, u.end])])].sort((a, b) => a - b);
    const waiting = [...units].sort((a, b) => a.start - b.start);
    let over = [];
    let next = 0;
    return edges.slice(0, -1).map((start, i) => {
      over = over.filter((u) => u.end > start);
      while (next < waiting.length && waiting[next].start === start) over.push(waiting[next++]);
      const order = [...over].sort((a, b) => (a.end - a.start) - (b.end - b.start) || (b.risk ?? -1) - (a.risk ?? -1));
      return { start, end: edges[i + 1], over: order };
    });
  }

  function paintResponse(box, panel, data, units, cards) {
    const points = codePoints(data.response);
    const looks = markdown.looks(data.response);
    const fits = (u) => Number.isInteger(u.start) && u.start >= 0 && u.start < u.end && u.end <= points.length;
    const placed = units.filter(fits);
    const lost = units.filter((u) => !fits(u));
    // A figure after every word would be in the way of reading.
    const numbered = (u) => u.level !== "token" && (u.level !== "span" || u.end - u.start >= 12);
    const spans = [];
    const activate = (node, over, announce) => {
      for (const other of spans) other.classList.toggle("active", other === node);
      panel.replaceChildren(...evidenceView(over, data, cards));
      markEvidence(over, cards);
      if (announce) {
        const n = over.reduce((sum, u) => sum + u.evidence.length, 0);
        say(`Risk ${figure(over[0].risk)}${over[0].label ? `, ${calm(over[0].label)}` : ""}; ${n} ${n === 1 ? "piece" : "pieces"} of evidence.`);
      }
    };
    // Wrong words are boxed, in the colour of their sentence: a sentence has one.
    const colourOf = (over) => over.find((u) => u.level !== "span") ?? over[0];
    const unitNode = (content, over, end) => {
      if (!content.some((node) => node.textContent.trim())) return content; // nothing to name a button by
      const by = colourOf(over);
      const wrong = by !== over[0] && over[0].level === "span";
      const node = el("span", {
        class: wrong ? "unit wrong" : "unit", role: "button", tabindex: spans.length ? -1 : 0, "data-band": band(by.risk),
        "--r": by.risk ?? 0, "aria-controls": "evidence", "aria-description": wrong ? "wrong words" : null,
        "data-figure": by.end === end && numbered(by) ? `${MARKS[by.label] ?? ""}${figure(by.risk)}` : null,
        onmouseenter: () => activate(node, over, false),
        onfocus: () => activate(node, over, true),
        onclick: () => node.focus(),
      }, content);
      spans.push(node);
      return node;
    };
    const cut = pieces(placed, points.length).filter((p) => p.end > p.start);
    const nodes = cut.map((p) => {
      const place = [points.at(p.start), points.at(p.end)];
      const content = markdown.nodes(data.response, looks, ...place);
      const shows = p.over.length && !markdown.hidden(data.response, looks, ...place);
      return shows ? unitNode(content, p.over, p.end) : content;
    });
    if (!data.response.trim()) nodes.push(el("em", { class: "soft" }, "(empty answer)"));
    if (lost.length) {
      nodes.push(el("p", { class: "lost" }, "Without a place in the response: ",
        lost.slice(0, 200).map((u) => [unitNode([document.createTextNode(u.text || `[${u.start}, ${u.end}]`)], [u], u.end), " "])));
    }
    box.replaceChildren(...nodes.flat());
    box.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const here = spans.indexOf(document.activeElement);
      if (!step || here < 0) return;
      event.preventDefault();
      spans[Math.max(0, Math.min(spans.length - 1, here + step))].focus();
    };
    // Open on the riskiest unit, so that the reason to look is in sight at once.
    // A statement that is contradicted comes before one that is not, whatever their risks.
    const badness = (p) => (p.over[0].label === "contradiction" ? 2 : 0) + (p.over[0].risk ?? -1);
    const worst = cut.filter((p, i) => p.over.length && !Array.isArray(nodes[i])).reduce((best, p) => (best && badness(best) >= badness(p) ? best : p), null);
    if (worst) activate(nodes[cut.indexOf(worst)], worst.over, false);
    else panel.replaceChildren(el("p", { class: "soft" }, units.length ? "Choose a unit." : "No units."));
  }

  const MARKS = { __proto__: null, entailment: "✓\u202f", neutral: "?\u202f", contradiction: "✗\u202f", unclear: "~\u202f" };
  const LABELS = { __proto__: null, entailment: "supported", neutral: "not supported", contradiction: "contradicted", unsupported: "not supported" };
  const KINDS = { sample: "Sample", context: "Context", reference: "Reference", token: "Token" };

  /** Whether evidence is what comes nearest, as nothing supports or contradicts the unit. */
  const closest = (u) => ["neutral", "unsupported", "unclear"].includes(u.label) && u.evidence.some((e) => e.kind !== "token");

  function evidenceView(over, data, cards) {
    return over.slice(0, 6).map((u) => el("div", { class: "about" },
      el("p", { class: "about-head" }, el("b", { "--r": u.risk ?? 0 }, figure(u.risk)), ` ${u.level}`,
        u.label ? [" · ", el("bdi", {}, LABELS[u.label] ?? u.label)] : null, u.kind ? ` · ${u.kind}` : null, u.raw === undefined || figure(Number(u.raw)) === figure(u.risk) ? null : el("span", { class: "soft" }, ` · raw ${u.raw}`)),
      u.probabilities ? el("dl", { class: "chances" }, u.probabilities.map(([name, p]) =>
        el("div", { "--r": p }, el("dt", {}, el("bdi", {}, name)), el("dd", {}, figure(p))))) : null,
      closest(u) && u.evidence.length ? el("p", { class: "soft" }, "The closest passage:") : null,
      u.evidence.length ? u.evidence.map((e) => quote(e, data, cards))
        : el("p", { class: "soft none" }, u.none ?? "It is a human label.")));
  }

  /** A piece of evidence: where it stands, its probability, and its slice within some of its source,
      with `around` characters on either side. */
  function quote(e, data, cards, around = 90) {
    const place = cards.get(`${e.kind}:${e.index}`);
    const context = e.kind === "context" && data.contexts[e.index] ? data.contexts[e.index].id : null;
    const title = [`${KINDS[e.kind]} ${e.kind === "token" ? e.index : e.index + 1}`, context === null || context === undefined ? null : el("bdi", {}, ` · ${context}`)];
    const head = el("p", { class: "quote-head" },
      place ? el("button", { type: "button", class: "link", onclick: () => {
        place.card.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
        place.card.focus({ preventScroll: true });
        bringToEvidence(place, sliceOf(e, place));
      } }, title) : el("span", {}, title),
      e.p === undefined ? null : el("span", { class: "soft" }, ` p = ${figure(e.p)}`));
    const slice = sliceOf(e, place);
    const computed = e.computed ? el("p", { class: "text" }, el("span", { class: "soft" }, "Computed: "), e.computed) : null;
    if (!slice) return el("blockquote", { "data-v": e.says }, head, el("p", { class: "text", dir: "auto" }, el("mark", {}, e.text || "(nothing)")), computed);
    const [text, from, to] = slice;
    const left = Math.max(0, from - around);
    const right = Math.min(text.length, to + around);
    return el("blockquote", { "data-v": e.says }, head, el("p", { class: "text", dir: "auto" },
      left ? "…" : "", place.shown(left, from), el("mark", {}, place.shown(from, to)),
      place.shown(to, right), right < text.length ? "…" : ""), computed);
  }

  const tidy = (text) => text.toWellFormed(); // a cut may fall inside a surrogate pair

  function sliceOf(e, place) {
    if (!place || e.text !== undefined || !(e.start >= 0 && e.start < e.end && e.end <= place.points.length)) return null;
    return [place.text, place.points.at(e.start), place.points.at(e.end)];
  }

  /** Scroll a long text within its box to a piece of it. */
  function bringToEvidence(place, slice) {
    const box = place.box;
    if (!slice || box.scrollHeight <= box.clientHeight) return;
    const range = document.createRange();
    range.setStart(...place.at(slice[1]));
    range.setEnd(...place.at(slice[2]));
    box.scrollTop += range.getBoundingClientRect().top - box.getBoundingClientRect().top - 24;
  }

  const highlights = typeof Highlight === "function" && CSS.highlights;
  const SAYS = ["evidence", "entailment", "neutral", "contradiction"]; // names of highlights
  function markEvidence(over, cards) {
    for (const { card } of cards.values()) card.classList.remove("lit");
    const ranges = new Map(SAYS.map((name) => [name, []]));
    const brought = new Set();
    for (const e of over.flatMap((u) => u.evidence)) {
      const place = cards.get(`${e.kind}:${e.index}`);
      if (!place) continue;
      place.card.classList.add("lit");
      const slice = sliceOf(e, place);
      if (!slice) continue;
      ranges.get(e.says ?? "evidence").push(rangeOf(place, slice[1], slice[2]));
      if (!brought.has(place)) bringToEvidence(place, slice); // the first is the most telling
      brought.add(place);
    }
    if (highlights) for (const [name, found] of ranges) highlights.set(name, new Highlight(...found));
  }

  /** Closed at the foot of a record: what most readers need not see. */
  function scoresView(scores) {
    const applied = scores.filter((s) => s.status !== "not_applicable");
    const idle = scores.filter((s) => s.status === "not_applicable");
    const rowOf = (s) => el("tr", { class: s.status },
      el("th", { scope: "row" }, s.signature
        ? el("details", {}, el("summary", {}, el("bdi", {}, s.name)), el("code", { dir: "auto" }, s.signature)) : el("bdi", {}, s.name)),
      el("td", {}, s.risk === null ? "–" : el("span", { class: "bar", "--r": s.risk }, figure(s.risk, 3))),
      el("td", { class: "raw" }, s.raw.map(([key, value]) =>
        el("span", {}, key ? [el("bdi", { class: "soft" }, key), " "] : null, el("bdi", {}, value)))),
      el("td", {}, el("span", { class: "status" }, s.status), s.reason ? el("bdi", { class: "reason" }, s.reason) : null));
    return el("details", { class: "fold part" }, el("summary", {}, "Scores ", el("span", { class: "soft" }, `(${grouped(applied.length)})`)),
      applied.length ? el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Table of scores" }, el("table", { class: "scores" },
        el("thead", {}, el("tr", {}, ["Scorer", "Risk", "Raw", "Status"].map((t) => el("th", { scope: "col" }, t)))),
        el("tbody", {}, applied.map(rowOf)))) : null,
      idle.length ? el("div", { class: "idle soft" }, "Not applicable:", el("ul", {}, idle.map((s) =>
        el("li", {}, el("bdi", {}, s.name), s.reason ? [": ", el("bdi", {}, s.reason)] : null)))) : null,
      applied.filter((s) => s.matrix).map(heatView));
  }

  function findingsView({ name, findings }) {
    return section(`Findings, ${name}`, el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Findings of ${name}` },
      el("table", { class: "scores" },
        el("thead", {}, el("tr", {}, findings.columns.map((c) => el("th", { scope: "col" }, el("bdi", {}, c.replaceAll("_", " ")))))),
        el("tbody", {}, findings.rows.map((row) => el("tr", {}, row.map((value) => el("td", { dir: "auto" }, value))))))));
  }

  function heatView(score) {
    const m = score.matrix;
    const n = m.cells.length;
    const off = m.cells.flatMap((row, i) => row.filter((v, j) => v !== null && i !== j));
    const [low, high] = off.length ? [Math.min(...off), Math.max(...off)] : [0, 1];
    const shade = (v) => (v === null ? 0 : high > low ? Math.max(0, Math.min(1, (v - low) / (high - low))) : 0.5);
    const labels = m.labels.map((label) => label.replace(/^(sample|reference) (\d+)$/, (_, kind, i) => `${kind} ${Number(i) + 1}`));
    const brief = (label) => label.replace(/^sample /, "").replace(/^response$/, "R").replace(/^reference ?/, "ref ");
    const facts = m.facts.map(([key, value]) => `${key} ${figure(value, 3)}`).join(", ");
    return section(`Similarity, ${score.name}`,
      el("p", { class: "soft" }, `Similarity of every pair${facts ? ` (${facts})` : ""}. The tint runs from ${figure(low)} (faint) to ${figure(high)} (strong). `,
        n < m.of ? `The first ${n} of ${m.of} texts are shown.` : ""),
      el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Similarity matrix of ${score.name}` },
        el("table", { class: `heat${n > 14 ? " small" : ""}` },
          el("caption", { class: "hidden" }, "Similarity of the answer (R), the samples (by number) and the references"),
          el("thead", {}, el("tr", {}, el("td"), labels.map((label) =>
            el("th", { scope: "col", title: label }, el("bdi", {}, brief(label)))), m.outlier ? el("th", { scope: "col", class: "out" }, "outlier") : null)),
          el("tbody", {}, m.cells.map((row, i) => el("tr", { class: labels[i] === "response" ? "own" : null },
            el("th", { scope: "row", title: labels[i] }, el("bdi", {}, labels[i])),
            row.map((v, j) => el("td", { "--v": i === j ? 0 : shade(v), class: i === j ? "same" : null }, figure(v))),
            m.outlier ? el("td", { class: "out" }, figure(m.outlier[i])) : null))))));
  }

  /** Texts side by side. Words that `against` does not have are marked without touching the text. */
  function cardsView(title, kind, items, cards, against) {
    if (!items.length) return null;
    const known = words && against !== null && against.length < 20000 ? new Set(wordsOf(against).map((w) => w.word)) : null;
    const differing = [];
    const nodes = items.map((item, i) => {
      const missing = item.text === null;
      const place = placed(missing ? "(an image; not shown)" : item.text);
      const card = el("div", { class: "card", tabindex: -1 },
        el("h4", {}, `${KINDS[kind]} ${i + 1}`, item.id === null || item.id === undefined ? null : [" · ", el("bdi", {}, item.id)]),
        passage(place.nodes, place.text.length, `${KINDS[kind]} ${i + 1}`));
      if (!missing) cards.set(`${kind}:${i}`, { ...place, card, box: card.lastElementChild, points: codePoints(item.text) });
      if (known && !missing && item.text.length < 20000) {
        for (const { word, index, end } of wordsOf(item.text)) {
          if (!known.has(word)) differing.push(rangeOf(place, index, end));
        }
      }
      return card;
    });
    if (known && highlights) highlights.set("differs", new Highlight(...differing));
    return section(title,
      known && highlights && differing.length ? el("p", { class: "soft" }, "Words that the answer does not have are ", el("span", { class: "differs" }, "dotted"), ".") : null,
      el("div", { class: `cards ${kind}` }, nodes));
  }

  /** A text in its looks: its nodes, and where they stand in it. */
  function placed(text) {
    const looks = markdown.looks(text);
    const nodes = markdown.nodes(text, looks);
    const parts = nodes.map((n) => n.firstChild ?? n);
    const starts = [];
    parts.reduce((at, part) => { starts.push(at); return at + part.length; }, 0);
    const at = (offset) => { // the text node of an offset, and the offset within it
      let low = 0;
      for (let high = starts.length - 1; low < high;) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= offset) low = middle; else high = middle - 1;
      }
      return [parts[low], Math.min(offset - starts[low], parts[low].length)];
    };
    // a cut may fall inside a surrogate pair
    const shown = (from, to) => markdown.nodes(tidy(text), looks, from, to);
    return { text, nodes, at, shown };
  }

  function rangeOf(place, from, to) {
    const [startContainer, startOffset] = place.at(from);
    const [endContainer, endOffset] = place.at(to);
    return new StaticRange({ startContainer, startOffset, endContainer, endOffset });
  }

  function wordsOf(text) {
    const found = [];
    for (const s of words.segment(text)) {
      if (s.isWordLike) found.push({ word: s.segment.toLowerCase(), index: s.index, end: s.index + s.segment.length });
    }
    return found;
  }

  const decided = decisionsView({ el, figure, section, passage, codePoints });
  const verdicts = claimsView({ el, figure, grouped, calm, say, codePoints, quote, markEvidence, markdown });

  // ---- keyboard, start --------------------------------------------------------------------------
  function back() {
    if (!wide.matches) history.replaceState(null, "", location.pathname + location.search);
    closeDetail();
    $("list").focus();
  }

  function openChosen() {
    if (chosen < 0) return;
    choose(chosen, true);
    $("detail-title")?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "Escape") {
      if (typing && typing.id === "search" && typing.value) { typing.value = ""; apply(); } else if (records.length) back();
      return;
    }
    if (typing) return;
    const inList = event.target === $("list");
    const page = Math.max(1, Math.floor($("list").clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (inList && event.key in steps) {
      event.preventDefault();
      move(steps[event.key]);
    } else if (inList && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      openChosen();
    } else if ($("shortcuts").checked) {
      if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
      if (event.key === "/") { event.preventDefault(); closeIfNarrow(); $("search").focus(); }
    }
  });
  const closeIfNarrow = () => { if (!wide.matches && document.body.classList.contains("reading")) back(); };

  document.body.classList.toggle("unrendered", memory.get("raw") === "on");
  $("shortcuts").checked = memory.get("shortcuts") !== "off";
  $("shortcuts").addEventListener("change", () => memory.set("shortcuts", $("shortcuts").checked ? "on" : "off"));

  async function start() {
    await loadIndex();
    setUpFilters();
    $("filters").hidden = $("list").hidden = false;
    $("list").append(rows);
    $("list").addEventListener("scroll", draw, { passive: true });
    addEventListener("resize", draw);
    addEventListener("hashchange", route);
    addEventListener("popstate", route);
    wide.addEventListener("change", () => { draw(); route(); });
    await apply();
    if (route() && wide.matches) $("records").scrollIntoView();
    document.documentElement.dataset.ready = "true";
  }
  start().catch((error) => {
    $("count").textContent = `The records could not be opened: ${error.message}`;
    throw error;
  });
})();
