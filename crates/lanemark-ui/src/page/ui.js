// The page's state, which is stored in its address, and the figures of its systems.

import { curves } from "./curves.js";
import { details } from "./details.js";
import { bar, busiest, hops, latency, longest, make, micro, number, range } from "./draw.js";
import { rate_cell, rate_end, rated, save, table, tail } from "./draw.js";
import { MACHINE, field, isHere, line, parts, picker, select } from "./pick.js";
import { results } from "./results.js";
import { ask, ask_all, prepare, steps, words } from "./laboratory.js";

const SYSTEMS_MAX = 4;
const WAIT_MS = 40;
const STEP_MS = 1000;
const BLOCKS = ["512 B", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB", "1 MiB", "2 MiB", "4 MiB"];
const SPANS = ["64 MiB", "1 GiB", "8 GiB", "32 GiB", "256 GiB"];
const DURATIONS = ["1 s", "10 s", "60 s", "300 s", "1800 s"];
const PATTERNS = ["random", "sequential"];
const DEPTHS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
const START = JSON.parse(document.getElementById("start").textContent);
const PRESETS = START.presets.map(({ name, test }) => [name, test]);
const FIRST = {
  test: { block: "1 MiB", pattern: "sequential", read_percent: 100, queue_depth: 8, threads: 1, span: "1 GiB", duration: "1 s", flush: false },
  systems: ["samsung-980-pro-1tb@amd-b550:m2", "samsung-980-pro-1tb@amd-b550:m2-2"].map((system, colour) => ({ system, set: [], faults: [], colour })),
};

let library = null;
let dropped = null;
let state = structuredClone(FIRST);
let kept = { control: null, at: 0, hash: "" };
let answers = 0, answer_timer = 0, resize = 0;
/** The results of CrystalDiskMark's tests, one for each system. */
let eights = [], eight_abort = new AbortController();
/** The page's data about each system; the entries move with their systems. */
let slots = [];
const of = (id) => document.getElementById(id);
const sent = ({ system, set, faults }) => ({ system, set, faults });

/** Returns the state in the address. Without an address it is the first comparison; a broken address is reported. */
function read() {
  of("broken").textContent = "";
  const text = location.hash.slice(1);
  if (!text) return structuredClone(FIRST);
  try {
    const asked = text.match(/^question=(.*)$/s)?.[1];
    const question = START.questions.find(({ id }) => id === asked);
    if (asked !== undefined && !question) throw new Error(`there is no question \`${asked.slice(0, 40)}\``);
    const systems = question?.systems.map((system, colour) => ({ ...system, colour }));
    if (question) return { test: { ...question.test }, systems };
    const got = parse(text);
    if (!Array.isArray(got.systems) || !got.systems.length || got.systems.length > SYSTEMS_MAX) throw new Error(`it must name 1 to ${SYSTEMS_MAX} systems`);
    const texts = (values) => (Array.isArray(values) ? values : []).filter((value) => typeof value === "string" || Array.isArray(value));
    const named = got.systems.map((one) => ({ system: String(one?.system), set: texts(one?.set), faults: texts(one?.faults), colour: one?.colour }));
    const taken = new Set();
    for (const one of named) {
      if (!Number.isInteger(one.colour) || one.colour < 0 || one.colour >= SYSTEMS_MAX || taken.has(one.colour)) one.colour = free(taken);
      taken.add(one.colour);
    }
    return { test: { ...FIRST.test, ...got.test }, systems: named };
  } catch (error) {
    of("broken").textContent = `The address of this page is broken: ${error.message}. The page shows its first comparison instead.`;
    return structuredClone(FIRST);
  }
}

/** Returns the systems and the test in the text of an address, without a check of the systems. */
function parse(text) {
  let got = null;
  try { got = JSON.parse(decodeURIComponent(text)); } catch { /* The next line reports the text. */ }
  if (typeof got !== "object" || !got) throw new Error("it contains no systems");
  const is_valid = ([key, value]) => typeof value === typeof FIRST.test[key]
    && (key !== "pattern" || PATTERNS.includes(value));
  const wrong = Object.entries(got.test ?? {}).find((entry) => !is_valid(entry));
  if (wrong) throw new Error(`a test cannot have ${wrong[0].slice(0, 40)} = ${JSON.stringify(wrong[1]).slice(0, 40)}`);
  return got;
}

/** Returns the first colour that no system uses. A system keeps its colour until it is removed. */
function free(taken) {
  return [...Array(SYSTEMS_MAX).keys()].find((colour) => !taken.has(colour)) ?? 0;
}

/**
 * Stores the state in the address. Each change is a step of the browser's history, but the changes of one control within
 * a second are one step.
 */
function keep(control) {
  const hash = `#${encodeURIComponent(JSON.stringify(state))}`, now = performance.now();
  if (hash === location.hash || (control === undefined && location.hash.startsWith("#question="))) return;
  const is_same_step = control === undefined || (control === kept.control && now - kept.at < STEP_MS);
  kept = { control, at: now, hash };
  // A broken address is reported until the next change.
  if (control !== undefined) of("broken").textContent = "";
  if (is_same_step) location.replace(hash);
  else location.hash = hash;
}

/** Returns names that contain the parts in which the systems differ. */
function names() {
  const all = state.systems.map(({ system }) => parts(library, system));
  const distinct = (of) => new Set(all.map(of)).size === all.length;
  const one = (key) => new Set(all.map((each) => each[key])).size === 1;
  const is_set = (place) => {
    const { set, faults } = state.systems[place];
    // A single change is named by the last words of its parameter, such as "PCIe generation 3".
    const named = ([name, value]) => `${name.split(".").slice(-2).join(" ").replace("pcie", "PCIe")} ${value}`;
    const values = set.length === 1 ? named(set[0]) : set.length ? "changed" : "";
    const changes = [values, faults.length ? "with faults" : ""].filter(Boolean);
    return changes.length ? ` (${changes.join(", ")})` : "";
  };
  const name = all.length === 1 ? ({ drive, platform, port }) => `${drive} in ${platform}, ${port}`
    : distinct(({ drive }) => drive) ? ({ drive }) => drive
    : one("drive") && one("port") && distinct(({ platform }) => platform) ? ({ platform }) => platform
    : one("drive") && one("platform") ? ({ port }) => `port ${port}`
    : one("drive") ? ({ platform, port }) => `${platform}, ${port}`
    : ({ drive, platform, port }) => `${drive} in ${one("platform") ? "" : `${platform}, `}${port}`;
  const made = all.map((each, place) => `${name(each)}${is_set(place)}`);
  return made.map((text, place) => (made.indexOf(text) === place ? text : `${text} (${made.slice(0, place + 1).filter((other) => other === text).length})`));
}

const fail = (view, text) => { view.error.textContent = text; };

/** Simulates a system shortly after the last change. */
function simulate(view) {
  clearTimeout(view.timer);
  Object.assign(view, { stale: true, run: null });
  view.nodes.forEach((node) => node.classList.add("stale"));
  of("answer").classList.add("stale");
  of("caution").classList.add("stale");
  view.timer = setTimeout(() => simulateNow(view), WAIT_MS);
}

async function simulateNow(view) {
  view.abort?.abort();
  const abort = view.abort = new AbortController();
  const slot = slots.indexOf(view);
  try {
    const began = performance.now(), question = { system: sent(state.systems[slot]), test: state.test };
    for await (const reply of steps(view.number, "simulate", question, abort.signal)) {
      if (abort.signal.aborted) return;
      if (reply.stage === "figures") show(view, reply.figures, performance.now() - began);
      if (reply.stage === "done") view.run = reply.result;
    }
    settle(view);
    await curve(view, abort);
  } catch (error) {
    if (view.abort !== abort || error.name === "AbortError") return;
    fail(view, words(error));
    Object.assign(view, { figures: null, stages: [], points: [], stale: false, is_settled: true });
    all_figures();
  }
}

/** The curve of a system does not depend on the queue depth of the test. */
const curve_key = (view) =>
  JSON.stringify([sent(state.systems[slots.indexOf(view)]), { ...state.test, queue_depth: 1 }]);

/** Requests the curve of a system over load. */
async function curve(view, abort) {
  const system = sent(state.systems[slots.indexOf(view)]), key = curve_key(view);
  if (view.key === key) { draw_curves(); return; }
  const points = [];
  for await (const reply of steps(view.number, "curve", { system, test: state.test }, abort.signal)) {
    if (abort.signal.aborted) return;
    if (reply.stage !== "point") continue;
    points.push(reply.point);
    if (points.length > 1) { Object.assign(view, { points: [...points], key: null, stale: false }); draw_curves(); }
  }
  view.key = key;
  sentence();
}

/** The stage of figures: a first answer, repeats, or an interval. */
const stage_of = (figures) => (figures.interval ? 2 : figures.repeats ? 1 : 0);

function show(view, figures, elapsed_ms) {
  if (view.stale) view.stages = [];
  view.stages[stage_of(figures)] = figures;
  Object.assign(view, { figures, elapsed_ms, stale: false, is_settled: false });
  fail(view, "");
  view.nodes.forEach((node) => node.classList.remove("stale"));
  all_figures();
}

/** Marks the figures of a system as final, and announces them to a screen reader. */
function settle(view) {
  view.is_settled = true;
  all_figures();
  const figures = view.figures, name = names()[slots.indexOf(view)];
  if (figures) of("said").textContent = `${name}: ${number(figures.megabytes_per_second)} megabytes a second, ${number(figures.iops)} I O P S, mean latency ${latency(figures.latency_mean_us)}.`;
}

/** Draws all figures on their common scales. */
function all_figures() {
  const known = slots.map((view) => view.figures).filter(Boolean);
  const [key, unit] = rated(known[0]?.is_random ?? state.test.pattern === "random");
  const end = (figures) => figures[key] * Math.max(1, figures.interval?.high_ratio ?? 1);
  const most = Math.max(...known.map(end), 1e-9), slowest = longest(known);
  const notes = [known[0]?.test, known.length > 1 ? `bars: ${unit} on one scale` : "",
    known.some(({ repeats }) => !repeats) ? "first figures, from a few requests" : "",
    known.some(has_converged) ? "ended when the rate had converged" : ""];
  of("test-name").textContent = notes.filter(Boolean).join(" · ");
  slots.forEach((view, slot) => {
    const { colour } = state.systems[slot], figures = view.figures;
    view.result.replaceChildren(...(figures ? result(view, figures, key, most, colour) : []));
    view.hops.replaceChildren(...(figures ? below(view, figures, slowest) : []));
    view.heading.lastChild.textContent = names()[slot];
    view.about.textContent = own_about(state.systems[slot]);
  });
  draw_curves();
  clearTimeout(answer_timer);
  answer_timer = setTimeout(sentence, 30);
}

/** Returns whether a simulation ended before the duration of the test, because its rate had converged. */
function has_converged({ repeats, faults, simulated_seconds }) {
  const seconds = Number(state.test.duration.match(/^([\d.]+) s$/)?.[1]);
  return repeats === 1 && !faults.length && simulated_seconds < 0.98 * seconds;
}

/** Returns the figures of a system for its row: a bar on the scale of all systems, and numbers. */
function result(view, figures, key, most, colour) {
  const of_most = (value) => value / most;
  const ends = figures.interval && [figures.interval.low_ratio, figures.interval.high_ratio].map((ratio) => of_most(figures[key] * ratio));
  const at = (percentile) => latency(figures.latency_us.find(([stated]) => stated === percentile)?.[1]);
  const cell = (value, unit, below, name = "") => make("div", { class: `figure ${name}` }, make("b", {}, value), make("span", {}, unit), below ? make("span", { class: "soft interval" }, below) : null);
  const shown = [["megabytes_per_second", "MB/s"], ["iops", "IOPS"]].sort(([one]) => (one === key ? -1 : 1));
  return [
    make("div", { class: "scale" }, bar([[of_most(figures[key]), `s${colour}`]], ends), make("span", { class: "soft interval" }, range(figures, key) || "\u00a0")),
    ...shown.map(([key_of_figure, unit], place) => cell(number(figures[key_of_figure]), unit, "", place ? "" : "main")),
    cell(latency(figures.requests ? figures.latency_mean_us : null), "mean",
      figures.flush_mean_us ? `flush ${latency(figures.flush_mean_us).replace(" ", "\u00a0")}` : ""),
    cell(at(99), "99%", tail(figures, 99)),
    make("div", { class: "figure ratio" }, ...ratio(view)),
  ];
}

/** Returns the ratio of a system's rate to the first system's, or that no difference is shown. */
function ratio(view) {
  if (!view.ratio) return [];
  const { is_shown, text, interval } = view.ratio;
  const size = is_shown ? [make("b", {}, `${text} ×`), make("span", {}, "the first")] : [make("span", {}, text)];
  return interval ? [...size, make("span", { class: "soft interval", title: "80% interval of the ratio" }, interval)] : size;
}

/** Returns the last stage that a system has reached; a system whose figures are final has reached all. */
function reached(view) {
  if (view.stale || !view.stages.length) return -1;
  return view.is_settled ? 2 : view.stages.length - 1;
}

/** Returns the figures of a system at a stage, or at the last stage that it has. */
const at_stage = (view, stage) => view.stages.slice(0, stage + 1).filter(Boolean).at(-1) ?? view.figures;

/** Returns the path, the times, the faults and the warnings of a system. */
function below(view, figures, slowest) {
  const converged = has_converged(figures) ? `, after which the rate had converged (the test lasts ${state.test.duration})` : "";
  const flush = figures.flush_mean_us ? `, and a flush ${latency(figures.flush_mean_us)}` : "";
  const time = figures.requests ? `A request takes ${latency(figures.latency_mean_us)}${flush}` : "No request was completed";
  const how = figures.repeats ? `${figures.repeats} repeat${figures.repeats > 1 ? "s" : ""}` : "a first answer";
  // The name of an assumed bottleneck contains "assumed"; its value and advice are the first warning.
  const assumed = figures.limit?.is_assumed ? 1 : 0;
  return [
    ...figures.faults.map((fault) => make("div", { class: fault.is_severe ? "fault severe" : "fault" }, make("b", {}, micro(fault.title)), make("ul", {}, ...fault.sentences.map((text) => make("li", {}, micro(text)))))),
    hops(figures, slowest),
    make("p", { class: "total" }, make("span", {}, time), make("span", { class: "soft" }, busiest(figures))),
    ...(figures.phases ? [make("p", { class: "soft" }, figures.phases)] : []),
    ...figures.warnings.slice(assumed).map((text) => make("p", { class: "error" }, micro(text))),
    make("details", {}, make("summary", {}, "How this was computed"),
      ...figures.warnings.slice(0, assumed).map((text) => make("p", { class: "error" }, micro(text))),
      make("p", { class: "soft" }, figures.bottleneck),
      make("ul", { class: "soft formulas" }, ...figures.hops.filter(({ law }) => law)
        .map(({ name, law }) => make("li", {}, make("b", {}, name), `: ${micro(law)}`))),
      make("p", { class: "soft" }, "“Drive and link values” below shows the values in these formulas, with their sources."),
      make("p", { class: "soft" }, `${how}: ${number(figures.requests)} requests in ${latency(figures.simulated_seconds * 1e6)}`
        + ` of simulated time${converged}, ${Math.round(view.elapsed_ms)} ms here.`)),
  ];
}

/** Requests the answer as a sentence. */
async function sentence() {
  const sentence_number = ++answers, all = names();
  // All figures are of the same stage: the last that all systems have reached.
  const able = slots.filter(({ figures, stale }) => figures || stale);
  const stage = Math.min(...able.map(reached));
  if (able.length && stage < 0) return;
  const compared = able.filter((view) => view.stages.length);
  const systems = compared.map((view) => ({ name: all[slots.indexOf(view)], figures: at_stage(view, stage) }));
  try {
    const points = slots.length === 1 && slots[0].key === curve_key(slots[0]) ? slots[0].points : [];
    const reply = await ask("answer", { systems, points });
    if (sentence_number !== answers) return;
    slots.forEach((view) => { view.ratio = null; });
    compared.forEach((view, place) => { view.ratio = reply?.ratios[place]; });
    compared.forEach((view) => { const cell = view.result.querySelector(".ratio"); cell?.replaceChildren(...ratio(view)); });
    of("answer").textContent = reply?.sentence ?? "No system has figures.";
    of("caution").textContent = micro(reply?.caution ?? "");
    ["answer", "caution"].forEach((id) => of(id).classList.toggle("stale", slots.some((one) => one.stale)));
    // The first stage is a few requests long.
    of("answer").classList.toggle("provisional", stage < 1);
  } catch (error) { if (sentence_number === answers && words(error)) of("answer").textContent = words(error); }
}

function draw_curves() {
  const all = names();
  const systems = slots.map((view, slot) => ({ name: all[slot], colour: state.systems[slot].colour, points: view.points, stale: view.stale }));
  curves(of("curves"), systems, state.test.pattern === "random", state.test.queue_depth);
}

/** Adds the machine in the file to the platforms. */
async function addMachine(machine) {
  const { platform, left_out } = await ask_all("machine", machine);
  library.platforms.unshift({ ...platform, name: "This machine", leftOut: left_out });
}

/** Creates the row and the column of a system: its box, and space for its figures. */
function system(view, slot) {
  const asked = state.systems[slot];
  const about = view.about = make("p", { class: "soft about" });
  const said = make("p", { class: "advice", role: "status" });
  const pick = picker({ label: `System ${slot + 1}`, name: line(library, asked.system), present: () => asked.system, said: (text) => { said.textContent = text; },
    choose: (one) => {
      Object.assign(asked, { system: one.system, set: [] });
      forget();
      changed(view);
    } });
  const remove = make("button", { type: "button", class: "plain", disabled: state.systems.length < 2, "aria-label": `Remove system ${slot + 1}`, title: "Remove", onclick: () => {
    view.abort?.abort();
    clearTimeout(view.timer);
    state.systems.splice(slots.indexOf(view), 1);
    slots.splice(slots.indexOf(view), 1);
    forget();
    all(true);
    of("add").focus();
  } }, "×");
  view.result = make("div", { class: "result" });
  view.error = make("p", { class: "error", role: "alert" });
  view.hops = make("div", { class: "below" });
  view.heading = make("h3", { id: `part-${slot}` }, make("i", { class: `dot s${asked.colour}` }), make("span", {}, names()[slot]));
  view.details = details({ kinds: START.faults, system: () => asked,
    question: () => ({ system: sent(asked), test: state.test }), fail: (text) => fail(view, text),
    changed: () => { forget(); changed(view); } });
  view.nodes = [view.result, view.hops];
  const row = make("article", { class: "system", "aria-label": `System ${slot + 1}` },
    make("div", { class: "name" }, make("i", { class: `dot s${asked.colour}` }), pick.box, remove, about, said), view.result, view.error);
  const column = make("section", { class: "panel", "aria-labelledby": view.heading.id }, view.heading, view.hops, view.details.box);
  return [row, column];
}

function own_about({ system, set }) {
  const changes = set.map(([parameter, value]) => `; ${parameter} = ${value}`).join("");
  const left = isHere(system) ? library.platforms.find((one) => one.id === MACHINE)?.leftOut ?? [] : [];
  return parts(library, system).about + changes + (left.length ? `. Without a port: ${left.join("; ")}` : "");
}

function changed(view, control = `system ${view.number}`) {
  keep(control);
  all_figures();
  simulate(view);
}

/** Offers the systems and the test as a file to save. */
async function saveStudy() {
  of("saved").textContent = "";
  try {
    const { text } = await ask("study", { systems: state.systems.map(sent), test: state.test });
    save("lanemark-study.toml", "application/toml", text);
    const here = state.systems.some(({ system }) => isHere(system)) ? " First run in the same folder: lanemark inspect --as-platform this-machine.toml" : "";
    of("saved").textContent = `Saved. Run it with: lanemark study lanemark-study.toml${here}`;
  } catch (error) { of("saved").textContent = words(error); }
}

/** Offers the report of everything on the page as a file to save; the command writes the same report. */
async function saveReport() {
  if (slots.some((view) => view.stale || !view.is_settled)) {
    of("saved").textContent = "The simulations have not ended; try again when they have.";
    return;
  }
  of("saved").textContent = "";
  const { runs: same, files } = dropped.reported();
  const runs = [...slots.map((view) => view.run).filter(Boolean), ...eights.filter(Boolean), ...same];
  const bytes = runs.map((text) => new TextEncoder().encode(text));
  const head = { runs: bytes.map(({ length }) => length), files: files.map(({ content, tests }) => ({ length: content.size, tests })) };
  try {
    const body = await new Blob([JSON.stringify(head), "\n", ...bytes, ...files.map(({ content }) => content)]).arrayBuffer();
    const { html } = await ask("report", body, undefined, "files");
    save("lanemark-report.html", "text/html", html);
    of("saved").textContent = "Saved.";
  } catch (error) { of("saved").textContent = words(error); }
}

/** Creates the fields of the test, which apply to all systems, and its presets. */
function test() {
  const asked = state.test;
  const turn = (key, value) => { asked[key] = value; turned(key); };
  const slider = (label, values, key, word = String) => {
    const shown = make("output", {}, word(asked[key]));
    const at = Math.max(0, values.indexOf(asked[key]));
    const input = make("input", { type: "range", min: 0, max: values.length - 1, value: at, "aria-valuetext": word(asked[key]), id: `test-${key}`,
      oninput: (event) => { const value = values[event.target.value]; shown.textContent = word(value); event.target.setAttribute("aria-valuetext", word(value)); turn(key, value); } });
    return field(label, input, shown);
  };
  const shares = Array.from({ length: 21 }, (_, index) => index * 5);
  const options = (values, own) => (values.includes(own) ? values : [own, ...values]).map((text) => [text, text]);
  const read = (share) => (share === 0 ? "0%, writes only" : `${share}%`);
  of("test").replaceChildren(
    field("Pattern", select(PATTERNS.map((text) => [text, text]), asked.pattern, (value) => turn("pattern", value))),
    slider("Block size", BLOCKS, "block"), slider("Queue depth", DEPTHS, "queue_depth"), slider("Reads", shares, "read_percent", read),
    slider("Threads", [1, 2, 4, 8, 16], "threads"),
    field("Span", select(options(SPANS, asked.span), asked.span, (value) => turn("span", value))),
    field("Duration", select(options(DURATIONS, asked.duration), asked.duration, (value) => turn("duration", value))),
    field("Flush after each write", select([["no", "no"], ["yes", "yes"]], asked.flush ? "yes" : "no", (value) => turn("flush", value === "yes"))));
  presets();
}

function turned(control) {
  keep(control);
  presets();
  slots.forEach(simulate);
}

/** Creates the buttons of the presets; the pressed button is the current test. */
function presets() {
  const is_now = (preset) => Object.entries(preset).every(([key, value]) => state.test[key] === value);
  const title = (preset) => `${preset.block} ${preset.pattern}, ${preset.read_percent}% reads, depth ${preset.queue_depth}${preset.threads > 1 ? `, ${preset.threads} threads` : ""}`;
  if (of("presets").childElementCount) {
    PRESETS.forEach(([, preset], place) => of("presets").children[place + 1].setAttribute("aria-pressed", String(is_now(preset))));
    return;
  }
  of("presets").replaceChildren(make("button", { type: "button", id: "eight", title: "The eight tests of CrystalDiskMark 8 on all systems", onclick: eight }, "CrystalDiskMark"),
    ...PRESETS.map(([name, preset]) => make("button", { type: "button", title: title(preset), "aria-pressed": String(is_now(preset)),
      onclick: () => { Object.assign(state.test, preset); test(); turned(name); } }, name)));
}

/** Runs CrystalDiskMark's eight tests on all systems, one system at a time, so that their run times are independent. */
async function eight() {
  const button = of("eight");
  const { signal } = eight_abort = new AbortController();
  button.disabled = true;
  eights = [];
  of("eight-time").textContent = "";
  of("eight-region").hidden = false;
  of("eight-region").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "nearest" });
  let longest_ms = 0;
  const systems = [...slots], all = systems.map(() => []), columns = names(), colours = state.systems.map(({ colour }) => colour);
  for (const [slot, view] of systems.entries()) {
    try {
      const began = performance.now(), question = { system: sent(state.systems[slot]), workload: "crystaldiskmark-8" };
      for await (const reply of steps("files", "workload", question, signal)) {
        if (reply.stage === "figures") all[slot][reply.index] = reply.figures;
        if (reply.stage === "done") eights[slot] = reply.result;
        longest_ms = Math.max(longest_ms, performance.now() - began);
        draw_eight(all, columns, colours);
      }
    } catch (error) {
      if (signal.aborted) return;
      fail(view, words(error));
    }
  }
  if (signal.aborted) return;
  of("eight-time").textContent = `MB/s; bars on one scale per test. ${Math.round(longest_ms)} ms per system.`;
  button.disabled = false;
}

