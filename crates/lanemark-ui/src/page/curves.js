// Curves over load: throughput over queue depth, and latency over throughput. Each system has its own colour.

import { latency, make, number, rated, shape } from "./draw.js";
import { save_buttons } from "./save.js";

const HEIGHT = 230, LEFT = 58, RIGHT = 16, TOP = 30, BOTTOM = 40;
/** The height of a line of the legend, the length of its sample, and the mean width of a letter. */
const LEGEND_LINE = 17, SAMPLE = 20, LETTER = 6.6;

/** Rounds up to 1, 2 or 5 times a power of ten. */
function step(smallest) {
  const power = 10 ** Math.floor(Math.log10(smallest));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= smallest * (1 - 1e-9)) ?? 10);
}

function linear(most, count) {
  const each = step((most > 0 ? most : 1) / count);
  const end = Math.ceil((most > 0 ? most : 1) / each - 1e-9) * each;
  const ticks = Array.from({ length: Math.round(end / each) + 1 }, (_, place) => place * each);
  return { share: (value) => value / end, ticks: ticks.map((tick) => [tick, short(tick)]) };
}

function logarithmic(values, word, factors) {
  const known = values.filter((value) => value > 0);
  if (!known.length) return { share: () => 0, ticks: [] };
  const low = Math.min(...known), high = Math.max(...known);
  const steps = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power++) for (const factor of factors) steps.push(factor * 10 ** power);
  const from = steps.filter((one) => one <= low * 1.0001).at(-1) ?? low, to = steps.find((one) => one >= high * 0.9999) ?? high;
  const width = Math.log(to / from) || 1;
  const ticks = steps.filter((one) => one >= from * 0.999 && one <= to * 1.001);
  const kept = ticks.length > 7 ? ticks.filter((one) => Math.abs(Math.log10(one) - Math.round(Math.log10(one))) < 1e-6) : ticks;
  return { share: (value) => Math.log(value / from) / width, ticks: kept.map((tick) => [tick, word(tick)]) };
}

/** Formats a tick's label, such as 250k or 1.5M. */
function short(value) {
  for (const [size, letter] of [[1e6, "M"], [1e3, "k"]]) if (value >= size) return `${Number((value / size).toPrecision(3))}${letter}`;
  return String(Number(value.toPrecision(3)));
}

const plain = (us) => (us >= 1e6 ? `${us / 1e6} s` : us >= 1e3 ? `${us / 1e3} ms` : `${us} µs`);

