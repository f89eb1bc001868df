/* Which part of the page is open, by its address; what is under way is looked at again. */
import { table } from "./answers.js";
import { openComparison, wireCompare } from "./compare.js";
import { alarm, api, byId, el, enter, fill, say } from "./pages.js";
import { wirePaste } from "./paste.js";
import { lookIndex, lookRun, openRecord, openRun, wireRuns } from "./runs.js";
import { lookSeveral, openSeveral } from "./several.js";

const EVERY = 2000; // milliseconds between two looks
const fail = (error) => alarm(error.message);

/* figures of tune */
async function openFigures(key) {
  const told = await api(`/api/figures?key=${key}`);
  fill(byId("figures-body"),
    el("p", { class: "answer-line" }, `${told.metric} ${told.ensemble} on ${told.n} answers`),
    el("p", { class: "soft" }, el("bdi", {}, told.path)),
    table("Components", ["Component", "Alone", "Weight"], told.components, [1, 2]),
    el("ul", { class: "notes" }, ...told.notes.map((note) => el("li", {}, note))));
}

const VIEWS = {
  index: lookIndex,
  paste: async () => {},
  run: openRun,
  record: (value) => openRecord(...value.split(",")),
  several: openSeveral,
  compare: (value) => openComparison(...value.split(",")),
  figures: openFigures,
};
let open = null;

/* Show the part that the address names. */
async function route() {
  const [[name, value]] = [...new URLSearchParams(location.hash.slice(1)), ["index", ""]];
  const wanted = Object.hasOwn(VIEWS, name) ? name : "index";
  alarm(null);
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = section.id !== wanted;
  }
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${wanted}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const before = open;
  open = wanted;
  if (before !== null) byId(`${wanted}-title`).focus({ preventScroll: true });
  if (before !== null && wanted !== before) window.scrollTo(0, 0);
  try {
    await VIEWS[wanted](value);
  } catch (e) { fail(e); }
}

async function follow() {
  let broken = false;
  for (;;) {
    await new Promise((resume) => { setTimeout(resume, EVERY); });
    const look = { index: lookIndex, run: lookRun, several: lookSeveral }[open];
    if (document.hidden || look === undefined) continue;
    try {
      await look();
      if (broken) alarm(null);
      broken = false;
    } catch (e) {
      broken = true;
      fail(e);
    }
  }
}

async function start() {
  try {
    await enter();
    const told = await lookIndex();
    byId("views").hidden = false;
    wirePaste(told.llm);
    wireRuns(fail);
    wireCompare(fail);
    if (!location.hash && told.named.length === 1) history.replaceState(null, "", `#run=${told.named[0]}`);
    if (!location.hash && told.named.length === 2) history.replaceState(null, "", `#compare=${told.named}`);
    if (told.named.length > 2) {
      byId("several-go").href = `#several=${told.named}`;
      byId("several-go").hidden = false;
      if (!location.hash) history.replaceState(null, "", `#several=${told.named}`);
    }
    window.addEventListener("hashchange", route);
    await route();
    follow();
    say(`${told.entries.length} entries`);
  } catch (e) { fail(e); }
  document.documentElement.dataset.ready = "";
}

start();
