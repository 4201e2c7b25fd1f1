// Titles as one types. The form works without this; "/" goes to it, arrows choose, Enter opens, Esc closes.
(function () {
  "use strict";
  const WAIT_MS = 120;
  const input = document.getElementById("q");
  if (!input) return;
  const list = document.getElementById("suggestions");
  const address = input.dataset.suggestions;
  const index = input.dataset.index;
  let chosen = -1, asked = 0, timer = 0;

  document.addEventListener("keydown", function (e) {
    const at = e.target;
    const typing = at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      input.focus();
      input.select();
    }
  });
  if (!list || !(address || index)) return;

  // A static site: its index is a script of its own, loaded with the first question.
  let loaded = null;
  const searched = async function (query, most) {
    const script = new URL(index, document.baseURI);
    loaded = loaded || import(script.href);
    const found = (await (await loaded).search(query)).results.slice(0, most);
    const data = await Promise.all(found.map(function (one) { return one.data(); }));
    return data.map(function (one) {
      return {
        name: one.meta.title,
        href: new URL("." + one.raw_url, new URL("..", script)).href,
        snippet: pieces(one.excerpt),
      };
    });
  };
  // An excerpt is HTML with <mark>: read in a document that runs and loads nothing, of which only texts are taken.
  const pieces = function (excerpt) {
    const read = new DOMParser().parseFromString(excerpt, "text/html");
    return Array.from(read.body.childNodes, function (node) {
      return { text: node.textContent, hit: node.nodeName === "MARK" };
    });
  };
  const served = async function (query) {
    const answer = await fetch(address + "?" + new URLSearchParams({ q: query }));
    if (!answer.ok) throw new Error(String(answer.status));
    return (await answer.json()).hits;
  };

  const close = function () {
    asked += 1; // an answer on its way comes too late
    clearTimeout(timer);
    list.hidden = true;
    list.replaceChildren();
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = function (n) {
    const items = list.children;
    if (!items.length) return;
    if (chosen >= 0) items[chosen].setAttribute("aria-selected", "false");
    chosen = (n + items.length) % items.length;
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[chosen].id);
  };
  const marked = function (parts) {
    return parts.map(function (part) {
      if (!part.hit) return document.createTextNode(part.text);
      const mark = document.createElement("mark");
      mark.textContent = part.text;
      return mark;
    });
  };
  const show = function (hits) {
    list.replaceChildren.apply(list, hits.map(function (hit, n) {
      const item = document.createElement("li");
      item.id = "suggestion-" + n;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.dataset.href = hit.href;
      const name = document.createElement("span");
      name.className = "name";
      name.textContent = hit.name;
      const bit = document.createElement("span");
      bit.className = "bit";
      bit.append.apply(bit, marked(hit.snippet));
      item.append(name, bit);
      return item;
    }));
    chosen = -1;
    list.hidden = hits.length === 0;
    input.setAttribute("aria-expanded", String(hits.length > 0));
  };
  const ask = async function () {
    const query = input.value.trim();
    const mine = ++asked;
    if (!query) { close(); return; }
    try {
      const hits = await (index ? searched(query, 8) : served(query));
      if (mine === asked) show(hits);
    } catch (_) {
      if (mine === asked) close(); // Enter still asks the search page
    }
  };
  input.addEventListener("input", function () {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  });
  input.addEventListener("keydown", function (e) {
    if (e.key === "Escape") { if (list.hidden) input.blur(); else { e.preventDefault(); close(); } }
    else if (list.hidden) return;
    else if (e.key === "ArrowDown") { e.preventDefault(); choose(chosen + 1); }
    else if (e.key === "ArrowUp") { e.preventDefault(); choose(chosen < 0 ? -1 : chosen - 1); }
    else if (e.key === "Enter" && chosen >= 0) { e.preventDefault(); location.assign(list.children[chosen].dataset.href); }
  });
  list.addEventListener("mousedown", function (e) { e.preventDefault(); }); // keeps the focus where it is
  list.addEventListener("click", function (e) {
    const item = e.target.closest("li");
    if (item) location.assign(item.dataset.href);
  });
  input.addEventListener("blur", close);

  const page = document.getElementById("found");
  const asking = new URLSearchParams(location.search).get("q");
  if (!page || !index || !asking) return;
  const status = document.getElementById("found-status");
  input.value = asking;
  searched(asking, 40).then(function (hits) {
    status.textContent = (hits.length >= 40 ? "The first 40" : hits.length) + " found for " + asking;
    page.replaceChildren.apply(page, hits.map(function (hit) {
      const item = document.createElement("li"), link = document.createElement("a"), bit = document.createElement("p");
      link.className = "title";
      link.href = hit.href;
      link.textContent = hit.name;
      bit.append.apply(bit, marked(hit.snippet));
      item.append(link, bit);
      return item;
    }));
  }, function () { /* what the page says already: it needs a web server */ });
})();
