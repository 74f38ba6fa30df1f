// The page's state, which its address stores, and the page's queries to the server.

import { budget, latency, make, number, path, summary, table } from "./draw.js";
import { results } from "./results.js";
import { MACHINE, field, isHere, picker, select } from "./pick.js";

const SYSTEMS_MAX = 4;
const WAIT_MS = 40;
const PAGE = crypto.randomUUID();
const BLOCKS = ["512 B", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB", "2 MiB", "4 MiB"];
const SPANS = ["64 MiB", "1 GiB", "8 GiB", "32 GiB"];
const FIRST = {
  test: { block: "4 KiB", pattern: "random", read_percent: 100, queue_depth: 32, threads: 1, span: "1 GiB" },
  systems: [{ system: "samsung-950-pro-512gb@workstation-z170:pcie-slot", set: [], faults: [] }],
};

let library = null;
let dropped = null;
let state = read() ?? structuredClone(FIRST);
const slots = Array.from({ length: SYSTEMS_MAX }, () => ({ figures: null, eight: [], abort: null, timer: 0, told: 0 }));
const of = (id) => document.getElementById(id);

/** The state in the address, or null if there is no valid state. */
function read() {
  try {
    const got = JSON.parse(decodeURIComponent(location.hash.slice(1)));
    if (!Array.isArray(got.systems) || !got.systems.length) return null;
    const systems = got.systems.slice(0, SYSTEMS_MAX).map(({ system, set, faults }) => ({ system: String(system), set: set ?? [], faults: faults ?? [] }));
    return { test: { ...FIRST.test, ...got.test }, systems: systems.filter((one) => /@.+:/.test(one.system)) };
  } catch {
    return null;
  }
}

/** Stores the state in the address, and removes the token from it. */
function keep() {
  history.replaceState(null, "", `/#${encodeURIComponent(JSON.stringify(state))}`);
}

/** Queries the server. A query that consists of the bytes of a file is sent unchanged. */
async function ask(path, question, signal) {
  const body = question instanceof ArrayBuffer ? question : JSON.stringify(question);
  const answer = await fetch(path, question === undefined ? { signal } : {
    method: "POST", signal, headers: { "Content-Type": "application/json" }, body,
  });
  if (answer.ok) return answer;
  const text = await answer.text();
  let told = { message: text };
  try { told = JSON.parse(text); } catch { /* It is plain text. */ }
  throw Object.assign(new Error(told.message), { hint: told.hint });
}

/** The lines of a response, as they arrive. */
async function* lines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) yield JSON.parse(part);
  }
}

function fail(slot, error) {
  if (error.name === "AbortError") return;
  const box = slots[slot].error;
  if (box) box.textContent = error.hint ? `${error.message}\nHint: ${error.hint}` : error.message;
}

/** Simulates the system in `slot` a moment after the last change. */
function simulate(slot) {
  const own = slots[slot];
  clearTimeout(own.timer);
  own.timer = setTimeout(() => simulateNow(slot), WAIT_MS);
}

async function simulateNow(slot) {
  const own = slots[slot];
  own.abort?.abort();
  const abort = own.abort = new AbortController();
  own.result?.classList.add("stale");
  try {
    const answer = await ask("/api/simulate", { page: PAGE, slot, system: state.systems[slot], test: state.test }, abort.signal);
    for await (const told of lines(answer)) {
      if (abort.signal.aborted) return;
      if (told.stage === "failed") throw Object.assign(new Error(told.message), { hint: told.hint });
      if (told.stage === "figures") show(slot, told);
      if (told.stage === "done") say(slot);
    }
  } catch (error) { if (own.abort === abort) fail(slot, error); }
}

function show(slot, { figures, elapsed_ms }) {
  const own = slots[slot];
  if (!own.result) return;
  own.figures = figures;
  own.error.textContent = "";
  own.result.classList.remove("stale");
  const how = figures.repeats ? `${figures.repeats} repeat${figures.repeats > 1 ? "s" : ""}` : "a first answer";
  own.result.replaceChildren(...summary(figures),
    ...figures.doubts.map((text) => make("p", { class: "error" }, text)),
    make("p", {}, figures.narrowest), make("h3", {}, "Path; the filled part of a hop is its busy time"), path(figures),
    make("h3", {}, "Where the time goes ", make("span", { class: "soft" }, make("span", { class: "key" }), " service ", make("span", { class: "key waiting" }), " waiting")),
    budget(figures),
    make("p", { class: "soft" }, `${how}: ${number(figures.requests)} requests in ${latency(figures.simulated_seconds * 1e6)} of simulated time, ${Math.round(elapsed_ms)} ms here. Use the command line for a longer run, which may fill a cache.`));
  beside();
}

