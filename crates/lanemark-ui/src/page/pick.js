// The choice of a system: drive, platform and port from lists that can be searched and filtered.

import { make } from "./draw.js";

let numbers = 0;

export function field(label, input, output) {
  input.id ||= `field-${++numbers}`;
  return make("div", { class: "field" }, make("label", { for: input.id }, label, output ? " " : "", output ?? ""), input);
}

export function select(options, chosen, change) {
  const made = options.map(([value, text]) => make("option", { value, selected: value === chosen }, text));
  return make("select", { onchange: (event) => change(event.target.value) }, ...made);
}

const kindOf = (connector) => connector.split(" ")[0];

/** Whether a drive may go into a port: a SATA drive goes into SAS ports too. */
function fits(drive, port) {
  const [own, other] = [kindOf(drive.connector), kindOf(port.connector)];
  return own === other || (own === "SATA" && other === "SAS");
}

/** The platform that represents this machine, which is read when the user chooses it. */
export const MACHINE = "this-machine";

/** Whether a system uses this machine. */
export const isHere = (system) => system.includes(`@${MACHINE}:`) || system.includes(`@${MACHINE},`);

/**
 * Fields that choose drive, platform and port of `system`. `changed` is called with a new name. `readMachine` reads
 * this machine; if it returns false, it has shown the reason.
 */
export function picker(library, system, changed, readMachine) {
  const [drive, rest] = system.split("@");
  const colon = rest.indexOf(":");
  const now = { drive, platform: rest.slice(0, colon), port: rest.slice(colon + 1) };
  const filters = { text: "", interface: "", maker: "", year: "" };
  const makers = [...new Set(library.drives.map((one) => one.maker))].sort();
  const years = [...new Set(library.drives.map((one) => one.year).filter(Boolean))].sort((a, b) => b - a);
  const drives = make("select", { onchange: () => take("drive", drives.value) });
  const platforms = make("select", { onchange: () => platform(platforms.value) });
  const note = make("p", { class: "soft", hidden: true });
  const ports = make("select", { onchange: () => take("port", ports.value) });

  /** Selects a platform. This machine is read again first; if that fails, the selection stays unchanged. */
  async function platform(value) {
    if (value === MACHINE) {
      platforms.setAttribute("aria-busy", "true");
      const read = await readMachine();
      platforms.removeAttribute("aria-busy");
      // The user may have chosen another platform meanwhile.
      if (platforms.value !== value) return;
      if (!read) {
        platforms.value = now.platform;
        return;
      }
    }
    take("platform", value);
  }

  function take(key, value) {
    if (!value) return;
    now[key] = value;
    const own = library.drives.find((one) => one.id === now.drive);
    const board = library.platforms.find((one) => one.id === now.platform);
    const good = board?.ports.filter((port) => own && fits(own, port)) ?? [];
    const into = good.length ? good : board?.ports ?? [];
    if (key !== "port" && into.length && !into.some((port) => port.name === now.port)) now.port = into[0].name;
    if (key !== "port") fill();
    changed(`${now.drive}@${now.platform}:${now.port}`);
  }

  function fill() {
    const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (one) => words.every((word) => `${one.id} ${one.name} ${one.year ?? ""}`.toLowerCase().includes(word));
    const kept = library.drives.filter((one) => has(one) && (!filters.interface || one.interface === filters.interface)
      && (!filters.maker || one.maker === filters.maker) && (!filters.year || String(one.year) === filters.year));
    const options = kept.map((one) =>
      make("option", { value: one.id, selected: one.id === now.drive }, `${one.name} (${one.connector}${one.year ? `, ${one.year}` : ""})`));
    if (!kept.some((one) => one.id === now.drive)) {
      options.unshift(make("option", { value: "", selected: true }, kept.length ? `${kept.length} drives; choose one` : "no drive has all of this"));
    }
    drives.replaceChildren(...options);
    platforms.replaceChildren(...library.platforms.map((one) =>
      make("option", { value: one.id, selected: one.id === now.platform }, one.name)));
    // Only the command line can give a platform its own host. Such a platform is kept.
    if (!library.platforms.some((one) => one.id === now.platform)) {
      platforms.prepend(make("option", { value: now.platform, selected: true }, now.platform));
    }
    const own = library.drives.find((one) => one.id === now.drive);
    const board = library.platforms.find((one) => one.id === now.platform);
    const listed = (board?.ports ?? []).map((port) => make("option",
      { value: port.name, selected: port.name === now.port, disabled: own != null && !fits(own, port) },
      `${port.name}: ${port.connector}${port.behind.length ? ` behind ${port.behind.join(", ")}` : ""}`));
    // Only the command line can give two ports or several drives. Such a port is kept.
    if (!board?.ports.some((port) => port.name === now.port)) {
      listed.unshift(make("option", { value: now.port, selected: true }, now.port));
    }
    ports.replaceChildren(...listed);
    note.hidden = !board?.leftOut?.length;
    note.textContent = `Without a port: ${(board?.leftOut ?? []).join("; ")}.`;
  }

  const narrow = (key) => (value) => { filters[key] = value; fill(); };
  const search = make("input", { type: "search", placeholder: "such as 980 pro", oninput: (event) => narrow("text")(event.target.value) });
  const all = (name, values) => [["", name], ...values.map((value) => [String(value), String(value)])];
  fill();
  return make("div", { class: "pick" },
    make("div", { class: "filters" }, field("Search drives", search),
      field("Interface", select(all("any", ["NVMe", "SATA", "SAS"]), "", narrow("interface"))),
      field("Maker", select(all("any", makers), "", narrow("maker"))),
      field("Year", select(all("any", years), "", narrow("year")))),
    field("Drive", drives), field("Platform", platforms), field("Port", ports), note);
}
