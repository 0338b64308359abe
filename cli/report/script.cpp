// The script of a report: draws the curves and shows the values under the pointer.
// Texts from files only become text nodes.
#include "tandem/cli/report/page.h"

namespace tandem::cli {

const char* const kReportScript = R"js(
'use strict';
(() => {
const data = JSON.parse(document.getElementById('curves-data').textContent);
const hidden = new Set();   // runs that are switched off
const parts = new Set(data.panels.flatMap(panel => panel.curves.map(curve => curve.part)).filter(part => part));
const beside = parts.has('test') && parts.has('validation') ? ' beside' : '';   // the latter is then dotted
const panels = [];

function make(parent, name, attributes = {}, text) {
  const svg = parent.namespaceURI.endsWith('svg') || name === 'svg';
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
}
const color = run => 'c' + run % 8 + (run > 7 ? ' again' : '');
const drawable = value => value !== null && Number.isFinite(value) && Math.abs(value) <= 1e15;

function format(value, share) {
  if (share) return (100 * value).toFixed(2) + ' %';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15 || size >= 1000 && size < 1e9)
    return value.toLocaleString('en-US', {maximumFractionDigits: 1});
  return size >= 1e-4 && size < 1e9 || size === 0 ? String(+value.toPrecision(5)) : value.toExponential(3);
}

// Round numbers from low to high, about `count` of them; steps of 1, 2 or 5 times a power of ten.
function ticks(low, high, count, least) {
  const rough = Math.max((high - low) / count, least || 0, 1e-12);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough * 0.999);
  if (least) step = Math.max(step, least);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) out.push(i * step || 0);   // not -0
  return {values: out, step};
}

function scales(panel, width, height) {
  const xs = [], ys = [];
  for (const curve of panel.visible)
    curve.x.forEach((x, i) => { if (drawable(x) && drawable(curve.y[i])) { xs.push(x); ys.push(curve.y[i]); } });
  const least = list => list.reduce((a, b) => Math.min(a, b), Infinity), most = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
  let x0 = least(xs), x1 = most(xs), y0 = least(ys), y1 = most(ys);
  if (!xs.length) { x0 = 0; x1 = 1; y0 = 0; y1 = 1; }
  if (x0 === x1) { x0 -= 1; x1 += 1; }
  const log = panel.log && y0 > 0;
  const to = log ? Math.log10 : v => v;
  let low = to(y0), high = to(y1);
  const pad = Math.max((high - low) * 0.06, Math.abs(high) * (high > low ? 1e-3 : 0.1), 1e-9);
  low = !log && y0 >= 0 ? Math.max(0, low - pad) : low - pad;
  high += pad;
  if (panel.share) high = Math.min(high, 1.01);
  let labels;
  if (log) {
    labels = [];
    const fine = high - low < 1.5 ? [1, 2, 3, 5, 7] : high - low < 4 ? [1, 2, 5] : [1];
    for (let e = Math.floor(low); e <= high; ++e)
      for (const m of fine) if (Math.log10(m) + e >= low && Math.log10(m) + e <= high) labels.push(m * 10 ** e);
  } else {
    labels = ticks(low, high, height < 240 ? 4 : 6);
    const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(labels.step * (panel.share ? 100 : 1)) - 1e-9)));
    panel.tickText = v => panel.share ? (100 * v).toFixed(digits) + ' %' : Math.abs(v) >= 1e6 ? v.toExponential(1) :
      v.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
    labels = labels.values;
  }
  if (log) panel.tickText = v => v >= 1e5 || v < 1e-3 ? v.toExponential(0) : String(+v.toPrecision(2));
  const longest = labels.reduce((n, v) => Math.max(n, panel.tickText(v).length), 1);
  const box = {left: 14 + 7 * longest, right: width - 12, top: 8, bottom: height - 40};
  return {
    box, labels, xTicks: ticks(x0, x1, Math.max(2, Math.min(10, (box.right - box.left) / 60)), 1).values,
    x: v => box.left + (v - x0) / (x1 - x0) * (box.right - box.left),
    y: v => box.bottom - (to(v) - low) / (high - low) * (box.bottom - box.top),
  };
}

