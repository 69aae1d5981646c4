// The page: the box, the address, the keys. The address holds the query and the page number, so that going back,
// forward, reloading and sharing work; everything shown follows from it.

import { element, render } from "./math.js";
import { address, ask, card } from "./results.js";

const PER_PAGE = 10;
const EXAMPLES = [
  String.raw`\int_0^\infty e^{-x^2}\,dx`,
  String.raw`\sum_{n=1}^\infty \frac{1}{n^2}`,
  String.raw`a^2+b^2=c^2`,
  String.raw`\Gamma(z+1) = z\,\Gamma(z)`,
  String.raw`\begin{pmatrix} a & b \\ c & d \end{pmatrix}`,
  String.raw`f(x) = \frac{1}{\sigma\sqrt{2\pi}} e^{-\frac{(x-\mu)^2}{2\sigma^2}}`,
];
const [form, box, preview, status, start, results, pages] = ["form", "box", "preview", "status", "start", "results", "pages"].map(
  (id) => document.getElementById(id),
);
let running = new AbortController();

/** What the address asks for. */
function wanted() {
  const parameters = new URLSearchParams(location.search);
  const page = Number.parseInt(parameters.get("page") ?? "1", 10);
  return { query: (parameters.get("q") ?? "").trim(), page: page >= 1 && page <= 100 ? page : 1 };
}

/** Goes to an address without leaving the page. */
function go(url) {
  if (url !== location.pathname + location.search) history.pushState(null, "", url);
  window.scrollTo(0, 0);
  show();
}

/** Shows what the address asks for. */
async function show() {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const { query, page } = wanted();
  if (box.value.trim() !== query) box.value = query;
  showPreview();
  document.title = query ? `${query.slice(0, 60)} · Formdex` : "Formdex";
  start.hidden = query !== "";
  pages.hidden = true;
  if (!query) {
    results.replaceChildren();
    say("");
    return;
  }
  say("Searching…");
  try {
    const parameters = new URLSearchParams({ q: query, n: PER_PAGE, offset: (page - 1) * PER_PAGE });
    const answer = await ask(`/api/search?${parameters}`, signal);
    results.replaceChildren(...answer.results.map(card));
    describe(answer);
    showPages(query, page, answer.total);
  } catch (error) {
    if (signal.aborted) return;
    results.replaceChildren();
    say(error.message, true);
  }
}

function say(text, wrong = false) {
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
}

function describe(answer) {
  if (!answer.total) {
    say("The index holds no formulas. Collect some documents and build it again.");
  } else if (!answer.results.length) {
    say(`There are only ${answer.total} results. Go back to an earlier page.`);
  } else {
    const last = answer.offset + answer.results.length;
    say(`Results ${answer.offset + 1} to ${last} of the best ${answer.total}, in ${answer.took_ms.toFixed(1)} ms.`);
  }
}

function showPages(query, page, total) {
  const last = Math.max(1, Math.ceil(total / PER_PAGE));
  const link = (to, text, rel) => element("a", { href: address(query, to), rel, class: rel }, text);
  pages.replaceChildren();
  if (page > 1) pages.append(link(Math.min(page - 1, last), "← Previous", "prev"));
  pages.append(element("span", {}, `Page ${page} of ${last}`));
  if (page < last) pages.append(link(page + 1, "Next →", "next"));
  pages.hidden = last === 1 && page === 1;
}

/** The formula in the box, rendered; or why it cannot be. */
function showPreview() {
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + 2}px`;
  const latex = box.value.trim();
  preview.replaceChildren();
  preview.className = "";
  if (!latex) return;
  const reason = render(latex, preview);
  if (reason !== null) {
    preview.className = "broken";
    preview.replaceChildren(element("code", {}, latex), element("p", { class: "reason" }, `Not rendered: ${reason}. It can be searched all the same.`));
  }
}

function step(by) {
  const items = [...results.children];
  const at = items.indexOf(document.activeElement?.closest?.(".result"));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(items.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => (box.focus(), box.select()),
  j: () => step(1),
  k: () => step(-1),
  o: () => document.activeElement?.closest?.(".result")?.querySelector(".source")?.click(),
  s: () => document.activeElement?.closest?.(".result")?.querySelector(".similar")?.click(),
  n: () => pages.querySelector(".next")?.click(),
  p: () => pages.querySelector(".prev")?.click(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === box) {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape") {
      box.blur();
    }
    return;
  }
  if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  }
}

/** Links to searches stay on the page, unless they are to open elsewhere. */
function onClick(event) {
  const link = event.target.closest?.("a");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const url = new URL(link.href);
  if (url.origin === location.origin && url.pathname === "/" && !url.hash) {
    event.preventDefault();
    go(url.pathname + url.search);
  }
}

for (const latex of EXAMPLES) {
  const link = element("a", { href: address(latex), title: latex });
  if (render(latex, link, false) !== null) link.textContent = latex;
  document.getElementById("examples").append(element("li", {}, link));
}
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const latex = box.value.trim();
  go(latex ? address(latex) : "/");
  if (latex) results.focus({ preventScroll: true }); // out of the box, so that the keys work
});
box.addEventListener("input", showPreview);
document.addEventListener("keydown", onKey);
document.addEventListener("click", onClick);
window.addEventListener("popstate", show);
show();
