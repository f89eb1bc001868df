"use strict";
/* Markdown of answers and sources, shown in its look alone. The text stays whole, in text nodes: what
   marks it up is hidden by the style sheet (class md-mark), and shown again where the reader wants the
   raw text. There are no links and no images: a link is its text. All patterns are bounded. */
function markdownView({ el }) {
  const INLINE = new RegExp([
    /(?<tick>`{1,2})(?=[^`\n])(?<code>[^`\n]{1,500}?)\k<tick>(?!`)/,
    /(?<two>\*\*|__)(?=[^\s*_])(?<strong>[^\n]{1,500}?)(?<=[^\s*_])\k<two>(?!\w)/,
    /(?<![\w*\\])\*(?=[^\s*])(?<star>[^*\n]{1,500}?)(?<=[^\s*])\*(?![\w*])/,
    /(?<![\w\\])_(?=[^\s_])(?<line>[^_\n]{1,500}?)(?<=[^\s_])_(?!\w)/,
    /~~(?=\S)(?<struck>[^~\n]{1,500}?)~~/,
    /!?\[(?<link>[^[\]\n]{1,500})\]\([^()\s]{0,500}\)/,
  ].map((r) => r.source).join("|"), "g");
  const LOOKS = { code: "md-code", strong: "md-strong", star: "md-em", line: "md-em", struck: "md-struck", link: "md-link" };
  const FENCE = /^ {0,3}(?:`{3,}|~{3,})[^`\n]{0,40}$/;
  const PREFIX = /^(?<heading> {0,3}#{1,6}[ \t]+)|^(?<quote> {0,3}(?:>[ \t]?){1,5})|^[ \t]{0,20}(?<bullet>[-*+])[ \t]+(?=\S)/;
  const ROW = /^[ \t]{0,3}\|.{0,2000}\|[ \t]*$/;
  const RULE = /^[ \t]{0,3}\|[-:| \t]{3,500}\|[ \t]*$/;
  const LIKELY = /[*_`~#>|[]|^[ \t]*[-+][ \t]/m;

  /** The looks of a text, in UTF-16 units: [start, end, class] in order, without gaps; [] of a text
      that has none. */
  function looks(text) {
    if (!LIKELY.test(text)) return [];
    const marks = [];
    let fenced = false;
    for (let at = 0; at < text.length;) {
      const stop = text.indexOf("\n", at);
      const end = stop < 0 ? text.length : stop;
      const next = stop < 0 ? end : end + 1;
      const line = text.slice(at, end);
      if (FENCE.test(line)) {
        fenced = !fenced;
        marks.push([at, next, "md-mark"]);
      } else if (fenced) marks.push([at, end, "md-code"]);
      else if (RULE.test(line)) marks.push([at, next, "md-mark"]);
      else {
        const found = PREFIX.exec(line);
        const inner = at + (found ? found[0].length : 0);
        if (found?.groups.bullet) {
          const place = at + found[0].indexOf(found.groups.bullet);
          marks.push([place, place + 1, "md-bullet"]);
        } else if (found) {
          marks.push([at, inner, "md-mark"], [inner, end, found.groups.heading ? "md-heading" : "md-quote"]);
        } else if (ROW.test(line)) marks.push([at, end, "md-table"]);
        inline(text, inner, end, 0, marks);
      }
      at = next;
    }
    return flat(marks, text.length);
  }

  function inline(text, from, to, depth, marks) {
    for (const found of text.slice(from, to).matchAll(INLINE)) {
      const kind = Object.keys(LOOKS).find((name) => found.groups[name] !== undefined);
      const start = from + found.index;
      const end = start + found[0].length;
      const offset = kind === "link" ? found[0].indexOf("[") + 1 : found[0].indexOf(found.groups[kind], (found.groups.tick ?? found.groups.two ?? "*").length * (kind === "struck" ? 2 : 1));
      const inner = [start + offset, start + offset + found.groups[kind].length];
      marks.push([start, inner[0], "md-mark"], [...inner, LOOKS[kind]], [inner[1], end, "md-mark"]);
      if (depth < 2 && kind !== "code") inline(text, ...inner, depth + 1, marks);
    }
  }

  function flat(marks, length) {
    const edges = [...new Set([0, length, ...marks.flatMap(([a, b]) => [a, b])])].sort((a, b) => a - b);
    const waiting = marks.filter(([a, b]) => a < b).sort((a, b) => a[0] - b[0]);
    let over = [];
    let next = 0;
    return edges.slice(0, -1).map((start, i) => {
      over = over.filter(([, end]) => end > start);
      while (next < waiting.length && waiting[next][0] === start) over.push(waiting[next++]);
      return [start, edges[i + 1], [...new Set(over.map(([, , look]) => look))].join(" ")];
    });
  }

  /** The nodes of `text[from:to]` in their looks. */
  function nodes(text, found, from = 0, to = text.length) {
    if (!found.length) return from < to ? [document.createTextNode(text.slice(from, to))] : [];
    let low = 0;
    for (let high = found.length; low < high;) {
      const middle = (low + high) >> 1;
      if (found[middle][1] <= from) low = middle + 1; else high = middle;
    }
    const made = [];
    for (; low < found.length && found[low][0] < to; low++) {
      const [start, end, look] = found[low];
      const piece = text.slice(Math.max(start, from), Math.min(end, to));
      if (piece) made.push(look ? el("span", { class: look }, piece) : document.createTextNode(piece));
    }
    return made;
  }

  /** Whether nothing of `text[from:to]` shows but for raw text. */
  function hidden(text, found, from, to) {
    return found.length > 0 && from < to && nodes(text, found, from, to).every((n) =>
      n.className?.includes("md-mark") || !n.textContent.trim());
  }

  return { looks, nodes, hidden };
}
