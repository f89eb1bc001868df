"use strict";
/* The claims view: the response with a verdict on each claim, the list of claims, and for the one
   that is chosen the passages that support or contradict it. Drawn by report.js, whose helpers it
   is given; the same rules hold: hostile text becomes text nodes and attribute values, no more. */
const claimsView = ({ el, figure, grouped, calm, say, codePoints, quote, markEvidence, markdown }) => {
  const VERDICTS = { // worst first
    contradiction: { word: "Contradicted", mark: "✗" },
    neutral: { word: "Unsupported", mark: "?" },
    unclear: { word: "Unclear", mark: "~" },
    entailment: { word: "Supported", mark: "✓" },
  };
  const ORDER = Object.keys(VERDICTS);
  const SIDES = {
    contradiction: "Contradicting",
    entailment: "Supporting",
    neutral: "Nearest, neither supporting nor contradicting", unclear: "Nearest, not clear",
  };
  const KINDS = {
    number: "a number that the sources do not have", date: "a date that the sources do not have",
    name: "a name that the sources do not have", other: "no number, date or name is amiss",
  };
  const LISTED = 100; // claims listed at once
  const away = new Set(); // verdicts the reader has switched off, from record to record
  const before = new WeakMap(); // units -> number of the claim that was chosen last

  const text = (claim) => claim.fact.text ?? claim.unit.text ?? claim.words;
  const marked = (v) => el("span", { class: "verdict-mark", "data-v": v, "aria-hidden": "true" }, VERDICTS[v].mark);

  /** Ranges of the response that a claim's words take up: all of them, and those of its own, from
      its start to its end; a claim's subject often stands in a part that other claims share. */
  function placed(unit, number, response, points) {
    const fact = unit.claim;
    const fits = ([a, b]) => Number.isInteger(a) && Number.isInteger(b) && a >= 0 && a < b && b <= points.length;
    const claim = { unit, fact, number, v: fact.v, own: [], all: [], size: 0, words: "" };
    if (!fits([unit.start, unit.end])) return claim;
    const parts = (fact.parts || []).filter(fits).sort((a, b) => a[0] - b[0]);
    const joined = [];
    for (const [a, b] of parts.length ? parts : [[unit.start, unit.end]]) {
      const last = joined.at(-1);
      const gap = last && a > last[1] ? response.slice(points.at(last[1]), points.at(a)) : "";
      if (last && (a <= last[1] || !gap.trim())) last[1] = Math.max(last[1], b);
      else joined.push([a, b]);
    }
    claim.all = joined;
    claim.own = joined.map(([a, b]) => [Math.max(a, unit.start), Math.min(b, unit.end)]).filter(([a, b]) => a < b);
    if (!claim.own.length) claim.own = [[unit.start, unit.end]];
    claim.size = claim.own.reduce((sum, [a, b]) => sum + b - a, 0);
    claim.words = response.slice(points.at(unit.start), points.at(unit.end));
    return claim;
  }

  /** Cut the response where ranges begin and end. Each piece has the claim that gives it its colour:
      of those whose own words it holds the most specific, of equals the worst. */
  function pieces(claims, length) {
    const first = (a, b) => a.size - b.size || ORDER.indexOf(a.v) - ORDER.indexOf(b.v) || a.number - b.number;
    const waiting = claims.flatMap((claim) => claim.own.map(([start, end]) => ({ start, end, claim })))
      .sort((a, b) => a.start - b.start);
    const edges = [...new Set([0, length, ...claims.flatMap((c) => [...c.own, ...c.all].flat())])].sort((a, b) => a - b);
    let over = [];
    let next = 0;
    return edges.slice(0, -1).map((start, i) => {
      over = over.filter((r) => r.end > start);
      while (next < waiting.length && waiting[next].start === start) over.push(waiting[next++]);
      const top = over.reduce((best, { claim }) => (best && first(best, claim) < 0 ? best : claim), null);
      return { start, end: edges[i + 1], top };
    });
  }

  /** Show the claims of a score: in `box` the response, in `bar` the filter, in `list` the claims,
      in `panel` the one that is chosen. */
  function paint({ box, panel, bar, list, data, choice, cards }) {
    const points = codePoints(data.response);
    const claims = choice.units.map((u, i) => placed(u, i + 1, data.response, points));
    let chosen = claims[(before.get(choice.units) ?? 0) - 1] ?? null;
    let buttons = [];
    let words = []; // the nodes of the response's pieces
    let begins = new Map(); // offset -> place in `words`
    let rows = new Map();
    const nodesOf = (claim) => claim.all.flatMap(([a, b]) => words.slice(begins.get(a), begins.get(b)));

    function choose(claim, announce) {
      for (const node of box.querySelectorAll(".words.active")) node.classList.remove("active");
      for (const node of nodesOf(claim)) node.classList.add("active");
      chosen = claim;
      before.set(choice.units, claim.number);
      for (const [of, row] of rows) {
        row.setAttribute("aria-pressed", String(of === claim));
        row.tabIndex = of === claim ? 0 : -1;
      }
      if (!rows.has(claim)) firstRow();
      panel.replaceChildren(...about(claim));
      panel.scrollTop = 0;
      markEvidence([claim.unit], cards);
      if (announce) say(spoken(claim));
    }

    const firstRow = () => { const row = rows.values().next().value; if (row) row.tabIndex = 0; };

    function about(claim) {
      const { unit, fact } = claim;
      const beside = claims.filter((c) => c !== claim && !away.has(c.v) && overlaps(c, claim)).slice(0, 12);
      const sides = ["contradiction", "entailment", "neutral", undefined].map((says) =>
        [says, unit.evidence.filter((e) => e.says === says)]).filter(([, items]) => items.length);
      if (claim.v === "entailment") sides.sort((a, b) => (b[0] === "entailment") - (a[0] === "entailment"));
      return [el("div", { class: "about" },
        el("p", { class: "claim-head", "data-v": claim.v }, marked(claim.v), el("b", {}, VERDICTS[claim.v].word),
          el("span", { class: "soft" }, ` claim ${claim.number} of ${grouped(claims.length)}`)),
        el("p", { class: "text claim-text", dir: "auto" }, text(claim)),
        triplet(fact),
        unit.kind ? el("p", { class: "claim-kind" }, el("span", { class: "chip" }, unit.kind)) : null,
        fact.kind ? el("p", { class: "claim-kind" }, el("span", { class: "chip" }, fact.kind),
          Object.hasOwn(KINDS, fact.kind) ? el("span", { class: "soft" }, ` ${KINDS[fact.kind]}`) : null) : null,
        fact.conflict ? el("p", { class: "claim-kind" }, el("span", { class: "chip conflict" }, "sources disagree"),
          el("span", { class: "soft" }, " some passages support the claim, others contradict it")) : null,
        unit.probabilities ? el("dl", { class: "chances verdicts", "aria-label": "Probabilities" }, unit.probabilities.map(([name, p]) =>
          el("div", { "--r": p ?? 0, "data-v": Object.hasOwn(VERDICTS, name) ? name : null }, el("dt", {}, el("bdi", {}, name)), el("dd", {}, figure(p)))))
          : el("p", { class: "soft" }, `risk ${figure(unit.risk)}`),
        fact.why ? el("p", { class: "text claim-why", dir: "auto" }, fact.why) : null,
        sides.map(([says, items]) => el("section", { class: "side", "data-v": says },
          el("h4", {}, says ? [marked(says), ` ${SIDES[says]}`] : "Evidence"), items.map((e) => quote(e, data, cards, 160)))),
        unit.evidence.length ? null : el("p", { class: "soft none" }, unit.none),
        beside.length ? el("div", { class: "beside" }, el("h4", {}, "Other claims in the same words"),
          beside.map((c) => el("button", { type: "button", class: "claim-link", onclick: () => { choose(c, true); panel.focus({ preventScroll: true }); } },
            marked(c.v), el("span", { class: "hidden" }, VERDICTS[c.v].word), el("bdi", {}, ` ${text(c)}`)))) : null)];
    }

    function drawResponse() {
      buttons = [];
      const tops = []; // the claim of each button
      const last = new Map(); // the last button of each claim, which carries its mark
      const nodes = [];
      const cut = pieces(claims.filter((c) => !away.has(c.v)), points.length);
      const looks = markdown.looks(data.response);
      words = cut.map((p) => el("span", { class: "words" }, markdown.nodes(data.response, looks, points.at(p.start), points.at(p.end))));
      begins = new Map([...cut.map((p, i) => [p.start, i]), [points.length, cut.length]]);
      cut.forEach(({ top }, i) => {
        if (!top) nodes.push(words[i]);
        else if (i && cut[i - 1].top === top) buttons.at(-1).append(words[i]); // pieces in a row share a button
        else {
          const node = el("span", { class: "claim", role: "button", "data-v": top.v, "aria-controls": "evidence",
            tabindex: buttons.length ? -1 : 0, onfocus: () => choose(top, true), onclick: (event) => event.currentTarget.focus() }, words[i]);
          buttons.push(node);
          nodes.push(node);
          last.set(top, node);
          tops.push(top);
        }
      });
      for (const [claim, node] of last) node.dataset.mark = `${VERDICTS[claim.v].mark}\u202f${claim.number}`;
      buttons.forEach((node, i) => {
        node.setAttribute("aria-label", `${calm(node.textContent)} (${VERDICTS[tops[i].v].word}, claim ${tops[i].number})`);
      });
      if (!data.response.trim()) nodes.push(el("em", { class: "soft" }, "(empty answer)"));
      box.replaceChildren(...nodes);
    }

    function drawList(most) {
      rows = new Map();
      const shown = claims.filter((c) => !away.has(c.v));
      const items = shown.slice(0, most).map((c) => {
        const row = el("button", { type: "button", class: "claim-row", "data-v": c.v, "aria-pressed": String(c === chosen),
          tabindex: c === chosen ? 0 : -1, "aria-controls": "evidence", onfocus: () => choose(c, true), onclick: (event) => event.currentTarget.focus() },
        el("span", { class: "claim-number" }, marked(c.v), `\u202f${c.number}`),
        el("span", { class: "hidden" }, `${VERDICTS[c.v].word}: `),
        el("bdi", { class: "claim-says", dir: "auto" }, text(c)),
        el("span", { class: "claim-facts" },
          c.fact.conflict ? el("span", { class: "chip conflict" }, "sources disagree") : null,
          c.fact.kind ? el("span", { class: "chip" }, c.fact.kind) : null,
          el("span", { class: "soft" }, `risk ${figure(c.unit.risk)}`)));
        rows.set(c, row);
        return el("li", {}, row);
      });
      if (!rows.has(chosen)) firstRow();
      list.replaceChildren(el("h4", {}, `${grouped(claims.length)} ${claims.length === 1 ? "claim" : "claims"}`,
        shown.length < claims.length ? `, ${grouped(shown.length)} shown` : ""),
      el("ol", { class: "claim-list" }, items));
      if (shown.length > most) {
        list.append(el("button", { type: "button", class: "quiet", onclick: () => drawList(most + LISTED) }, `Show more (${grouped(shown.length - most)})`));
      }
      if (choice.claims.left_out.length) {
        list.append(el("details", { class: "left-out" }, el("summary", {}, `${grouped(choice.claims.left_out.length)} left out of the model's output`),
          el("ul", {}, choice.claims.left_out.map((why) => el("li", {}, el("bdi", {}, why))))));
      }
    }

    function drawFilter() {
      bar.replaceChildren(el("span", { class: "verdict-filter", role: "group", "aria-label": "Show claims that are" },
        ORDER.map((v) => {
          const n = claims.filter((c) => c.v === v).length;
          return el("button", { type: "button", class: "verdict-toggle", "data-v": v, disabled: !n, id: `verdict-${v}`,
            "aria-pressed": String(!away.has(v)), onclick: () => {
              if (away.has(v)) away.delete(v); else away.add(v);
              draw();
              document.getElementById(`verdict-${v}`).focus();
              say(`${grouped(claims.filter((c) => !away.has(c.v)).length)} of ${grouped(claims.length)} claims shown.`);
            } }, marked(v), ` ${VERDICTS[v].word} `, el("b", {}, grouped(n)));
        })));
    }

    function draw() {
      drawFilter();
      drawResponse();
      drawList(LISTED);
      const shown = claims.filter((c) => !away.has(c.v));
      const kept = shown.includes(chosen) ? chosen : null;
      const worst = kept || ORDER.map((v) => shown.filter((c) => c.v === v)
        .reduce((best, c) => (best && (best.unit.risk ?? -1) >= (c.unit.risk ?? -1) ? best : c), null)).find(Boolean);
      if (worst) choose(worst, false);
      else {
        chosen = null;
        markEvidence([], cards);
        panel.replaceChildren(el("p", { class: "soft" }, choice.claims.abstained
          ? "The response declines to answer: it makes no claim." : "No claim is shown; switch a verdict on."));
      }
    }

    // One tab stop in the response and one in the list; arrows move within.
    const arrows = (back, on, nodes) => (event) => {
      const step = { [on]: 1, [back]: -1 }[event.key];
      const here = nodes().indexOf(document.activeElement);
      if (!step || here < 0) return;
      event.preventDefault();
      nodes()[Math.max(0, Math.min(nodes().length - 1, here + step))].focus();
    };
    box.onkeydown = arrows("ArrowLeft", "ArrowRight", () => buttons);
    list.onkeydown = arrows("ArrowUp", "ArrowDown", () => [...rows.values()]);
    draw();
  }

  const overlaps = (a, b) => a.own.some(([s, e]) => b.own.some(([t, f]) => s < f && t < e));

  function triplet(fact) {
    if (!fact.triplet) return null;
    return el("dl", { class: "triplet", "aria-label": "Triplet" }, ["head", "relation", "tail"].map((name, i) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi", {}, fact.triplet[i])))));
  }

  function spoken(claim) {
    const count = (says) => claim.unit.evidence.filter((e) => e.says === says).length;
    const [against, for_] = [count("contradiction"), count("entailment")];
    const passages = (n) => `${n} ${n === 1 ? "passage" : "passages"}`;
    const told = [against ? `contradicted by ${passages(against)}` : "", for_ ? `supported by ${passages(for_)}` : ""].filter(Boolean);
    return `${VERDICTS[claim.v].word}${claim.fact.kind ? `, ${calm(claim.fact.kind)}` : ""}, claim ${claim.number}${told.length ? `: ${told.join(", ")}` : ""}.`;
  }

  return { paint };
};
