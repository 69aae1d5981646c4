// Formulas on the page. Everything from a document goes through KaTeX with trust off, or stays text.

const LONGEST = 3000; // characters; longer formulas would hold the page up
const glyphs = new Map(); // canonical token -> what KaTeX shows for it

/** An element with text and children; never markup. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function options(display) {
  // macros: a new object each time, so that no formula defines anything for the next one
  return { displayMode: display, throwOnError: true, trust: false, strict: "ignore", maxSize: 20, maxExpand: 500, macros: {} };
}

/** Renders LaTeX into an element; returns null, or in words why it could not be rendered. */
export function render(latex, target, display = true) {
  if (!window.katex) return "KaTeX is not installed on the server";
  if (latex.length > LONGEST) return `longer than ${LONGEST} characters`;
  try {
    window.katex.render(latex, target, options(display));
    return null;
  } catch (error) {
    target.replaceChildren();
    return String(error.message || error).replace(/^KaTeX parse error:\s*/, "");
  }
}

/** A result's formula: rendered with the shared symbols marked, or its text with the reason. */
export function formula(latex, shared, source) {
  const shown = element("div", { class: "formula" });
  const reason = render(latex, shown);
  if (reason === null) {
    markGlyphs(shown, shared);
    return shown;
  }
  return element("div", { class: "formula broken" }, marked(latex, source), element("p", { class: "reason" }, `Shown as text: ${reason}`));
}

/** The formula's own text, the shared symbols marked. */
export function marked(latex, source) {
  const pieces = source.length ? source : [[latex, false]];
  return element("code", {}, ...pieces.map(([text, hit]) => (hit ? element("mark", {}, text) : text)));
}

const SHAPES = { "\\frac": ".frac-line", "\\sqrt": ".sqrt .hide-tail" };

/** Marks in a rendered formula what stands for one of the tokens. The LaTeX is not touched: marks cannot be forged. */
function markGlyphs(rendered, tokens) {
  const visible = rendered.querySelector(".katex-html");
  if (!visible) return;
  const wanted = new Set(tokens.map(glyph).filter(Boolean));
  for (const token of tokens) {
    if (SHAPES[token]) visible.querySelectorAll(SHAPES[token]).forEach((shape) => shape.classList.add("hit"));
  }
  const walker = document.createTreeWalker(visible, NodeFilter.SHOW_TEXT);
  const leaves = [];
  while (walker.nextNode()) leaves.push(walker.currentNode);
  for (const leaf of leaves) markLeaf(leaf, wanted);
}

function markLeaf(leaf, wanted) {
  if (wanted.has(leaf.data.trim())) {
    leaf.parentElement.classList.add("hit");
  } else if (/^\d{2,}$/.test(leaf.data) && [...leaf.data].some((digit) => wanted.has(digit))) {
    // KaTeX joins digits; the canonical form does not
    leaf.replaceWith(...[...leaf.data].map((digit) => element("span", wanted.has(digit) ? { class: "hit" } : {}, digit)));
  }
}

function glyph(token) {
  if (!glyphs.has(token)) {
    const shown = element("span");
    const text = render(token, shown, false) === null ? shown.querySelector(".katex-html").textContent : "";
    glyphs.set(token, text.replace(/[\u200b\s]/g, ""));
  }
  return glyphs.get(token);
}
