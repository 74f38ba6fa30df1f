// Adds two buttons to a chart, which save it as SVG and PNG. A saved chart is one file: it contains the colours and
// fonts that the page's style sheet gives its marks.
const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap',
  'stroke-linejoin', 'stroke-opacity', 'opacity', 'display', 'visibility', 'font-family', 'font-size', 'font-weight',
  'font-variant-numeric', 'text-anchor', 'dominant-baseline', 'paint-order'];
// Pixels of a PNG per unit of the drawing.
const SCALE = 2;

// Returns the drawing as a separate file, and its size.
const standalone = (svg) => {
  const copy = svg.cloneNode(true);
  const marks = svg.querySelectorAll('*');
  copy.querySelectorAll('*').forEach((mark, index) => {
    const style = getComputedStyle(marks[index]);
    // An attribute `style` would need the page's permission for styles inside elements.
    STYLES.forEach((name) => mark.setAttribute(name, style.getPropertyValue(name)));
    mark.removeAttribute('class');
  });
  const { x, y, width, height } = svg.viewBox.baseVal;
  copy.removeAttribute('class');
  copy.setAttribute('width', width);
  copy.setAttribute('height', height);
  const ground = document.createElementNS(svg.namespaceURI, 'rect');
  Object.entries({ x, y, width, height, fill: getComputedStyle(document.body).backgroundColor })
    .forEach(([name, value]) => ground.setAttribute(name, value));
  copy.prepend(ground);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
};

const download = (blob, name) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

const saveSvg = (svg, name) => {
  download(new Blob([standalone(svg).text], { type: 'image/svg+xml' }), `${name}.svg`);
};

const savePng = async (svg, name) => {
  const { text, width, height } = standalone(svg);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = width * SCALE;
  canvas.height = height * SCALE;
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => download(blob, `${name}.png`), 'image/png');
};

// Adds the buttons to the end of a chart. `title` names the chart and its files.
export function save_buttons(figure, title) {
  const svg = figure.querySelector('svg[role=img]');
  if (!svg) return;
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chart';
  const row = document.createElement('p');
  row.className = 'save';
  [['SVG', saveSvg], ['PNG', savePng]].forEach(([kind, save]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = kind;
    button.setAttribute('aria-label', `Save “${title}” as ${kind}`);
    button.addEventListener('click', () => save(svg, name));
    row.append(button);
  });
  figure.append(row);
}