/** Cancels and discards the simulations of several tests, because the systems have changed. */
function forget() {
  dropped.forget();
  eight_abort.abort();
  eights = [];
  of("eight-region").hidden = true;
  of("eight").disabled = false;
}

function draw_eight(all, columns, colours) {
  const tests = all.find((tests_of_system) => tests_of_system.length) ?? [];
  const rows = tests.map(({ test: name }, index) => {
    const most = Math.max(...all.map((tests_of_system) => rate_end(tests_of_system[index])), 1e-9);
    return [name, ...all.map((tests_of_system, slot) => rate_cell(tests_of_system[index], most, `s${colours[slot]}`))];
  });
  table(of("eight-table"), ["MB/s", ...columns], rows, "CrystalDiskMark 8");
}

/** Draws all systems again. If `is_kept` is true, known figures remain. */
function all(is_kept = false) {
  if (!is_kept) {
    slots.forEach((view) => { view.abort?.abort(); clearTimeout(view.timer); });
    slots = state.systems.map((_, number) => blank(number));
  }
  keep(is_kept ? `systems ${slots.length}` : undefined);
  test();
  const made = slots.map(system);
  of("systems").replaceChildren(...made.map(([row]) => row));
  of("parts").replaceChildren(...made.map(([, column]) => column));
  of("parts").className = `parts of-${slots.length}`;
  of("add").disabled = state.systems.length >= SYSTEMS_MAX;
  all_figures();
  slots.filter((view) => !view.figures).forEach(simulate);
}

