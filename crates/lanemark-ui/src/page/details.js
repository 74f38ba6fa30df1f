// Values, faults, drawing and command line of a system, below its path.

import { make, micro, number, picture } from "./draw.js";
import { field, select } from "./pick.js";
import { ask, words } from "./laboratory.js";

/**
 * The folded sections below the path of a system. `kinds` are the kinds of faults, `system` returns the system,
 * `question` returns the request body, `changed` is called when a value or a fault was set, and `fail` shows an error.
 */
export function details({ kinds, system, question, changed, fail }) {
  const values = make("div", { class: "values" }), drawing = make("div"), command = make("pre", { hidden: true, tabindex: "0" });
  let latest_request = 0, open = false, drawn = false;

  /** Requests values, drawing and command, and shows the open parts. */
  async function read() {
    const request = ++latest_request;
    try {
      const reply = await ask("system", question());
      if (request !== latest_request) return null;
      if (open) fields(reply.values);
      if (drawn) drawing.replaceChildren(picture(reply.drawing, "The platform’s links, with the path to the drive"));
      return reply;
    } catch (error) { fail(words(error)); return null; }
  }

  /** Creates fields for the values; a field that is being edited is not replaced. */
  function fields(reply) {
    if (values.contains(document.activeElement)) return;
    const set = (parameter, text) => {
      const current = system();
      current.set = current.set.filter(([other]) => other !== parameter);
      if (text !== "") current.set.push([parameter, text]);
      change();
    };
    values.replaceChildren(...reply.filter((value) => value.quantity !== "text" || value.choices).map((value) => value_field(value, set)));
  }

  function change() {
    command.hidden = true;
    changed();
    if (open || drawn) read();
  }

  async function copy(button) {
    const reply = await read();
    if (!reply) return;
    command.textContent = reply.command;
    command.hidden = false;
    try {
      await navigator.clipboard.writeText(reply.command);
      button.textContent = "Copied";
    } catch { button.textContent = "Copy the text below"; }
    setTimeout(() => { button.textContent = "Copy as command line"; }, 2000);
  }

  const fault = make("input", { type: "text", value: system().faults.join("; "), placeholder: "power-cut at=1ms boot=1ms",
    onchange: (event) => { system().faults = event.target.value.split(";").map((text) => text.trim()).filter(Boolean); change(); } });
  const box = make("div", { class: "more" },
    make("details", { ontoggle: (event) => { open = event.target.open; if (open) read(); } }, make("summary", {}, "Drive and link values"), values),
    make("details", { open: system().faults.length > 0 }, make("summary", {}, "Faults"), field("Separated by ;", fault),
      make("p", { class: "soft" }, `Kinds: ${kinds.join(", ")}. If a fault needs a key, the error names it.`)),
    make("details", { ontoggle: (event) => { drawn = event.target.open; if (drawn) read(); } }, make("summary", {}, "The platform’s links"), drawing),
    make("button", { type: "button", onclick: (event) => copy(event.target) }, "Copy as command line"), command);
  return { box, refresh: () => { if (open || drawn) read(); } };
}

function value_field(value, set) {
  const [, digits, unit] = value.text.match(/^([\d._]+)\s*(.*)$/) ?? [null, null, null];
  const shown = make("output", {}, micro(value.text));
  let input;
  if (value.choices) {
    const options = value.choices.includes(value.text) ? value.choices : [value.text, ...value.choices];
    input = select(options.map((text) => [text, text]), value.text, (text) => { shown.textContent = text; set(value.parameter, text); });
  } else if (digits && Number(digits.replaceAll("_", "")) > 0) {
    const middle = Number(digits.replaceAll("_", "")), whole = unit === "";
    // The range is a quarter of the value to four times the value, in steps of an eighth of a doubling.
    const text = (at) => { const turned = middle * 2 ** (at / 8); return `${whole ? Math.max(1, Math.round(turned)) : Number(turned.toPrecision(4))}${unit ? ` ${unit}` : ""}`; };
    input = make("input", { type: "range", min: -16, max: 16, value: 0, "aria-valuetext": micro(value.text),
      oninput: (event) => { const now = text(Number(event.target.value)); shown.textContent = micro(now); event.target.setAttribute("aria-valuetext", micro(now)); set(value.parameter, now); } });
  } else {
    input = make("input", { type: "text", value: value.text, onchange: (event) => set(value.parameter, event.target.value.trim()) });
  }
  const made = field("", input, shown);
  made.querySelector("label").prepend(make("code", {}, value.parameter));
  if (value.origin === "set") {
    made.classList.add("is-set");
    made.append(make("button", { type: "button", "aria-label": `Library value of ${value.parameter}`, onclick: (event) => { event.target.blur(); set(value.parameter, ""); } }, "Reset to the library value"));
  } else {
    const spread = value.range ? `, ${number(value.range[0])}–${number(value.range[1])} times` : "";
    made.append(make("span", { class: "soft note" }, `${value.origin}${spread}${value.note ? `: ${micro(value.note)}` : ""}`));
  }
  return made;
}