/** Announces the figures to a screen reader when they have settled. */
function say(slot) {
  const figures = slots[slot].figures;
  if (figures) of("said").textContent = `System ${slot + 1}: ${number(figures.megabytes_per_second)} megabytes a second, ${number(figures.iops)} I O P S, mean latency ${latency(figures.latency_mean_us)}.`;
}

/** Reads this machine into its entry in the list of platforms. */
async function readMachine() {
  const told = await (await ask("/api/machine")).json();
  Object.assign(library.platforms.find((one) => one.id === MACHINE), { ports: told.platform.ports, leftOut: told.left_out });
}

/** Reads this machine for the system in `slot`. If that fails, shows the error there. */
async function readMachineFor(slot) {
  try {
    slots[slot].error.textContent = "";
    await readMachine();
    return true;
  } catch (error) {
    fail(slot, error);
    return false;
  }
}

/** Draws all. If a system uses this machine, reads the machine first. */
async function allRead() {
  let problem = null;
  if (state.systems.some(({ system }) => isHere(system))) await readMachine().catch((error) => { problem = error; });
  all();
  if (problem) state.systems.forEach(({ system }, slot) => { if (isHere(system)) { clearTimeout(slots[slot].timer); fail(slot, problem); } });
}

function names() {
  return state.systems.map(({ system }) => {
    const drive = library.drives.find((one) => one.id === system.split("@")[0]);
    return drive ? `${drive.name} at ${system.split("@")[1].replace(MACHINE, "this machine")}` : system;
  });
}

/** A figure of a system on the page, in the format of a figure of a result file. */
const told = (figures, key, sense = 1) => {
  const value = figures[key], { low_ratio: low, high_ratio: high } = figures.interval ?? {};
  const interval = !figures.interval ? null : { of: "80%", low: sense > 0 ? value * low : value / high, high: sense > 0 ? value * high : value / low };
  return { value, interval };
};

/** The systems and the tests of result files as columns, a figure in each row. */
function beside() {
  const systems = names().map((name, slot) => [name, slots[slot].figures]).filter(([, figures]) => figures);
  const columns = [
    ...systems.map(([name, figures]) => ({
      name, test: figures.test, how: "simulated here", repeats: figures.repeats || "first answer", latency_us: figures.latency_us,
      megabytes_per_second: told(figures, "megabytes_per_second"), iops: told(figures, "iops"), latency_mean_us: told(figures, "latency_mean_us", -1) })),
    ...(dropped?.shown() ?? []).map((test) => ({
      ...test, name: `${test.target} (${test.file})`, how: `${test.how}${test.is_cut_short ? ", cut short" : ""}` })),
  ];
  if (!columns.length) { of("beside").replaceChildren(); return; }
  const ends = ({ interval: { low, high, of: share } }, word) => share === "all" ? `repeats ${word(low)}–${word(high)}` : `${share} in ${word(low)}–${word(high)}`;
  const figure = (key, word) => (column) => {
    const one = column[key];
    return one ? [word(one.value), one.interval ? make("span", { class: "soft below" }, ends(one, word)) : ""] : ["–"];
  };
  const first = columns[0];
  const percentile = (at) => ({ latency_us }) => [latency(latency_us.find(([own]) => own === at)?.[1])];
  const rows = [
    ["Test", (column) => [column.test]], ["Source", (column) => [column.how]], ["Repeats", (column) => [String(column.repeats)]],
    ["MB/s", figure("megabytes_per_second", number)], ["IOPS", figure("iops", number)],
    ["IOPS × first", (column) => [column.iops && first.iops?.value ? number(column.iops.value / first.iops.value) : "–"]],
    ["Transactions a minute", figure("transactions_per_minute", number), (column) => column.transactions_per_minute],
    ["Mean latency", figure("latency_mean_us", latency)],
    ...[50, 90, 99, 99.9, 99.99].map((at) => [`${at}% of latencies`, percentile(at)]),
  ];
  table(of("beside"), ["Figure", ...columns.map((column) => column.name)],
    rows.filter(([, , has]) => !has || columns.some(has)).map(([name, cell]) => [name, ...columns.map(cell)]),
    "Figures of all systems for the test above, and of the tests of result files");
}

