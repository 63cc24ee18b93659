// The charts of a quantised program: accuracy against time, and for each layer its noise, its time and its range.
// `make`, `draw` and `go` are those of page.js.




/** A drawing whose coordinates are pixels. */
function chart(width, height, label, ...children) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "chart" }, ...children);
}

function label(x, y, words, attributes = {}) {
  return draw("text", { x, y, ...attributes }, words);
}

function decibels(ratio) {
  return ratio === null ? "exact" : `${ratio.toFixed(1)} dB`;
}

/** Round numbers from about `low` to `high`, some five of them. */
function ticks(low, high) {
  const raw = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((digit) => digit * power).find((each) => each >= raw);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(Number(tick.toPrecision(6)));
  return found;
}

/** Outputs against time: a circle for each point, filled if it was measured. */
function curveChart(charts) {
  const points = charts.curve.filter((point) => point.time !== null && point.output !== null);
  const whole = charts.curve.find((point) => point.time !== null && point.output === null);
  if (!points.length) return [];
  const [width, height, left, right, top, bottom] = [640, 300, 60, 20, 20, 46];
  const times = [...points.map((point) => point.time), ...(whole ? [whole.time] : [])];
  const outputs = points.map((point) => point.output);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const [low, high] = [Math.min(...outputs) - 2, Math.max(...outputs) + 3];
  const margin = (last - first) * 0.05 || 1;
  const x = (time) => left + ((time - first + margin) / (last - first + 2 * margin)) * (width - left - right);
  const y = (output) => height - bottom - ((output - low) / (high - low)) * (height - top - bottom);
  const isChosen = (point) => point.measured && String(point.kept) === String(charts.kept);
  const [scale, unit] = last >= 1000 ? [1000, "ms"] : [1, "µs"];
  const drawing = chart(width, height, "Accuracy against time",
    ...ticks(low, high).flatMap((tick) => [
      draw("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: "grid" }),
      label(left - 6, y(tick) + 4, tick, { "text-anchor": "end" })]),
    ...ticks((first - margin) / scale, (last + margin) / scale).map((tick) =>
      label(x(tick * scale), height - bottom + 16, tick, { "text-anchor": "middle" })),
    label(left + (width - left - right) / 2, height - 8, `${unit} on one thread${charts.processor ? ` of ${charts.processor}` : ""}, predicted`, { "text-anchor": "middle" }),
    label(8, 12, "dB at the outputs"),
    draw("polyline", { points: points.map((point) => `${x(point.time)},${y(point.output)}`).join(" "), class: "curve" }),
    ...(whole ? [draw("line", { x1: x(whole.time), x2: x(whole.time), y1: top, y2: height - bottom, class: "whole" }),
      label(x(whole.time) - 5, top + 10, "all in float", { "text-anchor": "end" })] : []),
    ...points.map((point) => draw("circle", {
      cx: x(point.time), cy: y(point.output), r: isChosen(point) ? 7 : 4.5,
      class: ["point", point.measured ? "measured" : "", isChosen(point) ? "picked" : ""].join(" ").trim(),
    }, draw("title", {}, `${point.kept.length} layers in float: ${decibels(point.output)}, ${microseconds(point.time)}` +
      Object.entries(point.metric).map(([name, value]) => `, ${name} ${value}`).join("") +
      (point.measured ? "" : " (estimated)")))));
  return [make("h2", {}, "Accuracy against time"),
    make("p", { class: "faint" }, "Layers go to float one after the other: those first that take most noise away for each " +
      "microsecond. Filled points were measured, others follow from the noises of the layers; the large one was chosen."), drawing];
}

/** How often values occur, by the square root, over the range that integers reach. */
function histogram(layer, width = 220, height = 44) {
  const most = Math.sqrt(Math.max(...layer.histogram));
  const edge = Math.max(layer.reach, ...(layer.chosen ?? [0]).map(Math.abs)) || 1;
  const x = (value) => ((value / edge + 1) / 2) * width;
  const thick = (width * layer.reach) / edge / layer.histogram.length;
  return chart(width, height, `Values of ${layer.name}`,
    ...(layer.chosen ? [draw("rect", { x: x(layer.chosen[0]), y: 0, width: x(layer.chosen[1]) - x(layer.chosen[0]), height: height - 12, class: "reach" })] : []),
    ...layer.histogram.map((share, index) => {
      const tall = most ? (Math.sqrt(share) / most) * (height - 14) : 0;
      return draw("rect", { x: x(-layer.reach) + index * thick, y: height - 12 - tall, width: Math.max(thick - 0.5, 0.5), height: tall, class: "count" });
    }),
    label(0, height - 1, Number((-edge).toPrecision(3))),
    label(width, height - 1, Number(edge.toPrecision(3)), { "text-anchor": "end" }),
    draw("title", {}, layer.chosen
      ? `integers reach from ${layer.chosen.map((bound) => bound.toPrecision(4)).join(" to ")}; values from ${layer.range.map((bound) => bound.toPrecision(4)).join(" to ")}`
      : "the result stays in float"));
}

/** A row of the table: noise and time as bars, values with the range that was chosen. */
function layerRow(layer, noise, slowest) {
  const stage = data.stages.findIndex((each) => opNamed(each, layer.name) >= 0);
  const length = (share) => `width: ${Math.min(100 * Math.max(share, 0), 100).toFixed(1)}%`;
  const choose = () => stage >= 0 && go({ stage: data.stages.length - 1, op: lastOp(layer.name), view: "charts" });
  return make("tr", { class: "layer", onclick: choose },
    make("td", {}, layer.name, make("div", { class: "faint" }, layer.module || layer.operator)),
    make("td", {}, decibels(layer.outputs), make("div", { class: "bar" }, make("i", { style: length(noise) }))),
    make("td", {}, layer.time === null ? "?" : layer.time < 0 ? `−${microseconds(-layer.time)}` : microseconds(layer.time),
      make("div", { class: "bar time" }, make("i", { style: length(layer.time / slowest) }))),
    make("td", {}, ...(layer.histogram.length ? [histogram(layer)] : [])));
}

function opNamed(stage, name) {
  return stage.ops.findIndex((op) => !op.constant && op.places.some((place) => data.places[place][4] === name));
}

/** The op of the last stage that comes from a layer; -1 if there is none. */
function lastOp(name) {
  return opNamed(data.stages[data.stages.length - 1], name);
}

function showCharts() {
  const charts = data.charts;
  for (const button of document.querySelectorAll("[data-view=charts]")) button.hidden = !charts;
  if (!charts) return;
  const noises = charts.layers.map((layer) => (layer.outputs === null ? 0 : 10 ** (-layer.outputs / 10)));
  const loudest = Math.max(...noises) || 1;
  const slowest = Math.max(...charts.layers.map((layer) => layer.time ?? 0)) || 1;
  const costs = Object.entries(charts.costs);
  $("charts").replaceChildren(
    make("p", {}, `Outputs ${decibels(charts.output)} from the float program; ${charts.layers.length} layers on integers` +
      (charts.kept.length ? `, ${charts.kept.length} in float.` : ".")),
    ...curveChart(charts),
    ...(costs.length ? [make("h2", {}, "In float"), make("ul", {}, ...costs.map(([name, took]) =>
      make("li", {}, `${name} costs ${took < 0 ? "−" : ""}${microseconds(Math.abs(took))}`)))] : []),
    make("h2", {}, "Layers"),
    make("p", { class: "faint" }, "Noise at the outputs of a layer alone, what it would cost in float, and its values with " +
      "the range that its integers reach (by the square root)."),
    make("table", {}, make("thead", {}, make("tr", {}, ...["Layer", "Noise at the outputs", "Time in float", "Values"].map((title) => make("th", {}, title)))),
      make("tbody", {}, ...charts.layers.map((layer, index) => layerRow(layer, noises[index] / loudest, slowest)))));
}
