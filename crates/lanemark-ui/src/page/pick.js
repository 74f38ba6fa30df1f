// The selection of a system: one box for drive, platform and port, whose text the laboratory searches.

import { make } from "./draw.js";
import { ask, words } from "./laboratory.js";

const WAIT_MS = 70;
const TEXT_MAX = 400;

/** The name of the platform for the machine on which `lanemark ui` ran. */
export const MACHINE = "this-machine";

let numbers = 0;

export function field(label, input, output) {
  input.id ||= `field-${++numbers}`;
  return make("div", { class: "field" }, make("label", { for: input.id }, label, output ? " " : "", output ?? ""), input);
}

export function select(options, chosen, change) {
  const made = options.map(([value, text]) => make("option", { value, selected: value === chosen }, text));
  return make("select", { onchange: (event) => change(event.target.value) }, ...made);
}

/** Returns whether a system uses this machine. */
export const isHere = (system) => system.includes(`@${MACHINE}:`) || system.includes(`@${MACHINE},`);

/** Splits a text at its last colon; `first` is the first half of a text without a colon. */
const halves = (text, first) => {
  const colon = text.lastIndexOf(":");
  return colon < 0 ? [first, text] : [text.slice(0, colon), text.slice(colon + 1)];
};

/** Returns the names of a system's drives, platform and ports, and the ports' links. Unknown parts stay as written. */
export function parts(library, system) {
  const [, volume, name] = system.match(/^(?:(stripe|mirror)[^:@]*:)?(.*)$/s);
  const [drive, rest = ""] = name.split("@");
  const [first, ...others] = rest.split("+");
  const [platform, port] = halves(first.includes(":") ? first : `${first}:`, "");
  const locations = [[drive, port], ...others.map((text) => halves(text, drive))];
  const board = library.platforms.find((one) => one.id === platform.split(",")[0]);
  const counts = new Map(), links = new Map();
  for (const [id, port] of locations) {
    counts.set(id, (counts.get(id) ?? 0) + 1);
    const found = board?.ports.find((one) => one.name === port);
    const behind = found?.behind.length ? `via ${found.behind.join(", ")}` : "connected to the processor";
    const text = `${found?.connector}, ${behind}`;
    if (found) links.set(text, [...(links.get(text) ?? []), port]);
  }
  const drives = [...counts].map(([id, count]) => {
    const name = library.drives.find((one) => one.id === id)?.name ?? id;
    return count > 1 ? `${count} × ${name}` : name;
  });
  return {
    drive: `${volume ? `${volume} of ` : ""}${drives.join(" and ")}`, platform: board?.name ?? platform,
    port: others.length ? `${port} and ${others.length} more` : port,
    about: [...links].map(([text, ports]) => `${ports.join(", ")}: ${text}`).join("; "),
  };
}

/** Returns the name of the system on one line. */
export function line(library, system) {
  const { drive, platform, port } = parts(library, system);
  return port ? `${drive} · ${platform} · ${port}` : system;
}

/**
 * A box that searches for a system by text. `choose` is called with a system, its name and the links of its port; `said` shows an
 * error or advice.
 */
export function picker({ label, name, present, choose, said }) {
  const list = make("ul", { role: "listbox", id: `found-${++numbers}`, "aria-label": label, hidden: true });
  const input = make("input", {
    type: "text", role: "combobox", id: `pick-${numbers}`, value: name, title: name, "aria-label": label, "aria-expanded": "false", "aria-autocomplete": "list",
    "aria-controls": list.id, autocomplete: "off", spellcheck: "false", maxlength: TEXT_MAX, placeholder: "980 pro in the second slot of a B550",
  });
  let shown = name, found = [], at = -1, timer = 0, asked = 0, abort = null;

  function close() {
    clearTimeout(timer);
    asked += 1;
    abort?.abort();
    list.hidden = true;
    found = [];
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(place) {
    at = place;
    [...list.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
    const option = list.children[at];
    if (option) { input.setAttribute("aria-activedescendant", option.id); option.scrollIntoView({ block: "nearest" }); } else input.removeAttribute("aria-activedescendant");
  }

  function take(place) {
    const one = found[place];
    if (!one) return;
    close();
    shown = input.value = input.title = one.name;
    said("");
    choose(one);
  }

  async function search() {
    const number = ++asked;
    abort?.abort();
    abort = new AbortController();
    try {
      const text = input.value === shown ? "" : input.value;
      const reply = await ask("find", { text, present: present() }, abort.signal);
      if (number !== asked) return false;
      found = reply.found;
      list.replaceChildren(...found.map((one, place) => make("li", { role: "option", id: `${list.id}-${place}`, "aria-selected": "false",
        onpointerdown: (event) => { event.preventDefault(); take(place); } }, make("span", {}, one.name), make("span", { class: "soft" }, one.about))));
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(found.length > 0));
      said(reply.advice ?? "");
      mark(found.length ? 0 : -1);
      return true;
    } catch (error) {
      if (number === asked) { close(); said(words(error)); }
      return false;
    }
  }

  const later = () => { clearTimeout(timer); asked += 1; timer = setTimeout(search, WAIT_MS); };
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => { if (list.hidden) later(); });
  input.addEventListener("input", later);
  input.addEventListener("blur", () => { close(); input.value = shown; said(""); });
  input.addEventListener("keydown", async (event) => {
    const moves = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (moves) {
      event.preventDefault();
      if (list.hidden) { await search(); return; }
      mark((at + moves + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      // The text may have changed since the list was requested.
      clearTimeout(timer);
      const place = at;
      if (input.value !== shown || !list.hidden) { if (await search()) take(Math.max(0, place < found.length ? place : 0)); }
    } else if (event.key === "Escape") {
      close();
      input.value = shown;
      said("");
      input.select();
    }
  });
  const set = (text) => { shown = input.value = input.title = text; };
  return { box: make("div", { class: "pick" }, input, list), input, set };
}
