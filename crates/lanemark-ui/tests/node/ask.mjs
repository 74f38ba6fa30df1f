// Answers the requests on standard input with the module: one JSON array of a name and a body per line. The body is text,
// or an object with bytes in base64. Each answer is a line. A module that traps is replaced, as in the page.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";

const module = new WebAssembly.Module(gunzipSync(readFileSync(process.argv[2])));
const encoder = new TextEncoder(), decoder = new TextDecoder();
let instance = null, panic = "";

function answer(name, body) {
  instance ??= new WebAssembly.Instance(module, { page: {
    milliseconds: () => performance.now(),
    panicked: (address, length) => { panic = decoder.decode(new Uint8Array(instance.exports.memory.buffer, address, length)); },
  } });
  const { room, answer: call, answer_length, memory } = instance.exports;
  const title = encoder.encode(name);
  try {
    const start = room(title.length + body.length) >>> 0;
    const target = new Uint8Array(memory.buffer, start, title.length + body.length);
    target.set(title);
    target.set(body, title.length);
    const address = call(title.length) >>> 0;
    return decoder.decode(new Uint8Array(memory.buffer, address, answer_length()));
  } catch (error) {
    instance = null;
    const reply = JSON.stringify({ trap: panic || error.message });
    panic = "";
    return reply;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const [name, body] = JSON.parse(line);
  const bytes = typeof body === "string" ? encoder.encode(body) : Buffer.from(body.base64, "base64");
  console.log(answer(name, bytes));
}