function chart({ title, across, up, x, y, lines, legend, width, label }) {
  const height = HEIGHT + legend.length * LEGEND_LINE;
  const inner = width - LEFT - RIGHT, bottom = HEIGHT - BOTTOM, high = bottom - TOP;
  const at = (value) => LEFT + x.share(value) * inner, level = (value) => bottom - y.share(value) * high;
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "curve" });
  drawing.append(shape("text", { x: 0, y: 13, class: "title" }, title, shape("tspan", { dx: 10, class: "soft" }, up)));
  for (const [value, text] of y.ticks) drawing.append(
    shape("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: level(value), y2: level(value) }),
    shape("text", { x: LEFT - 6, y: level(value) + 4, "text-anchor": "end", class: "soft" }, text));
  let free = -Infinity;
  for (const [value, text] of x.ticks) {
    const half = text.length * 3.6, middle = Math.min(at(value), width - half);
    if (middle - half < free) continue;
    free = middle + half + 6;
    drawing.append(shape("text", { x: middle, y: bottom + 16, "text-anchor": "middle", class: "soft" }, text),
      shape("line", { class: "grid", x1: at(value), x2: at(value), y1: bottom, y2: bottom + 4 }));
  }
  drawing.append(shape("line", { class: "base", x1: LEFT, x2: width - RIGHT, y1: bottom, y2: bottom }),
    shape("text", { x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end", class: "soft" }, across));
  for (const { points, colour, dashed, stale, now } of lines) {
    if (!points.length) continue;
    const group = shape("g", { class: stale ? "stale" : "" });
    const path = points.map(([one, other], place) => `${place ? "L" : "M"}${at(one).toFixed(1)} ${level(other).toFixed(1)}`).join("");
    group.append(shape("path", { class: `line c${colour}${dashed ? " dashed" : ""}`, d: path }));
    if (!dashed) for (const [one, other, text, depth] of points) {
      group.append(shape("circle", { class: `${depth === now ? "now" : "point"} c${colour}`, cx: at(one).toFixed(1), cy: level(other).toFixed(1), r: depth === now ? 5 : 2.6 }, shape("title", {}, text)));
    }
    drawing.append(group);
  }
  // The legend is a part of the drawing, so that a saved chart names its systems.
  const letters = Math.floor((width - LEFT - SAMPLE - 6) / LETTER);
  legend.forEach(({ name, colour }, row) => {
    const middle = HEIGHT + (row + 0.5) * LEGEND_LINE;
    const text = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
    drawing.append(shape("line", { class: `line c${colour}`, x1: LEFT, x2: LEFT + SAMPLE, y1: middle, y2: middle }),
      shape("text", { x: LEFT + SAMPLE + 6, y: middle + 4 }, text));
  });
  const figure = make("figure", {}, drawing);
  save_buttons(figure, title);
  return figure;
}

/**
 * Draws the curves of all systems into `box`. A system has a name, a colour, its points, and whether they are stale.
 * `now` is the queue depth of the test.
 */
export function curves(box, systems, is_random, now) {
  // A point without a completed request lacks a latency.
  const shown = systems.map((system) => ({ ...system, points: system.points.filter(({ iops }) => iops > 0) }))
    .filter(({ points }) => points.length);
  box.hidden = !shown.length;
  if (!shown.length) { box.replaceChildren(); return; }
  const [key, unit] = rated(is_random);
  const gap = 28, outer = box.clientWidth || 600;
  const width = outer >= 760 ? Math.floor((outer - gap) / 2) : outer;
  const all = shown.flatMap(({ points }) => points);
  const tail = all.flatMap((point) => [point.latency_mean_us, point.latency_p99_us ?? point.latency_mean_us]);
  const describe = (point) => `depth ${point.queue_depth}: ${number(point[key])} ${unit}, mean ${latency(point.latency_mean_us)}, 99% ${latency(point.latency_p99_us)}`;
  const depths = [...new Set(all.map((point) => point.queue_depth))].sort((one, other) => one - other);
  const base = Math.log2(depths.at(-1) / depths[0]) || 1;
  const by_depth = { share: (depth) => Math.log2(depth / depths[0]) / base, ticks: depths.map((depth) => [depth, String(depth)]) };
  const rates = linear(Math.max(...all.map((point) => point[key])), 4);
  const line = (system, of) => ({ ...system, now, points: system.points.map((point) => [...of(point), `${system.name}, ${describe(point)}`, point.queue_depth]) });
  const ends = ({ name, points }) => `${name}: ${describe(points[0])}; ${describe(points.at(-1))}`;
  const spoken = shown.map(ends).join(". ");
  const over_load = shown.flatMap((system) => [
    line(system, (point) => [point[key], point.latency_mean_us]),
    { ...line({ ...system, points: system.points.filter((point) => point.latency_p99_us) }, (point) => [point[key], point.latency_p99_us]), dashed: true }]);
  box.replaceChildren(
    chart({ title: "Throughput over queue depth", across: "queue depth per thread", up: unit, x: by_depth, y: rates, legend: shown, width,
      lines: shown.map((system) => line(system, (point) => [point.queue_depth, point[key]])), label: `Throughput over queue depth. ${spoken}` }),
    chart({ title: "Latency over load", across: `load, ${unit}`, up: "mean (line), 99% (dashed)", x: rates, y: logarithmic(tail, plain, [1, 2, 5]), legend: shown, width,
      lines: over_load, label: `Latency over load. ${spoken}` }));
}
