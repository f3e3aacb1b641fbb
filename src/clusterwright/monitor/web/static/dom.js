// Elements without markup: text is only ever text, so a job's name cannot become anything else.

/** An element with attributes, listeners (`on: {click}`) and children; texts, elements, or lists of both. */
export function el(name, props = {}, ...children) {
  return filled(document.createElement(name), props, children);
}

/** The same for drawings. */
export function svg(name, props = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), props, children);
}

function filled(element, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value == null || value === false) continue;
    if (key === "on") for (const [event, hear] of Object.entries(value)) element.addEventListener(event, hear);
    else if (key === "style") for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(4).filter((child) => child != null && child !== false));
  return element;
}

/** The element with exactly these children. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(4).filter((child) => child != null && child !== false));
  return element;
}

/** A bar of a ratio with its number; a mark where another ratio lies. */
export function meter(ratio, { text, low = false, long = false, mark = null } = {}) {
  const wide = (value) => `${Math.min(100, Math.max(0, value * 100))}%`;
  return ratio == null ? el("span", { class: "soft" }, "–") : el("span", { class: "metered" },
    el("span", { class: `meter${low ? " low" : ""}${long ? " long" : ""}`, "aria-hidden": "true" },
      el("i", { style: { width: wide(ratio) } }), mark == null ? null : el("u", { style: { left: wide(mark) } })),
    text);
}

/** Two columns of what is known; rows without a value are left out. */
export function facts(rows) {
  const known = rows.filter(([, value]) => value != null && value !== "" && value !== "–");
  return el("dl", { class: "facts" }, known.map(([name, value, broad]) =>
    el("div", { class: broad ? "broad" : null }, el("dt", {}, name), el("dd", {}, value))));
}
