// Interactive Vega-Lite charts that replace the static pictures of the page. Vega's interpreter evaluates expressions,
// because the policy of the page forbids code from text.
(() => {
  'use strict';
  const charts = window.lanemarkCharts;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const grouped = (value) => Number(value.toPrecision(4)).toLocaleString('en-US', { maximumFractionDigits: 9 });
  const scaled = (value, steps) => {
    const step = steps.find(([size]) => Math.abs(value) >= size * 0.999) ?? steps.at(-1);
    return `${grouped(value / step[0])} ${step[1]}`;
  };
  const text = {
    latency: (value) => scaled(value, [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]),
    size: (value) => scaled(value, [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]),
    nines: (value) => `${Number((100 - 100 * 10 ** -value).toPrecision(7))}%`,
    number: grouped,
  };
  // The same formats as Vega expressions, for axis labels.
  const powers = (steps) => steps.map(([size, unit]) => `abs(datum.value) >= ${size * 0.999} ? format(datum.value / ${size}, ',.4~r') + ' ${unit}'`).join(' : ') + " : ''";
  const labels = {
    latency: powers([[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]),
    size: powers([[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]),
    nines: "format(100 - 100 * pow(10, -datum.value), '.7~r')",
    number: "format(datum.value, ',.6~r')",
  };
  // Round latencies on a logarithmic axis; Vega omits values outside its domain.
  const round = [...Array(14).keys()].flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power));
  const axis = (one, ticks, title) => ({
    title, labelExpr: labels[one.unit], tickCount: ticks, labelOverlap: true,
    ...(one.ticks ? { values: one.ticks } : one.unit === 'latency' && one.log ? { values: round } : {}),
  });
  const scale = (one) => ({ type: one.log ? 'log' : 'linear', domain: one.ends, nice: false, zero: false });
  const dashes = [[1, 0], [7, 3], [2, 2.5], [9, 2.5, 2, 2.5]];

  const rows = (chart) => chart.series.flatMap((series, number) => {
    const ends = new Map(series.intervals.map(([at, low, high]) => [at, [low, high]]));
    return series.points.map(([x, y], place) => {
      const [low, high] = ends.get(x) ?? [null, null];
      return { x, y, place, low, high, number: String(number), rings: series.rings };
    });
  });
  const specification = (chart, place) => {
    const tall = place.closest('figure.time') !== null;
    const [left, right] = (chart.sides ?? []).map((share) => share * place.clientWidth);
    // If there is no room for labels, the axes of the charts do not need to be aligned.
    const aligned = left >= 40;
    const room = aligned ? { minExtent: left, maxExtent: left } : {};
    const numbers = chart.series.map((_, number) => String(number));
    const look = (make) => ({ field: 'number', type: 'nominal', legend: null, scale: { domain: numbers, range: chart.series.map(make) } });
    const colours = look((series) => colour(`--s${series.style % 6}`));
    const x = { field: 'x', type: 'quantitative', scale: scale(chart.across), axis: axis(chart.across, 6, chart.across.name) };
    const y = { field: 'y', type: 'quantitative', scale: scale(chart.up), axis: { ...axis(chart.up, 5, null), ...room } };
    const lines = { filter: '!datum.rings' };
    return {
      $schema: 'https://vega.github.io/schema/vega-lite/v6.json', width: 'container', height: tall ? 220 : 190,
      background: null, ...(aligned ? { padding: { left: 0, right, top: 5, bottom: 5 } } : {}), title: { text: chart.up.name, anchor: 'start', frame: 'bounds' }, autosize: { type: 'fit', contains: 'padding' }, data: { values: rows(chart) },
      layer: [
        {
          params: [{ name: 'zoom', select: 'interval', bind: 'scales' }], transform: [{ filter: 'datum.low !== null' }],
          mark: { type: 'rule', clip: true, opacity: 0.6 },
          encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color: colours },
        },
        {
          data: { values: chart.marks }, mark: { type: 'rule', clip: true, strokeDash: [4, 3], color: colour('--soft') },
          encoding: { x: { field: 'at', type: 'quantitative' } },
        },
        ...chart.marks.map((mark, row) => ({
          data: { values: [mark] },
          mark: { type: 'text', align: mark.at > chart.across.ends[1] / 3 ? 'right' : 'left', dx: mark.at > chart.across.ends[1] / 3 ? -4 : 4, clip: true, fontSize: 10.5, color: colour('--ink') },
          encoding: { x: { field: 'at', type: 'quantitative' }, y: { value: 8 + row * 12 }, text: { field: 'name' } },
        })),
        {
          transform: [lines], mark: { type: 'line', clip: true, strokeWidth: 1.4 },
          encoding: { x, y, color: colours, order: { field: 'place', type: 'quantitative' }, strokeDash: look((series) => dashes[Math.floor(series.style / 6) % 4]) },
        },
        {
          params: [{ name: 'near', select: { type: 'point', nearest: true, on: 'pointerover', clear: 'pointerout' } }],
          mark: { type: 'point', clip: true, tooltip: { content: 'data' } },
          encoding: {
            x, y, color: colours,
            opacity: { condition: [{ param: 'near', empty: false, value: 1 }, { test: 'datum.rings', value: 1 }], value: chart.series.every((series) => series.points.length < 40) ? 0.7 : 0 },
            size: { condition: { param: 'near', empty: false, value: 90 }, value: 14 },
          },
        },
      ],
      config: {
        font: 'inherit', view: { stroke: null },
        title: { color: colour('--soft'), fontSize: 11, fontWeight: 'normal', offset: 6 },
        axis: {
          labelColor: colour('--soft'), titleColor: colour('--soft'), gridColor: colour('--grid'), domainColor: colour('--soft'),
          tickColor: colour('--soft'), labelFontSize: 11, titleFontSize: 11, titleFontWeight: 'normal',
        },
      },
    };
  };

  const tip = document.createElement('div');
  tip.id = 'lanemark-tip';
  tip.setAttribute('role', 'status');
  tip.hidden = true;
  document.body.append(tip);
  const show_tip = (words, left, top) => {
    tip.textContent = words;
    tip.hidden = false;
    tip.style.left = `${Math.max(4, Math.min(left, window.innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(top, window.innerHeight - tip.offsetHeight - 8))}px`;
  };
  const words = (chart, value) => {
    const series = chart.series[Number(value.number)];
    const parts = [series.name, `${chart.across.name}: ${text[chart.across.unit](value.x)}`, `${chart.up.name}: ${text[chart.up.unit](value.y)}`];
    if (value.low !== null) parts.push(`from ${text[chart.up.unit](value.low)} to ${text[chart.up.unit](value.high)}`);
    return parts.join('\n');
  };
  const show = (chart) => (handler, event, item, value) => {
    tip.hidden = !value || value.number === undefined;
    if (!tip.hidden) show_tip(words(chart, value), event.clientX + 14, event.clientY + 14);
  };
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  const keys = (place, move) => {
    place.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') tip.hidden = true;
      if (!(event.key in steps)) return;
      event.preventDefault();
      move(...steps[event.key]);
    });
    place.addEventListener('blur', () => { tip.hidden = true; });
  };
  // Keys: left and right move along a line, up and down select another line, Escape hides the values.
  const walk = (chart, place) => {
    const all = rows(chart);
    const numbers = [...new Set(all.map((row) => row.number))];
    let [line, point] = [0, -1];
    keys(place, (down, right) => {
      if (!numbers.length) return;
      line = (line + down + numbers.length) % numbers.length;
      const own = all.filter((row) => row.number === numbers[line]);
      point = Math.max(0, Math.min(own.length - 1, point + right));
      const box = place.getBoundingClientRect();
      show_tip(words(chart, own[point]), box.left + 24, box.top + 24);
    });
  };
  const application = (place, label) => {
    place.setAttribute('role', 'application');
    place.setAttribute('aria-roledescription', 'chart');
    place.setAttribute('aria-label', `${label}. Arrow keys show its values.`);
    place.tabIndex = 0;
  };
  // Bars are not redrawn. The values of the bar nearest to the pointer are shown, and arrow keys move between bars.
  const point = (chart, still) => {
    const place = document.createElement('div');
    place.className = 'pointable';
    application(place, chart.label);
    still.before(place);
    place.append(still);
    still.setAttribute('aria-hidden', 'true');
    const mark = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    mark.setAttribute('class', 'pointed');
    mark.setAttribute('width', still.viewBox.baseVal.width);
    mark.setAttribute('height', chart.height + 4);
    const choose = (at) => {
      mark.setAttribute('y', chart.bars[at][0] - 2);
      if (!mark.parentNode) still.prepend(mark);
      return chart.bars[at][1];
    };
    const away = () => { mark.remove(); tip.hidden = true; };
    place.addEventListener('pointermove', (event) => {
      const box = still.getBoundingClientRect();
      const y = (event.clientY - box.top) / box.height * still.viewBox.baseVal.height - chart.height / 2;
      const far = chart.bars.map(([top]) => Math.abs(top - y));
      show_tip(choose(far.indexOf(Math.min(...far))), event.clientX + 14, event.clientY + 14);
    });
    place.addEventListener('pointerleave', away);
    place.addEventListener('blur', away);
    let at = -1;
    keys(place, (down, right) => {
      at = Math.max(0, Math.min(chart.bars.length - 1, at + down + right));
      const words = choose(at);
      mark.scrollIntoView({ block: 'nearest' });
      const box = mark.getBoundingClientRect();
      show_tip(words, box.left + 24, box.bottom + 6);
    });
  };

  const drawn = new Map();
  const draw = async (chart, place) => {
    drawn.get(place)?.finalize();
    const compiled = vegaLite.compile(specification(chart, place), { logger: vega.logger(vega.Error) }).spec;
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
      expr: lanemarkInterpreter, renderer: 'svg', container: place, hover: true, logLevel: vega.Error, tooltip: show(chart),
    });
    drawn.set(place, view);
    await view.runAsync();
    // The marks do not have labels for screen readers; the container has a label and shows values for the arrow keys.
    for (const svg of place.querySelectorAll('svg')) svg.setAttribute('aria-hidden', 'true');
    place.dataset.drawn = 'yes';
    place.lanemarkView = view;
  };
  // The static picture remains until its chart is drawn, and on paper. The part outside the chart stays visible.
  const replace = (chart, still) => {
    if (chart.rest == null) return still.classList.add('under');
    const { width, height } = still.viewBox.baseVal;
    const rest = document.createElement('div');
    rest.className = 'rest';
    rest.style.aspectRatio = `${width} / ${height - chart.rest}`;
    still.before(rest);
    rest.append(still);
  };
  for (const hint of document.querySelectorAll('.hint')) hint.hidden = false;
  const places = new Map();
  const taken = new Set();
  const stills = new Map();
  for (const svg of document.querySelectorAll('figure > svg')) {
    const label = svg.getAttribute('aria-label');
    stills.set(label, [...(stills.get(label) ?? []), svg]);
  }
  for (const chart of charts) {
    const still = stills.get(chart.label)?.find((svg) => !taken.has(svg));
    if (!still) continue;
    taken.add(still);
    if (chart.bars) {
      point(chart, still);
      continue;
    }
    const place = document.createElement('div');
    place.className = 'live';
    application(place, chart.label);
    walk(chart, place);
    // The wheel zooms the focused chart, and over all other charts it scrolls the page.
    place.addEventListener('pointerdown', () => place.focus({ preventScroll: true }));
    place.addEventListener('wheel', (event) => {
      if (document.activeElement !== place) event.stopPropagation();
    }, { capture: true, passive: true });
    still.before(place);
    places.set(place, [chart, still]);
  }
  // Charts are drawn when they are near the window, so that a page of fifty runs opens quickly.
  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      const [chart, still] = places.get(target);
      draw(chart, target).then(() => replace(chart, still));
    }
  }, { rootMargin: '600px' });
  for (const place of places.keys()) near.observe(place);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const [place, [chart]] of places) if (drawn.has(place)) draw(chart, place);
  });
})();
