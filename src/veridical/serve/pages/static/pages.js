/* What all pages of a server share: the token, requests, and elements made of text. */
export const byId = (id) => document.getElementById(id);

/* An element; whatever is given as text reaches the page as a text node. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/* Offsets of the server count code points. */
export const points = (text) => Array.from(text);
export const cut = (pts, start, end) => pts.slice(start, end).join("");
export const percent = (value, digits = 1) =>
  value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;

export function say(text) {
  byId("say").textContent = text;
}

export function alarm(text) {
  const node = byId("alarm");
  node.textContent = text ?? "";
  node.hidden = !text;
}

export async function api(path, body) {
  let reply;
  try {
    reply = await fetch(path, body === undefined
      ? { credentials: "same-origin" }
      : {
        method: "POST",
        credentials: "same-origin",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
  } catch {
    throw new Error("the server does not answer; what was not sent is not kept");
  }
  if (reply.status === 401) {
    byId("locked").hidden = false;
    throw new Error("this page has no token");
  }
  if (reply.status === 204) return null;
  const told = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Error(told.detail ?? `the server answered ${reply.status}`);
  return told;
}

/* Hand in the token of the link, once, and take it out of the address. */
export async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) {
    history.replaceState(null, "", location.pathname);
    await api("/api/session", { token });
  }
  byId("locked").hidden = true;
}

for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
