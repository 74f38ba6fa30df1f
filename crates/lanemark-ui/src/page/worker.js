// Answers requests with the module, one at a time. A simulation is answered step by step, and ends if it is cancelled.

const STEPPED = ["simulate", "curve", "workload"];
const cancelled = new Set();
const decoder = new TextDecoder(), encoder = new TextEncoder();
let module = null, instance = null, panic = "", setup = [], queue = Promise.resolve();

/** Calls the module, and returns its answer as an object with `ok` or `error`. */
function call(name, body) {
  if (!instance) {
    const memory = (address, length) => new Uint8Array(instance.exports.memory.buffer, address, length);
    instance = new WebAssembly.Instance(module, { page: {
      milliseconds: () => performance.now(),
      panicked: (address, length) => { panic = decoder.decode(memory(address, length)); },
    } });
    setup.forEach(([request, text]) => call(request, encoder.encode(text)));
  }
  const { room, answer, answer_length, memory } = instance.exports;
  const title = encoder.encode(name);
  try {
    const start = room(title.length + body.length);
    const target = new Uint8Array(memory.buffer, start, title.length + body.length);
    target.set(title);
    target.set(body, title.length);
    const address = answer(title.length);
    return JSON.parse(decoder.decode(new Uint8Array(memory.buffer, address >>> 0, answer_length())));
  } catch (error) {
    // The memory of a module that has stopped cannot be trusted.
    instance = null;
    const message = `the laboratory could not answer: ${panic || error.message}`;
    panic = "";
    return { error: { message, hint: null } };
  }
}

/** Lets messages arrive that cancel the current simulation. */
function pause() {
  return new Promise((done) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => { channel.port1.close(); done(); };
    channel.port2.postMessage(0);
  });
}

async function serve({ id, name, body }) {
  let reply = cancelled.has(id) ? null : call(name, body);
  while (reply?.ok && STEPPED.includes(name) && reply.ok.stage !== "done") {
    postMessage({ id, reply });
    await pause();
    reply = cancelled.has(id) ? null : call("step", new Uint8Array());
  }
  cancelled.delete(id);
  postMessage({ id, reply, is_last: true });
}

onmessage = ({ data }) => {
  if (data.module) ({ module, setup } = data);
  else if (data.cancel !== undefined) cancelled.add(data.cancel);
  else queue = queue.then(() => serve(data));
};