/** Redraws the system in `slot`: its fields, and the space for its figures. */
function system(slot) {
  const asked = state.systems[slot], own = slots[slot];
  const heading = make("h3", { id: `system-${slot}` }, names()[slot]);
  const remove = make("button", { type: "button", disabled: state.systems.length < 2, "aria-label": `Remove system ${slot + 1}`, onclick: () => { state.systems.splice(slot, 1); all(); } }, "Remove");
  own.result = make("div", { class: "result" });
  own.error = make("p", { class: "error", role: "alert" });
  own.values = make("div", { class: "values" });
  own.drawing = make("div");
  const fault = make("input", { type: "text", value: asked.faults.join("; "), placeholder: "power-cut at=1ms boot=1ms",
    onchange: (event) => { asked.faults = event.target.value.split(";").map((text) => text.trim()).filter(Boolean); changed(slot); } });
  const command = make("button", { type: "button", onclick: (event) => copy(slot, event.target) }, "Copy as command line");
  own.command = make("pre", { hidden: true, tabindex: "0" });
  const values = make("details", { ontoggle: (event) => { own.open = event.target.open; if (own.open) details(slot); } },
    make("summary", {}, "Values of the drive and its links"), own.values,
    field("Faults, separated by ;", fault));
  const drawing = make("details", { ontoggle: (event) => { own.drawn = event.target.open; if (own.drawn) details(slot); } },
    make("summary", {}, "The platform’s links"), own.drawing);
  const card = make("article", { class: "system", "aria-labelledby": heading.id },
    make("div", { class: "row" }, heading, remove),
    picker(library, asked.system, (name) => { asked.system = name; asked.set = []; heading.textContent = names()[slot]; changed(slot); }, () => readMachineFor(slot)),
    own.error, own.result, values, drawing, make("p"), command, own.command);
  return card;
}

function changed(slot) {
  keep();
  simulate(slot);
  const own = slots[slot];
  if (own.open || own.drawn) details(slot);
}

/** Requests the values, drawing and command of a system, and shows the open sections. */
async function details(slot) {
  const own = slots[slot], number = ++own.told;
  try {
    const answer = await ask("/api/system", { system: state.systems[slot], test: state.test });
    const told = await answer.json();
    if (number !== own.told) return null;
    if (own.open) turns(slot, told.values);
    if (own.drawn) drawn(own, told.drawing);
    return told;
  } catch (error) { fail(slot, error); return null; }
}

/** The platform as a picture: text inside an image neither runs nor asks for anything. */
function drawn(own, drawing) {
  const url = URL.createObjectURL(new Blob([drawing], { type: "image/svg+xml" }));
  const image = make("img", { src: url, class: "drawing", alt: "The platform’s links, with the path to the drive" });
  image.addEventListener("load", () => URL.revokeObjectURL(url));
  own.drawing.replaceChildren(image);
}

/** Fields for the values of a system. Fields that the user is editing are kept. */
function turns(slot, values) {
  const own = slots[slot];
  if (own.values.contains(document.activeElement)) return;
  const asked = state.systems[slot];
  const set = (parameter, text) => {
    asked.set = asked.set.filter(([other]) => other !== parameter);
    if (text !== "") asked.set.push([parameter, text]);
    changed(slot);
  };
  own.values.replaceChildren(...values.filter((value) => value.quantity !== "text" || value.choices).map((value) => value_field(value, set)));
}

function value_field(value, set) {
  const [, digits, unit] = value.text.match(/^([\d._]+)\s*(.*)$/) ?? [null, null, null];
  const shown = make("output", {}, value.text);
  let input;
  if (value.choices) {
    const options = value.choices.includes(value.text) ? value.choices : [value.text, ...value.choices];
    input = select(options.map((text) => [text, text]), value.text, (text) => { shown.textContent = text; set(value.parameter, text); });
  } else if (digits && Number(digits.replaceAll("_", "")) > 0) {
    const middle = Number(digits.replaceAll("_", "")), whole = unit === "";
    // From a quarter to four times the value, in steps of an eighth of an octave.
    const text = (at) => { const turned = middle * 2 ** (at / 8); return `${whole ? Math.max(1, Math.round(turned)) : Number(turned.toPrecision(4))}${unit ? ` ${unit}` : ""}`; };
    input = make("input", { type: "range", min: -16, max: 16, value: 0, "aria-valuetext": value.text,
      oninput: (event) => { const now = text(Number(event.target.value)); shown.textContent = now; event.target.setAttribute("aria-valuetext", now); set(value.parameter, now); } });
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
    made.append(make("span", { class: "soft", title: value.note }, `${value.origin}${spread}`));
  }
  return made;
}

async function copy(slot, button) {
  const told = await details(slot);
  if (!told) return;
  const own = slots[slot];
  own.command.textContent = told.command;
  own.command.hidden = false;
  try {
    await navigator.clipboard.writeText(told.command);
    button.textContent = "Copied";
  } catch { button.textContent = "Copy it from below"; }
  setTimeout(() => { button.textContent = "Copy as command line"; }, 2000);
}

