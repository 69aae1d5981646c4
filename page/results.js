// One result, and the places of its formula. Links lead to this service alone: addresses are made from numbers and
// percent-encoded queries, never taken from a document.

import { element, formula, marked } from "./math.js";

const PLACES = 20; // places asked for at a time

/** The address of a search. */
export function address(query, page = 1) {
  const parameters = new URLSearchParams({ q: query });
  if (page > 1) parameters.set("page", page);
  return `/?${parameters}`;
}

/** A result as a list item. */
export function card(result) {
  const item = element("li", { class: "result", tabindex: "-1", value: result.rank });
  const score = element("span", { class: "score", title: "score" }, result.score.toFixed(3));
  if (result.latex === null) {
    item.append(element("p", {}, `formula ${result.formula_id} `, score), element("p", { class: "reason" }, "Start the service with --collection to see it."));
    return item;
  }
  item.append(formula(result.latex, result.shared, result.source), where(result.place, result.formula_id, score));
  if (result.place) item.append(context(result.place, result.latex));
  item.append(tools(result));
  return item;
}

function where(place, id, ...more) {
  const line = element("p", { class: "where" });
  if (place) {
    const link = element("a", { class: "source", href: `/source/${BigInt(id)}`, title: "The lines around it" });
    link.append(`${place.path}:${place.line}`);
    line.append(link);
    if (place.title) line.append(element("span", { class: "title" }, place.title));
  } else {
    line.append(`formula ${id}`);
  }
  line.append(...more);
  return line;
}

function context(place, latex) {
  const middle = latex.length > 120 ? `${latex.slice(0, 120)}…` : latex;
  return element("p", { class: "context" }, `…${place.before} `, element("code", {}, middle), ` ${place.after}…`);
}

function tools(result) {
  const line = element("p", { class: "tools" });
  line.append(element("a", { class: "similar", href: address(result.latex) }, "Search for this one"));
  const source = element("details", {}, element("summary", {}, "LaTeX"));
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(result.latex);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Select it and copy";
    }
  });
  source.append(element("div", {}, marked(result.latex, result.source), copy));
  line.append(source);
  if (result.group_size > 1) {
    const more = element("details", { class: "places" }, element("summary", {}, `${result.group_size} occurrences`));
    more.addEventListener("toggle", () => more.open && more.childElementCount === 1 && fill(more, result.formula_id, 0));
    line.append(more);
  }
  return line;
}

/** Appends the next places of a formula, and a button if there are more. */
async function fill(target, id, offset) {
  const list = element("ul");
  target.append(list);
  try {
    const answer = await ask(`/api/formula/${BigInt(id)}?n=${PLACES}&offset=${offset}`);
    list.append(...answer.places.map((one) => element("li", {}, where(one.place, one.formula_id))));
    const next = offset + answer.places.length;
    if (next < answer.total && answer.places.length) {
      const more = element("button", { type: "button" }, `${answer.total - next} more`);
      more.addEventListener("click", () => {
        more.remove();
        fill(target, id, next);
      });
      target.append(more);
    }
  } catch (error) {
    list.append(element("li", { class: "reason" }, error.message));
  }
}

/** The JSON at an address of this service; an error in words if there is none. A busy service is asked again. */
export async function ask(url, signal, tries = 3) {
  let response;
  try {
    response = await fetch(url, { signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. Is it still running?");
  }
  if (response.status === 503 && tries > 1) {
    await new Promise((done) => setTimeout(done, 1000 * Number(response.headers.get("Retry-After") || 1)));
    signal?.throwIfAborted();
    return ask(url, signal, tries - 1);
  }
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok) throw new Error(response.status === 503 ? "Too many searches at once. Try again in a moment." : answer.error);
  return answer;
}