/** Returns the data of a system without figures. A worker simulates each number. */
function blank(number) {
  return { number, figures: null, run: null, stages: [], ratio: null, is_settled: false, points: [], key: null, stale: true, abort: null, timer: 0, nodes: [], elapsed_ms: 0 };
}

function add() {
  const taken = new Set(state.systems.map(({ colour }) => colour)), used = new Set(slots.map((view) => view.number));
  state.systems.push({ ...structuredClone(state.systems.at(-1)), colour: free(taken) });
  slots.push(blank(free(used)));
  forget();
  all(true);
  of("systems").lastElementChild.querySelector("input").focus();
}

/** Shows a library drive as a system: in the port that fits best, as an additional system if there is room. */
async function open_drive(drive) {
  try {
    const reply = await ask("find", { text: drive, present: state.systems[0].system });
    const found = reply.found.find(({ system }) => system.startsWith(`${drive}@`));
    if (!found) throw new Error(reply.advice ?? `no port of the library fits ${drive}`);
    if (state.systems.length < SYSTEMS_MAX) add();
    forget();
    Object.assign(state.systems.at(-1), { system: found.system, set: [], faults: [] });
    const view = slots.at(-1);
    Object.assign(view, blank(view.number));
    all(true);
    of("systems").lastElementChild.querySelector("input").focus();
  } catch (error) { of("results-error").textContent = words(error); }
}

