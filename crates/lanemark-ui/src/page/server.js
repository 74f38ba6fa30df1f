// Requests to the server, and detection of a server that no longer answers.

const LOOK_MS = 3000;
const STOPPED = "The laboratory has stopped. Start `lanemark ui` again in a terminal and open the address that it prints. The figures below are from before it stopped.";

let timer = 0;

/** Shows or hides the message that the server no longer answers, and polls the server until it answers again. */
function stopped(is) {
  const box = document.getElementById("stopped");
  box.hidden = !is;
  box.textContent = is ? STOPPED : "";
  document.body.classList.toggle("is-stopped", is);
  clearInterval(timer);
  if (is) timer = setInterval(() => fetch("/api/status").then((answer) => { if (answer.ok) stopped(false); }, () => {}), LOOK_MS);
}

/** Returns the error of a request that ended without an answer: it was aborted, or the server has stopped. */
function without_answer(error) {
  if (error.name === "AbortError") return error;
  stopped(true);
  return Object.assign(new Error("The laboratory has stopped."), { name: "Stopped" });
}

/** Sends a request. The bytes of a file are sent unchanged. */
export async function ask(path, question, signal) {
  const body = question instanceof ArrayBuffer ? question : JSON.stringify(question);
  let answer;
  try {
    answer = await fetch(path, question === undefined ? { signal } : {
      method: "POST", signal, headers: { "Content-Type": "application/json" }, body,
    });
  } catch (error) { throw without_answer(error); }
  if (answer.ok) return answer;
  const text = await answer.text();
  let reply = { message: text };
  try { reply = JSON.parse(text); } catch { /* It is plain text. */ }
  throw Object.assign(new Error(reply.message), { hint: reply.hint });
}

/** Yields the lines of an answer as they arrive. */
export async function* lines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let read;
    try { read = await reader.read(); } catch (error) { throw without_answer(error); }
    if (read.done) return;
    const parts = (rest + read.value).split("\n");
    rest = parts.pop();
    for (const part of parts) {
      const reply = JSON.parse(part);
      if (reply.stage === "failed") throw Object.assign(new Error(reply.message), { hint: reply.hint });
      yield reply;
    }
  }
}

/** Returns an error as text; empty for an aborted request and for a stopped server, which the page reports. */
export function words(error) {
  if (error.name === "AbortError" || error.name === "Stopped") return "";
  return error.hint ? `${error.message}\nHint: ${error.hint}` : error.message;
}
