// Requests to the laboratory, which runs in workers: one for each system, one for quick requests, one for files.

/** Time in which a cancelled simulation must end; after it, the worker is replaced. */
const END_MS = 60;

const encoder = new TextEncoder();
const workers = new Map();
const setup = [];
let number = 0, script = "", module = null;

/** Returns the text of a block of the file. */
const block = (id) => document.getElementById(id).textContent.trim();

/** Compiles the module in the file. */
async function compile() {
  const letters = atob(block("module")), packed = new Uint8Array(letters.length);
  // A callback for each of two million bytes would take a second.
  for (let place = 0; place < letters.length; place++) packed[place] = letters.charCodeAt(place);
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

function start(key) {
  script ||= URL.createObjectURL(new Blob([block("worker")], { type: "text/javascript" }));
  const worker = new Worker(script);
  const entry = { worker, jobs: new Map() };
  worker.onmessage = ({ data: { id, reply, is_last } }) => {
    entry.jobs.get(id)?.deliver(reply, is_last);
    if (is_last) entry.jobs.delete(id);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    replace(key, { error: { message: `the laboratory stopped: ${event.message}`, hint: null } });
  };
  workers.set(key, entry);
  module ??= compile();
  module.then((module) => worker.postMessage({ module, setup }), (error) => {
    replace(key, { error: { message: `this browser cannot run the laboratory: ${error.message}`, hint: "use a current Chromium, Firefox or Safari" } });
  });
  return entry;
}

/** Starts workers before their first request, because a start takes longer than a request. */
export function prepare(keys) {
  keys.filter((key) => !workers.has(key)).forEach(start);
}

/** Ends a worker; its requests are answered with `reply`. */
function replace(key, reply) {
  const entry = workers.get(key);
  workers.delete(key);
  entry?.worker.terminate();
  for (const job of [...(entry?.jobs.values() ?? [])]) job.deliver(reply, true);
}

/** Ends a worker whose request `ended` was cancelled; a new worker answers its other requests. */
function restart(key, ended) {
  const old = workers.get(key);
  workers.delete(key);
  old.worker.terminate();
  const entry = start(key);
  for (const [id, job] of old.jobs) {
    if (id === ended) { job.deliver(null, true); continue; }
    entry.jobs.set(id, job);
    if (job.message) module.then(() => entry.worker.postMessage(job.message), () => {});
  }
}

/** Sends a request to the worker `key`, and yields its answers. */
export async function* steps(key, name, question, signal) {
  const entry = workers.get(key) ?? start(key), id = ++number;
  const waiting = [];
  let wake = () => {}, is_over = false;
  const aborted = () => Object.assign(new Error("aborted"), { name: "AbortError" });
  if (signal?.aborted) throw aborted();
  const job = { message: null, deliver: (reply, is_last) => {
    if (reply) waiting.push(reply);
    is_over ||= is_last;
    wake();
  } };
  entry.jobs.set(id, job);
  const cancel = () => {
    workers.get(key)?.worker.postMessage({ cancel: id });
    setTimeout(() => { if (workers.get(key)?.jobs.has(id)) restart(key, id); }, END_MS);
    wake();
  };
  signal?.addEventListener("abort", cancel, { once: true });
  const body = question instanceof ArrayBuffer ? new Uint8Array(question) : encoder.encode(JSON.stringify(question ?? null));
  // The module may still be compiled; a worker receives it first.
  await module.catch(() => {});
  job.message = { id, name, body };
  const current = workers.get(key);
  if (current?.jobs.get(id) === job) current.worker.postMessage(job.message);
  for (;;) {
    if (signal?.aborted) throw aborted();
    const reply = waiting.shift();
    if (reply?.error) throw Object.assign(new Error(reply.error.message), { hint: reply.error.hint });
    if (reply) yield reply.ok;
    else if (is_over) return;
    else await new Promise((done) => { wake = done; });
  }
}

/** Sends a request, and returns its only answer. */
export async function ask(name, question, signal, key = "quick") {
  for await (const reply of steps(key, name, question, signal)) return reply;
  throw Object.assign(new Error("aborted"), { name: "AbortError" });
}

/** Sends a request to all workers, also to those that start later. */
export async function ask_all(name, question) {
  setup.push([name, JSON.stringify(question)]);
  const keys = [...workers.keys()];
  const replies = await Promise.all(keys.map((key) => ask(name, question, undefined, key)));
  return replies[0] ?? ask(name, question);
}

/** Returns an error as text; empty for an aborted request. */
export function words(error) {
  if (error.name === "AbortError") return "";
  return error.hint ? `${error.message}\nHint: ${error.hint}` : error.message;
}
