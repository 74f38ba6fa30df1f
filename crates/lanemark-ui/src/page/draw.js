// The figures of a system as text and drawings. Nothing is computed here but scales and widths.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; text is text and never markup. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A number with three significant digits and separators. */
export function number(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A latency with the unit that fits it. */
export function latency(us) {
  if (us == null) return "–";
  if (us >= 1e6) return `${number(us / 1e6)} s`;
  return us >= 1e3 ? `${number(us / 1e3)} ms` : `${number(us)} µs`;
}

const percent = (share) => `${Math.round(share * 100)}%`;

/** The range of a figure in 80% of cases. */
export function range(figures, key) {
  if (!figures.interval) return figures.repeats ? "" : "first answer";
  const { low_ratio: low, high_ratio: high } = figures.interval;
  return `80% in ${number(figures[key] * low)}–${number(figures[key] * high)}`;
}

/** The range of the mean latency, which is inversely proportional to the rate. */
function slowness(figures) {
  if (!figures.interval) return "";
  const { low_ratio: low, high_ratio: high } = figures.interval;
  const [least, most] = [figures.latency_mean_us / high, figures.latency_mean_us / low].map(latency);
  return `80% in ${least}–${most}`;
}

function big(value, unit, below) {
  return make("div", {}, make("b", {}, value), make("span", {}, unit), make("span", {}, below || "\u00a0"));
}

export function summary(figures) {
  const tail = figures.latency_us.filter(([at]) => [50, 99, 99.9].includes(at));
  const ladder = tail.map(([at, us]) => `${at}%: ${latency(us)}`).join(" · ");
  return [
    make("div", { class: "big" },
      big(number(figures.megabytes_per_second), "MB/s", range(figures, "megabytes_per_second")),
      big(number(figures.iops), "IOPS", range(figures, "iops")),
      big(latency(figures.latency_mean_us), "mean latency", slowness(figures))),
    make("p", { class: "soft" }, ladder || "Too few requests for percentiles."),
  ];
}

/** The path: a bar for each hop, filled by its utilisation. */
export function path(figures) {
  const step = 34, width = 360, left = 12, top = 4;
  const height = top + step * figures.hops.length;
  const told = figures.hops.map((hop) => `${hop.name} ${percent(hop.utilisation)} busy`).join(", ");
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Path from host to media: ${told}`, class: "path" });
  drawing.append(shape("line", { class: "wire", x1: left, x2: left, y1: top + 8, y2: height - 12 }));
  figures.hops.forEach((hop, index) => {
    const y = top + index * step, x = left + 14, room = width - x;
    const carries = hop.ceiling_megabytes_per_second;
    const mark = hop.is_narrowest ? " ◀ bottleneck" : "";
    const name = shape("text", { x, y: y + 11, class: hop.is_narrowest ? "strong" : "" }, fitted(hop.name + mark, 40));
    const right = shape("text", { x: width, y: y + 11, "text-anchor": "end", class: "soft" },
      `${percent(hop.utilisation)}${carries == null ? "" : ` of ${number(carries)} MB/s`}`);
    const title = shape("title", {}, `${hop.name}: ${hop.law}`);
    drawing.append(shape("g", { class: "hop" }, title,
      shape("circle", { class: hop.is_narrowest ? "narrow" : "use", cx: left, cy: y + 19, r: 4 }), name, right,
      shape("rect", { class: "track", x, y: y + 15, width: room, height: 9, rx: 2 }),
      shape("rect", { class: hop.is_narrowest ? "narrow" : "use", x, y: y + 15, width: Math.max(0, Math.min(1, hop.utilisation)) * room, height: 9, rx: 2 })));
  });
  return drawing;
}

/** The latency budget of a mean request: service and waiting at each hop. */
export function budget(figures) {
  const hops = figures.hops.filter((hop) => hop.wait_us + hop.service_us > figures.latency_mean_us * 0.002);
  const step = 20, width = 360, name = 130, value = 70, room = width - name - value;
  const most = Math.max(...hops.map((hop) => hop.wait_us + hop.service_us), 1e-9);
  const told = hops.map((hop) => `${hop.name} ${latency(hop.wait_us + hop.service_us)}`).join(", ");
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${step * hops.length + 2}`, role: "img", "aria-label": `Time of a request by hop: ${told}`, class: "budget" });
  hops.forEach((hop, index) => {
    const y = index * step, service = (hop.service_us / most) * room, wait = (hop.wait_us / most) * room;
    drawing.append(shape("g", { class: "part" },
      shape("text", { x: name - 6, y: y + 14, "text-anchor": "end" }, fitted(hop.name, 19)),
      shape("rect", { class: "use", x: name, y: y + 4, width: service, height: 13 }),
      shape("rect", { class: "wait", x: name + service, y: y + 4, width: wait, height: 13 }),
      shape("text", { x: name + service + wait + 5, y: y + 14, class: "soft" }, latency(hop.wait_us + hop.service_us))));
  });
  drawing.append(shape("line", { class: "base", x1: name, x2: name, y1: 0, y2: step * hops.length }));
  return drawing;
}

function fitted(text, letters) {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

/** A table of figures. The first cell of each row is its heading. A cell is a text or a list of its children. */
export function table(element, head, rows, caption) {
  element.replaceChildren(
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map(([first, ...cells]) =>
      make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, ...[cell].flat()))))));
}
