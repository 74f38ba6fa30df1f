// Result files that were dropped on the page. Their tests are compared only with simulations of the same test.

import { bar, coded, latency, make, micro, number, picture, rated, span } from "./draw.js";
import { ask, steps, words } from "./laboratory.js";

const FILES_MAX = 8;
const BYTES_MAX = 16 * 2 ** 20;
const SHOWN_MAX = 12;
const SHOWN_FIRST = 3;

let numbers = 0;

/**
 * Accepts files that are dropped or chosen with a button. `systems` returns the page's systems with names and colours, and
 * `drives` contains `name`, which returns the name of a library drive, and `open`, which shows the drive as a system.
 */
export function results(systems, drives) {
  const files = [];
  const of = (id) => document.getElementById(id);
  const box = of("results"), problem = of("results-error"), input = of("results-file"), target = of("results-drop");
  // Simulations of the tests; the key is the test, and the value contains the figures of each system.
  let simulated = new Map(), asked = new Map(), runs = [], run = 0, abort = new AbortController();
  // The best other port of the first system, with its figures by test.
  let moved = null;
  const enable = (is_able) => ["same", "ports"].forEach((id) => { of(id).disabled = !is_able; });

  async function take(chosen) {
    problem.textContent = "";
    for (const file of chosen) {
      try {
        if (files.length >= FILES_MAX) throw new Error(`more than ${FILES_MAX} files; remove one`);
        if (file.size > BYTES_MAX) throw new Error(`the file has ${file.size.toLocaleString("en-US")} bytes; the maximum is ${BYTES_MAX.toLocaleString("en-US")}`);
        add(file, await ask("result", await file.arrayBuffer(), undefined, "files"));
      } catch (error) {
        const text = words(error).replace(/^the file: /, "");
        if (text) problem.textContent = [problem.textContent, `${file.name}: ${text}`].filter(Boolean).join("\n");
      }
    }
  }

  function add(content, reply) {
    const { name } = content, room = SHOWN_MAX - shown().length;
    // The laboratory does not know the name of the file, and names a simulated system by its parts of the library.
    const target = ({ target, how }) => (target === "the file" ? name : how === "simulated" ? drives.line(target) : target);
    const file = { name, content, tests: reply.tests.map((test, place) => ({ ...test, target: target(test), file: name, isShown: place < Math.min(SHOWN_FIRST, room) })) };
    files.push(file);
    const file_number = ++numbers;
    const has_targets = new Set(file.tests.map((test) => test.target)).size > 1;
    const check = (test, place) => {
      const id = `result-${file_number}-${place}`;
      const made = make("input", { type: "checkbox", id, checked: test.isShown, onchange: (event) => {
        if (event.target.checked && shown().length >= SHOWN_MAX) {
          event.target.checked = false;
          problem.textContent = `Up to ${SHOWN_MAX} tests can be shown.`;
          return;
        }
        test.isShown = event.target.checked;
        draw();
      } });
      return make("div", { class: "check" }, made, make("label", { for: id }, has_targets ? `${test.test} on ${test.target}` : test.test));
    };
    const remove = make("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => {
      files.splice(files.indexOf(file), 1);
      made.remove();
      input.focus();
      draw();
    } }, "Remove");
    const rest = reply.left_out ? `, and ${reply.left_out.toLocaleString("en-US")} more, too many for a page` : "";
    const tests = new Set(reply.tests.map(({ number }) => number)).size;
    const made = make("fieldset", { class: "file" },
      make("legend", {}, `${name}: ${reply.title.replace(/^the file, /, "")}`),
      ...reply.verdicts.map((text) => make("p", { class: "verdict" }, text)),
      reply.answer ? make("p", {}, micro(reply.answer.replace(/^the file /, `${name} `))) : null,
      ...reply.warnings.map((text) => make("p", { class: "error" }, ...coded(text.replace(/^the file: /, "")))),
      ...lines(reply).map((text) => make("p", { class: text.startsWith("  attention") ? "error" : "soft" }, text)),
      ...(reply.paths ? paths(reply.paths) : []),
      make("div", { class: "checks" }, ...file.tests.map(check)),
      make("div", { class: "row" }, tests ? make("span", { class: "soft" }, `${tests} test${tests > 1 ? "s" : ""}${rest}`) : null,
        ...reply.drives.map((drive) => make("button", { type: "button", onclick: () => drives.open(drive) }, `Show ${drives.name(drive)} as a system`)), remove));
    box.append(made);
    draw();
  }

  /** Returns the lines about drives, without the words of the title and the buttons. */
  const lines = ({ title, lines, drives }) => lines.filter((text) => {
    const [, key, value] = text.match(/^ *(attention|library): (.*)$/) ?? [];
    return !(key === "attention" && title.includes(value)) && !(key === "library" && drives.includes(value));
  });
  /** Returns the paths of a text of lspci as the command prints them, and as a drawing. */
  const paths = ({ text, drawing }) => [picture(drawing, "The storage paths as a drawing; the text below names the same parts"),
    make("pre", { tabindex: "0" }, text)];
  const shown = () => files.flatMap((file) => file.tests).filter((test) => test.isShown);
  /** Tests are equal only if all of their settings are equal. A test with unknown settings equals no other test. */
  const key = (test) => (test.definition ? JSON.stringify({ ...test.definition, name: "" }) : `${test.file}|${test.target}|${test.test}`);

  /** Disables the buttons, simulates the shown tests as `work` says, and enables the buttons. */
  async function simulating(work) {
    abort = new AbortController();
    const current_run = ++run, said = of("same-said");
    asked = new Map(shown().filter((test) => test.definition).map((test) => [key(test), test.definition]));
    enable(false);
    said.textContent = "Simulating …";
    of("ports-said").textContent = "";
    moved = null;
    try {
      await work();
      said.textContent = "";
    } catch (error) { if (current_run === run) said.textContent = words(error); } finally { if (current_run === run) { enable(true); draw(); } }
  }

  /** Simulates the tests on a system, and returns the result. `take` receives the figures of each test. */
  async function simulate(system, take) {
    const keys = [...asked.keys()];
    let result = null;
    for await (const reply of steps("files", "workload", { system, tests: [...asked.values()] }, abort.signal)) {
      if (reply.stage === "figures") take(keys[reply.index], reply.figures);
      if (reply.stage === "done") result = reply.result;
    }
    return result;
  }

  /** Simulates the tests on all systems of the page. */
  async function same() {
    runs = [];
    simulated = new Map([...asked.keys()].map((one) => [one, []]));
    for (const [slot, { system }] of systems().entries()) {
      runs[slot] = await simulate(system, (key, figures) => { simulated.get(key)[slot] = figures; draw(); });
    }
  }

  /** Simulates the tests with the drive of the first system in the other ports of its computer, and shows the best port. */
  async function ports() {
    const [{ system }] = systems(), port = (name) => `port ${name.split(":").at(-1)}`;
    const figures = async (system) => {
      const all = new Map();
      await simulate(system, (key, one) => all.set(key, one));
      return all;
    };
    const { found } = await ask("find", { text: "", present: system.system }, abort.signal);
    const others = found.filter((one) => one.system !== system.system);
    const here = await figures(system), gain = (there, key) => there.get(key).iops / here.get(key).iops;
    let best = null;
    for (const { name, system: other } of others) {
      const there = await figures({ ...system, system: other });
      const sum = [...there.keys()].reduce((sum, key) => sum + Math.log(gain(there, key)), 0);
      if (!best || sum > best.sum) best = { name, other, there, sum };
    }
    const [first] = best ? [...best.there.keys()].sort((one, two) => gain(best.there, two) - gain(best.there, one)) : [];
    const pair = best ? [[system.system, here], [best.other, best.there]] : [];
    const reply = best && await ask("answer", { systems: pair.map(([name, of]) => ({ name: port(name), figures: of.get(first) })) }, abort.signal);
    const is_faster = best && best.sum > 0 && reply?.ratios[1]?.is_shown;
    moved = is_faster ? best : null;
    of("ports-said").textContent = !others.length ? "No other port of this computer accepts the drive."
      : is_faster ? `${asked.get(first).name}: ${reply.sentence}` : "No other port of this computer is faster in these tests.";
  }

  /** Discards the simulations, because the systems have changed. */
  function forget() {
    run += 1;
    abort.abort();
    enable(true);
    ["same-said", "ports-said"].forEach((id) => { of(id).textContent = ""; });
    [runs, moved] = [[], null];
    if (simulated.size) { simulated = new Map(); draw(); }
  }

  const ends = ({ low, high, of: share }, word) => `${share === "all" ? "repeats" : `${share} in`} ${span(low, high, word)}`;
  /** Returns a figure with its interval. A faster system has a shorter latency. */
  function predicted({ interval, ...figures }, key) {
    const value = figures[key], ratios = interval && [interval.low_ratio, interval.high_ratio];
    const ends = ratios?.map((ratio) => (key === "latency_mean_us" ? value / ratio : value * ratio));
    return { value, interval: ends && { low: Math.min(...ends), high: Math.max(...ends), of: "80%" } };
  }
  const simulated_row = (name, how, colour, figures) => figures && { name, how, colour, latency_us: figures.latency_us, transactions_per_minute: null,
    megabytes_per_second: predicted(figures, "megabytes_per_second"), iops: predicted(figures, "iops"),
    latency_mean_us: predicted(figures, "latency_mean_us") };
  const figure = (one, word) => (one ? [word(one.value), one.interval ? make("span", { class: "soft below" }, ends(one.interval, word)) : ""] : ["–"]);
  const at = (latency_us, percentile) => latency(latency_us.find(([stated]) => stated === percentile)?.[1]);

  function draw() {
    const tests = shown(), groups = new Map();
    tests.forEach((test) => groups.set(key(test), [...(groups.get(key(test)) ?? []), test]));
    of("files-region").hidden = !tests.length;
    of("same-row").hidden = !tests.length;
    const able = tests.some((test) => test.definition);
    ["same", "ports"].forEach((id) => { of(id).hidden = !able; });
    const reason = tests[0]?.not_simulated ?? "a part of a test cannot be simulated by itself";
    // The result of a simulation that runs is reported when it has ended.
    if (!of("same").disabled) {
      of("same-said").textContent = tests.length && !able ? `These tests cannot be simulated here: ${reason}.` : "";
    }
    const has_transactions = tests.some((test) => test.transactions_per_minute);
    const bodies = [...groups].map(([key, group]) => {
      const [rate] = rated(group[0].is_random);
      const rows = [
        ...group.map((test) => ({ name: test.target === test.file ? test.file : `${test.target} (${test.file})`, how: `${test.how}${test.is_cut_short ? ", cut short" : ""}`, colour: "neutral", ...test })),
        ...systems().map(({ name, colour }, slot) => simulated_row(name, "simulated here", `s${colour}`, simulated.get(key)?.[slot])),
        simulated_row(moved?.name, "simulated in another port", "neutral", moved?.there.get(key)),
      ].filter(Boolean);
      const most = Math.max(...rows.map((row) => row[rate]?.value ?? row.transactions_per_minute?.value ?? 0), 1e-9);
      const cells = (row) => make("tr", {}, make("th", { scope: "row" }, row.name), make("td", { class: "text" }, row.how),
        make("td", { class: "wide" }, bar([[(row[rate]?.value ?? row.transactions_per_minute?.value ?? 0) / most, row.colour]])),
        make("td", {}, ...figure(row.megabytes_per_second, number)), make("td", {}, ...figure(row.iops, number)),
        make("td", {}, ...figure(row.latency_mean_us, latency)), make("td", {}, at(row.latency_us, 50)), make("td", {}, at(row.latency_us, 99)),
        has_transactions ? make("td", {}, row.transactions_per_minute ? number(row.transactions_per_minute.value) : "–") : null);
      const note = group[0].not_simulated ? ` (not simulated here: ${group[0].not_simulated})` : "";
      return make("tbody", {}, make("tr", {}, make("th", { scope: "rowgroup", colspan: has_transactions ? 9 : 8, class: "group" }, group[0].test, make("span", { class: "soft" }, note))), ...rows.map(cells));
    });
    const head = ["Result", "Source", "Common scale", "MB/s", "IOPS", "Mean", "50%", "99%", ...(has_transactions ? ["Transactions a minute"] : [])];
    of("files-table").replaceChildren(make("caption", { class: "unseen" }, "Tests from result files, each next to simulations of the same test"),
      make("thead", {}, make("tr", {}, ...head.map((text, place) => make("th", { scope: "col", class: place < 3 ? "text" : null }, text)))), ...bodies);
  }

  of("same").addEventListener("click", () => simulating(same));
  of("ports").addEventListener("click", () => simulating(ports));
  input.addEventListener("change", async () => { await take([...input.files]); input.value = ""; });
  // Files can be dropped anywhere on the page. Otherwise the browser would replace the page with the file.
  const has = (event) => event.dataTransfer?.types.includes("Files");
  let inside = 0;
  const mark = () => target.classList.toggle("over", inside > 0);
  // An element that moves under the pointer causes a `dragenter` event. Unless that event is accepted too, a drop at
  // that moment is lost.
  addEventListener("dragenter", (event) => { if (has(event)) { event.preventDefault(); inside += 1; mark(); } });
  addEventListener("dragleave", (event) => { if (has(event)) { inside = Math.max(0, inside - 1); mark(); } });
  addEventListener("dragover", (event) => { if (has(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    inside = 0;
    mark();
    take([...event.dataTransfer.files]);
  });
  /** Returns the simulations of the tests, and the files with the numbers of their shown tests, for a report. */
  const reported = () => ({ runs: runs.filter(Boolean),
    files: files.map(({ content, tests }) => ({ content, tests: tests.filter((test) => test.isShown).map((test) => test.number) })).filter(({ tests }) => tests.length) });
  return { forget, take, reported };
}
