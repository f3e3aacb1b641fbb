// Lines over steps or time, drawn as SVG; pointer and arrow keys read the points.
import { svg, el, put } from "./dom.js";
import { t, at, date, minute, count } from "./words.js";

const LEFT = 52, RIGHT = 10, TOP = 8, FOOT = 24, HIGH = 190;

/** Round marks that span the values, `least` apart at least. */
export function marks(low, most, many, least = 0) {
  const high = most > low ? most : low + (Math.abs(low) || 1);
  const rough = (high - low) / many;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= Math.max(least, rough * 0.999)) ?? least;
  const first = Math.floor(low / step), last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, each) => (first + each) * step);
}

/** A card with a title, lines and what is read; `update` takes new lines: [{name, points: [[x, y|null]]}]. */
export function curve(title, { form, tick = form, steps = false, floor = null }) {
  const picture = svg("svg", { class: "curve", role: "img", tabindex: 0, "aria-label": `${title}. ${t("curve.keys")}` });
  const read = el("p", { class: "read", role: "status", "aria-live": "off" });
  const empty = el("p", { class: "soft" }, t("curve.empty"));
  const card = el("section", { class: "card" }, el("h2", {}, title), empty, picture, read);
  let lines = [], xs = [], scale = null, here = null;

  function draw() {
    const points = lines.flatMap((line) => line.points.filter(([, y]) => y != null));
    empty.hidden = points.length > 0;
    picture.toggleAttribute("hidden", points.length === 0);
    if (!points.length) return put(read);
    const wide = picture.clientWidth || 480;
    const ys = points.map(([, y]) => y);
    const ticks = marks(floor ?? Math.min(...ys), Math.max(...ys), 4, form === count ? 1 : 0);
    xs = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
    scale = {
      x: (value) => LEFT + ((value - xs[0]) / (xs.at(-1) - xs[0] || 1)) * (wide - LEFT - RIGHT),
      y: (value) => HIGH - FOOT - ((value - ticks[0]) / (ticks.at(-1) - ticks[0] || 1)) * (HIGH - FOOT - TOP),
    };
    put(picture,
      ticks.map((mark) => [
        svg("line", { class: "grid", x1: LEFT, x2: wide - RIGHT, y1: scale.y(mark), y2: scale.y(mark) }),
        svg("text", { x: LEFT - 7, y: scale.y(mark) + 4, "text-anchor": "end" }, tick(mark)),
      ]),
      below(wide),
      lines.map((line, number) => svg("path", { class: `line line-${number}`, d: path(line.points) })),
      here == null ? (xs.length > 1 ? null : dots()) : cross());
    tell();
  }

  function below(wide) {
    const span = xs.at(-1) - xs[0];
    const many = span ? Math.max(2, Math.min(6, Math.floor(wide / 120))) : 1;
    const said = (x) => (steps ? count(x) : span > 1.5 * 86400 ? date(x) : minute(x));
    return Array.from({ length: many }, (_, each) => {
      const x = xs[0] + (span * each) / Math.max(1, many - 1);
      const anchor = each === 0 ? "start" : each === many - 1 ? "end" : "middle";
      return svg("text", { x: scale.x(x), y: HIGH - 6, "text-anchor": anchor }, said(steps ? Math.round(x) : x));
    });
  }

  function path(points) {
    let gap = true;
    return points.map(([x, y]) => {
      if (y == null) { gap = true; return ""; }
      const word = gap ? "M" : "L";
      gap = false;
      return `${word}${scale.x(x).toFixed(1)} ${scale.y(y).toFixed(1)}`;
    }).join("");
  }

  const value = (line) => line.points.find(([x]) => x === xs[here ?? xs.length - 1])?.[1];

  function cross() {
    const x = scale.x(xs[here]);
    return [svg("line", { class: "cross", x1: x, x2: x, y1: TOP, y2: HIGH - FOOT }), dots()];
  }

  /** Where the lines are at the point that is read, which is the last one where none is. */
  function dots() {
    const x = scale.x(xs[here ?? xs.length - 1]);
    return lines.map((line, number) => (value(line) == null ? null
      : svg("circle", { class: `dot-${number}`, cx: x, cy: scale.y(value(line)), r: 4 })));
  }

  function tell() {
    const x = xs[here ?? xs.length - 1];
    put(read, el("span", {}, steps ? `${t("run.step")} ${count(x)}` : at(x)),
      lines.map((line, number) => el("span", {}, el("i", { class: `dot-${number}` }), `${line.name} `,
        el("b", {}, form(value(line))))));
    read.setAttribute("aria-live", here == null ? "off" : "polite");
  }

  function move(to) {
    here = to == null ? null : Math.max(0, Math.min(xs.length - 1, to));
    draw();
  }

  picture.addEventListener("pointermove", (event) => {
    const x = event.clientX - picture.getBoundingClientRect().left;
    let near = 0;
    xs.forEach((each, number) => { if (Math.abs(scale.x(each) - x) < Math.abs(scale.x(xs[near]) - x)) near = number; });
    move(near);
  });
  picture.addEventListener("pointerleave", () => move(null));
  picture.addEventListener("blur", () => move(null));
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !xs.length) return;
    event.preventDefault();
    event.stopPropagation();
    move((here ?? xs.length - (by > 0 ? 1 : 0)) + by);
  });
  const watch = new ResizeObserver(() => requestAnimationFrame(draw));
  watch.observe(card);
  return { card, update(next) { lines = next; draw(); }, close: () => watch.disconnect() };
}

/** A small line without numbers, for a row of a list. */
export function spark(all) {
  const points = all.filter(([, y]) => y != null);
  if (points.length < 2) return null;
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const low = Math.min(...ys), high = Math.max(...ys);
  const d = points.map(([x, y], number) =>
    `${number ? "L" : "M"}${(((x - xs[0]) / (xs.at(-1) - xs[0] || 1)) * 90).toFixed(1)} ${(22 - ((y - low) / (high - low || 1)) * 20).toFixed(1)}`).join("");
  return svg("svg", { class: "spark", viewBox: "0 0 90 24", "aria-hidden": "true", preserveAspectRatio: "none" }, svg("path", { d }));
}
