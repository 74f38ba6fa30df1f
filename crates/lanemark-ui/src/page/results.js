// Result files that were dropped on the page, with their tests. They are kept until the page is closed.

import { make } from "./draw.js";

const FILES_MAX = 8;
const BYTES_MAX = 16 * 2 ** 20;
const SHOWN_MAX = 12;
const SHOWN_FIRST = 3;

let numbers = 0;

/** Accepts files by drop and by a button. `ask` queries the server; `changed` is called when the selection changes. */
export function results(ask, changed) {
  const files = [];
  const box = document.getElementById("results"), problem = document.getElementById("results-error");
  const input = document.getElementById("results-file"), target = document.getElementById("results-drop");

  async function take(chosen) {
    problem.textContent = "";
    for (const file of chosen) {
      try {
        if (files.length >= FILES_MAX) throw new Error(`more than ${FILES_MAX} files; remove one`);
        if (file.size > BYTES_MAX) throw new Error(`has ${file.size.toLocaleString("en-US")} bytes; at most ${BYTES_MAX.toLocaleString("en-US")} are read here`);
        const told = await (await ask("/api/result", await file.arrayBuffer())).json();
        add(file.name, told);
      } catch (error) {
        const line = `${file.name}: ${error.message.replace(/^the file: /, "")}${error.hint ? `\nHint: ${error.hint}` : ""}`;
        problem.textContent = [problem.textContent, line].filter(Boolean).join("\n");
      }
    }
  }

  function add(name, told) {
    const room = SHOWN_MAX - shown().length;
    const file = { name, tests: told.tests.map((test, place) => ({ ...test, file: name, isShown: place < Math.min(SHOWN_FIRST, room) })) };
    files.push(file);
    const number = ++numbers;
    const check = (test, place) => {
      const id = `result-${number}-${place}`;
      const box = make("input", { type: "checkbox", id, checked: test.isShown, onchange: (event) => {
        if (event.target.checked && shown().length >= SHOWN_MAX) {
          event.target.checked = false;
          problem.textContent = `At most ${SHOWN_MAX} tests can be shown next to the systems.`;
          return;
        }
        test.isShown = event.target.checked;
        changed();
      } });
      return make("div", { class: "check" }, box, make("label", { for: id }, `${test.test} on ${test.target}`));
    };
    const remove = make("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => {
      files.splice(files.indexOf(file), 1);
      made.remove();
      input.focus();
      changed();
    } }, "Remove");
    const hows = [...new Set(told.tests.map((test) => test.how))].join(" and ");
    const rest = told.left_out ? `, and ${told.left_out.toLocaleString("en-US")} more, too many for a page` : "";
    const made = make("fieldset", { class: "file" },
      make("legend", {}, `${name}: ${told.title}, ${hows}`),
      make("div", { class: "checks" }, ...file.tests.map(check)),
      make("div", { class: "row" }, make("span", { class: "soft" }, `${told.tests.length} test${told.tests.length > 1 ? "s" : ""}${rest}`), remove));
    box.append(made);
    changed();
  }

  /** The tests that are shown next to the systems. */
  function shown() {
    return files.flatMap((file) => file.tests).filter((test) => test.isShown);
  }

  input.addEventListener("change", async () => { await take([...input.files]); input.value = ""; });
  // Files may be dropped anywhere on the page. By default, the browser would replace the page with the file.
  const has = (event) => event.dataTransfer?.types.includes("Files");
  let inside = 0;
  const mark = () => target.classList.toggle("over", inside > 0);
  addEventListener("dragenter", (event) => { if (has(event)) { inside += 1; mark(); } });
  addEventListener("dragleave", (event) => { if (has(event)) { inside = Math.max(0, inside - 1); mark(); } });
  addEventListener("dragover", (event) => { if (has(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!has(event)) return;
    event.preventDefault();
    inside = 0;
    mark();
    take([...event.dataTransfer.files]);
  });
  return { shown };
}
