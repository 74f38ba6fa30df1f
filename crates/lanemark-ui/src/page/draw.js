// Figures as text, bars and rows of hops. This file computes only scales and widths.

const SVG = "http://www.w3.org/2000/svg";

/** Creates an element with attributes and children; text is never parsed as markup. */
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

/** Creates an element of a drawing. */
export function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Shows a drawing as an image: scripts inside an image cannot run, and it cannot load anything. */
export function picture(text, alt) {
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = make("img", { src: url, class: "drawing", alt });
  image.addEventListener("load", () => URL.revokeObjectURL(url));
  return image;
}

/** Saves a text or bytes as a file. */
export function save(name, type, ...parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Formats a number with three significant digits and separators. */
export function number(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** Formats a latency with a suitable unit. */
export function latency(us) {
  if (us == null) return "–";
  if (us >= 1e6) return `${number(us / 1e6)} s`;
  return us >= 1e3 ? `${number(us / 1e3)} ms` : `${number(us)} µs`;
}

/** Writes microseconds as µs in a text that has them as files do, as us. */
export const micro = (text) => text.replace(/(\d) ?us\b/g, "$1 µs");

/** Returns the parts of a text; a part between backticks is code. */
export const coded = (text) => micro(text).split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

/** Formats a range, such as `10.3–15.0 ms`; the unit appears once if both ends have it. */
export function span(low, high, word) {
  const [from, to] = [word(low), word(high)], unit = to.match(/ \D+$/)?.[0] ?? "";
  return `${unit && from.endsWith(unit) ? from.slice(0, -unit.length) : from}–${to}`;
}

export const percent = (share) => `${Math.round(share * 100)}%`;

/** Returns the range that contains 80% of systems of this kind, as text. */
export function range(figures, key) {
  if (!figures.interval) return "";
  const { low_ratio: low, high_ratio: high } = figures.interval;
  return `80% in ${span(figures[key] * low, figures[key] * high, number)}`;
}

/** Returns the range of a latency percentile that contains 80% of systems of this kind, as text. */
export function tail(figures, percentile) {
  const interval = figures.interval?.percentiles?.find((one) => one.percentile === percentile);
  const us = figures.latency_us.find(([own]) => own === percentile)?.[1];
  return interval && us != null ? `80% in ${span(us * interval.low_ratio, us * interval.high_ratio, latency)}` : "";
}

/** Returns the key and the unit of the rate by which systems are compared. */
export const rated = (is_random) => (is_random ? ["iops", "IOPS"] : ["megabytes_per_second", "MB/s"]);

/** Draws a bar of parts; each part has a length from 0 to 1 and a class. `ends` are the bounds of an interval. */
export function bar(parts, ends) {
  const drawing = shape("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", class: "bar" });
  drawing.append(shape("rect", { class: "track", x: 0, y: 0, width: 100, height: 10 }));
  let from = 0;
  for (const [length, name] of parts) {
    const width = Math.max(0, Math.min(100 - from, length * 100));
    drawing.append(shape("rect", { class: name, x: from, y: 0, width, height: 10 }));
    from += width;
  }
  if (ends) {
    const [low, high] = ends.map((end) => Math.max(0.2, Math.min(99.8, end * 100)));
    drawing.append(shape("path", { class: "whisker", d: `M${low} 5H${high}M${low} 2V8M${high} 2V8` }));
  }
  return drawing;
}

/** Returns the throughput of a test or, if its interval is known, the upper bound. */
export const rate_end = (figures) =>
  (figures ? figures.megabytes_per_second * Math.max(1, figures.interval?.high_ratio ?? 1) : 0);

/** Returns a cell with the throughput of a test as a bar and a number, each with its interval if it is known. */
export function rate_cell(figures, most, colour) {
  const value = figures?.megabytes_per_second, { interval } = figures ?? {};
  const ends = interval && [interval.low_ratio, interval.high_ratio].map((ratio) => ratio * value / most);
  const drawing = bar([[(value ?? 0) / most, colour]], ends);
  return [make("span", { class: "with-bar" }, drawing, make("span", {}, number(value))),
    ...(interval ? [make("span", { class: "soft below" }, range(figures, "megabytes_per_second"))] : [])];
}

/** Returns the maximum time that a request spends at any hop of these systems. */
export const longest = (all) => Math.max(...all.flatMap((figures) => figures.hops.map((hop) => hop.wait_us + hop.service_us)), 1e-9);

/** Returns the hop that is busy for most of the time, as text. */
export function busiest(figures) {
  const top = figures.hops.reduce((one, other) => (other.utilisation > one.utilisation ? other : one), figures.hops[0]);
  const limit = figures.hops.find(({ id }) => id === figures.limit?.id);
  // Several hops may be busy all the time; the bottleneck is one of them.
  const most = limit && percent(limit.utilisation) === percent(top.utilisation) ? limit : top;
  return most ? `busiest hop: ${most.name}, ${percent(most.utilisation)}` : "";
}

/** Draws the path from host to media: each hop with its busy time and, next to it, its share of a request's time. */
export function hops(figures, most) {
  const rows = figures.hops.map((hop) => {
    const time = hop.wait_us + hop.service_us;
    const limits = figures.limit?.id === hop.id;
    const colour = `h${hop.colour}`;
    const carries = hop.ceiling_megabytes_per_second;
    const note = limits ? make("b", { class: "limit" }, figures.limit.is_assumed ? "bottleneck, assumed" : "bottleneck") : null;
    return make("li", { class: limits ? "hop is-limit" : "hop", title: micro(hop.law) || null },
      make("span", { class: "hop-name" }, make("i", { class: `dot ${colour}` }), make("span", {}, hop.name), note),
      make("span", { class: "hop-busy" }, bar([[hop.utilisation, limits ? "narrow" : "use"]]),
        make("span", {}, make("span", { class: "unseen" }, "busy "), percent(hop.utilisation)),
        make("span", { class: "unseen" }, carries == null ? "" : `, carries up to ${number(carries)} MB/s`)),
      make("span", { class: "hop-time part" }, bar([[hop.service_us / most, colour], [hop.wait_us / most, `${colour} wait`]]),
        make("span", {}, make("span", { class: "unseen" }, ", time "), time < figures.latency_mean_us * 0.0005 ? "0" : latency(time))));
  });
  return make("ol", { class: "hops" }, ...rows);
}

/** Fills a table with rows; the first cell of a row is its heading. A cell is a text or a list of elements. */
export function table(element, head, rows, caption) {
  element.replaceChildren(
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map(([first, ...cells]) =>
      make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, ...[cell].flat()))))));
}
