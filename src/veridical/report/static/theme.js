"use strict";
/* What every page with a script begins with: choices that outlive a visit, and the colour scheme. */
const memory = {
  set: (key, value) => {
    try { localStorage.setItem(`veridical.${key}`, value); } catch { /* private window */ }
  },
  get: (key) => {
    try { return localStorage.getItem(`veridical.${key}`); } catch { return null; }
  },
};
(() => {
  const THEMES = { auto: "light dark", light: "light", dark: "dark" };
  const button = document.getElementById("theme");
  function setTheme(name) {
    document.documentElement.style.colorScheme = THEMES[name];
    button.textContent = `Theme: ${name}`;
    button.dataset.theme = name;
    memory.set("theme", name);
  }
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    setTheme(names[(names.indexOf(button.dataset.theme) + 1) % names.length]);
  });
  setTheme(Object.hasOwn(THEMES, memory.get("theme")) ? memory.get("theme") : "auto");
})();