async function begin() {
  const inside = JSON.parse(of("inside").textContent);
  try {
    library = START.library;
    if (inside.machine) await addMachine(inside.machine);
  } catch (error) {
    of("systems").replaceChildren(make("p", { class: "error", role: "alert" }, words(error) || error.message));
    return;
  }
  const listed = () => { const all = names(); return state.systems.map((one, slot) => ({ system: sent(one), name: all[slot], colour: one.colour })); };
  const name = (drive) => library.drives.find(({ id }) => id === drive)?.name ?? drive;
  dropped = results(listed, { name, line: (text) => line(library, text), open: open_drive });
  of("questions").replaceChildren(...START.questions.map(({ id, title }) => make("a", { href: `#question=${id}` }, title)));
  of("study").addEventListener("click", saveStudy);
  of("report").addEventListener("click", saveReport);
  of("add").addEventListener("click", add);
  // The page's own changes of the address are not read again.
  addEventListener("hashchange", () => {
    if (location.hash === kept.hash) return;
    kept = { control: null, at: 0, hash: location.hash };
    state = read();
    forget();
    all();
  });
  addEventListener("resize", () => { clearTimeout(resize); resize = setTimeout(draw_curves, 100); });
  state = read();
  prepare([...state.systems.keys(), "quick"]);
  all();
  if (inside.documents.length) await dropped.take(inside.documents.map(({ name, text }) => new File([text], name)));
}

begin();