function draw(panel) {
  const width = panel.holder.clientWidth, height = width < 420 ? 230 : 270;
  if (!width) return;
  panel.visible = panel.curves.filter(curve => !hidden.has(curve.run));
  const s = panel.scale = scales(panel, width, height);
  const svg = panel.svg;
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('height', height);
  for (const v of s.labels) {
    make(svg, 'line', {class: 'grid', x1: s.box.left, x2: s.box.right, y1: s.y(v), y2: s.y(v)});
    make(svg, 'text', {x: s.box.left - 8, y: s.y(v) + 4, 'text-anchor': 'end'}, panel.tickText(v));
  }
  make(svg, 'line', {class: 'base', x1: s.box.left, x2: s.box.right, y1: s.box.bottom, y2: s.box.bottom});
  for (const v of s.xTicks) {
    make(svg, 'line', {class: 'base', x1: s.x(v), x2: s.x(v), y1: s.box.bottom, y2: s.box.bottom + 4});
    make(svg, 'text', {x: s.x(v), y: s.box.bottom + 18, 'text-anchor': 'middle'}, v.toLocaleString('en-US'));
  }
  make(svg, 'text', {x: (s.box.left + s.box.right) / 2, y: height - 5, 'text-anchor': 'middle'}, panel.axis);
  for (const curve of panel.visible) {
    let path = '', down = false;
    curve.x.forEach((x, i) => {
      const good = drawable(x) && drawable(curve.y[i]);
      if (good && !down && !drawable(curve.y[i + 1]))   // no line goes through it
        make(svg, 'circle', {class: `dot ${color(curve.run)} ${curve.part}`, cx: s.x(x), cy: s.y(curve.y[i]), r: 4.5});
      else if (good) path += `${down ? 'L' : 'M'}${s.x(x).toFixed(1)},${s.y(curve.y[i]).toFixed(1)}`;
      down = good;
    });
    make(svg, 'path', {class: `curve ${color(curve.run)} ${curve.part}${beside}${curve.within ? ' within' : ''}`, d: path});
    const best = curve.part === 'train' || curve.x.length < 2 ? undefined : curve.best;
    if (best !== undefined && drawable(curve.x[best]) && drawable(curve.y[best])) {
      const ring = make(svg, 'circle', {class: `ring ${color(curve.run)}`, cx: s.x(curve.x[best]), cy: s.y(curve.y[best]), r: 5.5});
      make(ring, 'title', {}, 'best epoch');
    }
  }
  panel.marks = make(svg, 'g');
  const all = new Set();
  panel.read = panel.visible.filter(curve => !curve.within);   // values within epochs only where there are no others
  if (!panel.read.length) panel.read = panel.visible;
  for (const curve of panel.read) curve.x.forEach((x, i) => { if (drawable(x) && drawable(curve.y[i])) all.add(x); });
  panel.xs = [...all].sort((a, b) => a - b);
  hide(panel);
}

function hide(panel) {
  panel.tooltip.hidden = true;
  panel.at = -1;
  panel.marks.replaceChildren();
}

// Shows the values at the place `at` of panel.xs.
function show(panel, at) {
  if (at === panel.at || at < 0 || at >= panel.xs.length) return;
  hide(panel);
  panel.at = at;
  const x = panel.xs[at], s = panel.scale, tip = panel.tooltip;
  make(panel.marks, 'line', {class: 'cursor', x1: s.x(x), x2: s.x(x), y1: s.box.top, y2: s.box.bottom});
  tip.replaceChildren();
  make(tip, 'b', {}, `${panel.axis} ${x.toLocaleString('en-US')}`);
  const table = make(tip, 'table');
  for (const curve of panel.read) {
    const i = curve.x.indexOf(x);
    if (i < 0 || !drawable(curve.y[i])) continue;
    make(panel.marks, 'circle', {class: `dot ${color(curve.run)}`, cx: s.x(x), cy: s.y(curve.y[i]), r: 4});
    const row = make(table, 'tr'), name = make(row, 'td');
    make(name, 'i', {class: `swatch ${color(curve.run)}`});
    name.append([data.runs.length > 1 ? data.runs[curve.run] : '', curve.within ? '' : curve.part].filter(t => t).join(', ') || panel.title);
    make(row, 'td', {class: 'number'}, format(curve.y[i], panel.share));
  }
  tip.classList.toggle('dense', table.rows.length > 12);
  tip.hidden = false;
  const room = panel.figure.clientWidth, offset = panel.holder.offsetLeft + s.x(x);
  const right = offset + 14 + tip.offsetWidth <= room - 4;
  tip.style.left = Math.max(4, right ? offset + 14 : offset - 14 - tip.offsetWidth) + 'px';
  tip.style.top = panel.holder.offsetTop + 12 + 'px';
}