/** Offers the systems and the test as a file that the browser saves. */
async function saveStudy() {
  of("study-said").textContent = "";
  try {
    const { text } = await (await ask("/api/study", { systems: state.systems, test: state.test })).json();
    const url = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
    const link = make("a", { href: url, download: "lanemark-study.toml" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    const here = state.systems.some(({ system }) => isHere(system)) ? " First run in the same folder: lanemark inspect --as-platform this-machine.toml" : "";
    of("study-said").textContent = `Saved. Run it with: lanemark study lanemark-study.toml${here}`;
  } catch (error) {
    of("study-said").textContent = error.hint ? `${error.message}. Hint: ${error.hint}` : error.message;
  }
}

/** The fields of the test, which all systems share. */
function test() {
  const asked = state.test;
  const turn = (key, value) => { asked[key] = value; keep(); state.systems.forEach((_, slot) => simulate(slot)); };
  const slider = (label, values, key, word = String) => {
    const shown = make("output", {}, word(asked[key]));
    const at = Math.max(0, values.indexOf(asked[key]));
    const input = make("input", { type: "range", min: 0, max: values.length - 1, value: at, "aria-valuetext": word(asked[key]), id: `test-${key}`,
      oninput: (event) => { const value = values[event.target.value]; shown.textContent = word(value); event.target.setAttribute("aria-valuetext", word(value)); turn(key, value); } });
    return field(label, input, shown);
  };
  const depths = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
  const shares = Array.from({ length: 21 }, (_, index) => index * 5);
  const read = (percent) => percent === 100 ? "reads only" : percent === 0 ? "writes only" : `${percent}% reads`;
  of("test").replaceChildren(
    field("Pattern", select([["random", "random"], ["sequential", "sequential"]], asked.pattern, (value) => turn("pattern", value))),
    slider("Block size", BLOCKS, "block"), slider("Queue depth", depths, "queue_depth"), slider("Reads", shares, "read_percent", read),
    slider("Threads", [1, 2, 4, 8, 16], "threads"),
    field("Span", select(SPANS.map((span) => [span, span]), asked.span, (value) => turn("span", value))));
}

/** The eight tests on all systems, each system after the other so that its time is its own. */
async function eight() {
  const button = of("eight");
  button.disabled = true;
  of("eight-region").hidden = false;
  let longest = 0;
  for (let slot = 0; slot < state.systems.length; slot++) {
    slots[slot].eight = [];
    try {
      const answer = await ask("/api/workload", { page: `${PAGE}-8`, slot, system: state.systems[slot], workload: "crystaldiskmark-8" });
      for await (const told of lines(answer)) {
        if (told.stage === "failed") throw Object.assign(new Error(told.message), { hint: told.hint });
        if (told.stage === "figures") slots[slot].eight[told.index] = told.figures;
        longest = Math.max(longest, told.elapsed_ms);
      }
    } catch (error) { fail(slot, error); }
    const tests = slots.map((own) => own.eight).find((own) => own.length) ?? [];
    const count = state.systems.length;
    const rows = tests.map(({ test }, index) => [test, ...slots.slice(0, count).map((own) => number(own.eight[index]?.megabytes_per_second))]);
    table(of("eight-table"), ["MB/s", ...names()], rows, "CrystalDiskMark 8, each test simulated briefly");
  }
  of("eight-time").textContent = `${Math.round(longest)} ms for a system`;
  button.disabled = false;
}

function all() {
  slots.forEach((own) => { own.abort?.abort(); Object.assign(own, { figures: null, eight: [], result: null, open: false, drawn: false }); });
  keep();
  test();
  of("systems").replaceChildren(...state.systems.map((_, slot) => system(slot)));
  beside();
  of("add").disabled = state.systems.length >= SYSTEMS_MAX;
  state.systems.forEach((_, slot) => simulate(slot));
}

async function begin() {
  try {
    library = await (await ask("/api/library")).json();
    library.platforms.unshift({ id: MACHINE, name: "This machine, as lanemark inspect reads it", ports: [] });
  } catch (error) {
    of("systems").replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
    return;
  }
  if (!state.systems.length) state.systems = structuredClone(FIRST.systems);
  dropped = results(ask, beside);
  of("study").addEventListener("click", saveStudy);
  of("add").addEventListener("click", () => { state.systems.push(structuredClone(state.systems.at(-1))); all(); });
  of("eight").addEventListener("click", eight);
  addEventListener("hashchange", () => { state = read() ?? state; allRead(); });
  allRead();
}

begin();