function point(panel, event) {
  const frame = panel.svg.getBoundingClientRect(), at = event.clientX - frame.left;
  let best = -1;
  panel.xs.forEach((x, i) => {
    if (best < 0 || Math.abs(panel.scale.x(x) - at) < Math.abs(panel.scale.x(panel.xs[best]) - at)) best = i;
  });
  show(panel, best);
}

function press(panel, event) {
  const last = panel.xs.length - 1;
  const to = {ArrowLeft: Math.max(0, panel.at - 1), ArrowRight: Math.min(last, panel.at + 1), Home: 0, End: last}[event.key];
  if (event.key === 'Escape') hide(panel);
  if (to === undefined) return;
  event.preventDefault();
  show(panel, to);
}

function add(panel) {
  panels.push(panel);
  const figure = panel.figure = make(document.getElementById('panels'), 'figure', {class: 'panel'});
  const caption = make(figure, 'figcaption');
  make(caption, 'span', {}, panel.title);
  const values = panel.curves.flatMap(curve => curve.y.filter(drawable));
  if (!panel.share && values.length && values.every(v => v > 0)) {
    const button = make(caption, 'button', {type: 'button', 'aria-pressed': 'false'}, 'log scale');
    button.addEventListener('click', () => {
      panel.log = !panel.log;
      button.setAttribute('aria-pressed', String(panel.log));
      draw(panel);
    });
  }
  panel.holder = make(figure, 'div');
  panel.svg = make(panel.holder, 'svg', {
    tabindex: 0, role: 'img', 'aria-label': `${panel.title} by ${panel.axis}; arrow keys read the values`});
  panel.tooltip = make(figure, 'div', {class: 'tooltip', role: 'status', hidden: ''});
  panel.marks = make(panel.svg, 'g');
  panel.svg.addEventListener('pointermove', event => point(panel, event));
  panel.svg.addEventListener('pointerdown', event => point(panel, event));
  panel.svg.addEventListener('pointerleave', () => hide(panel));
  panel.svg.addEventListener('blur', () => hide(panel));
  panel.svg.addEventListener('keydown', event => press(panel, event));
  new ResizeObserver(() => draw(panel)).observe(panel.holder);
}

function legend() {
  const place = document.getElementById('legend');
  if (data.runs.length > 1)
    data.runs.forEach((name, run) => {
      const label = make(place, 'label');
      const box = make(label, 'input', {type: 'checkbox', checked: ''});
      make(label, 'i', {class: `swatch ${color(run)}`});
      label.append(name);
      box.addEventListener('change', () => {
        if (box.checked) hidden.delete(run); else hidden.add(run);
        panels.forEach(draw);
      });
    });
  for (const part of ['test', 'validation', 'train']) {
    if (!parts.has(part) || parts.size < 2) continue;
    const key = make(place, 'span', {class: 'key'});
    const svg = make(key, 'svg', {viewBox: '0 0 30 8', 'aria-hidden': 'true'});
    const lines = data.panels.some(p => p.curves.some(c => c.part === part && !c.within && c.x.length > 1));
    if (lines) make(svg, 'path', {class: `curve ${part}${beside}`, d: 'M2,4H28'});
    else make(svg, 'circle', {class: `dot ${part}`, cx: 15, cy: 4, r: 3.5});
    key.append(part);
  }
  if (data.panels.some(panel => panel.curves.some(curve => curve.part !== 'train' && curve.best !== undefined && curve.x.length > 1))) {
    const key = make(place, 'span', {class: 'key'});
    const svg = make(key, 'svg', {viewBox: '0 0 30 12', 'aria-hidden': 'true'});
    make(svg, 'circle', {class: 'ring', cx: 15, cy: 6, r: 4.5});
    key.append('best epoch');
  }
}

legend();
data.panels.forEach(add);
if (!panels.length) make(document.getElementById('panels'), 'p', {class: 'note'}, 'There are no metrics yet.');
})();
)js";

}  // namespace tandem::cli
