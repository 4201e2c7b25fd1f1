// A claim beside its sentence, or why a link is red. Everything shown stands in the page already: the links lead there without this.
(function () {
  "use strict";
  let box = null, opener = null;

  const close = function (back) {
    if (!box) return;
    box.remove();
    box = null;
    if (opener) {
      opener.setAttribute("aria-expanded", "false");
      if (back) opener.focus();
    }
    opener = null;
  };
  const place = function (at) {
    const gap = 8, frame = at.getBoundingClientRect(), width = box.offsetWidth;
    const left = Math.min(Math.max(frame.left, gap), document.documentElement.clientWidth - width - gap);
    const below = frame.bottom + gap, above = frame.top - gap - box.offsetHeight;
    const top = below + box.offsetHeight > innerHeight && above > 0 ? above : below;
    box.style.left = left + scrollX + "px";
    box.style.top = top + scrollY + "px";
  };
  const open = function (at, label, parts, way) {
    close(false);
    box = document.createElement("div");
    box.className = "popover";
    box.setAttribute("role", "dialog");
    box.setAttribute("aria-label", label);
    box.tabIndex = -1;
    const button = document.createElement("button");
    button.className = "close";
    button.type = "button";
    button.textContent = "×";
    button.setAttribute("aria-label", "Close");
    button.addEventListener("click", function () { close(true); });
    const last = document.createElement("p");
    const link = document.createElement("a");
    link.href = at.getAttribute("href");
    link.textContent = way;
    link.addEventListener("click", function () { close(false); });
    last.append(link);
    box.append(button, ...parts, last);
    document.body.append(box);
    opener = at;
    at.setAttribute("aria-expanded", "true");
    place(at);
    box.focus({ preventScroll: true });
  };
  const copied = function (claim) {
    const copy = claim.cloneNode(true);
    copy.removeAttribute("id");
    copy.querySelectorAll("[id]").forEach(function (e) { e.removeAttribute("id"); });
    return Array.from(copy.childNodes);
  };

  document.addEventListener("click", function (e) {
    if (!(e.target instanceof Element) || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    const at = e.target.closest("a.ref, a.wl.red");
    if (!at) {
      if (box && !box.contains(e.target)) close(false);
      return;
    }
    if (box && box.contains(at)) return;
    if (at === opener) { e.preventDefault(); close(true); return; }
    if (at.classList.contains("red")) {
      const why = document.createElement("p");
      why.textContent = at.title || "This name got no article.";
      e.preventDefault();
      open(at, "Why this link is red", [why], "The decision");
      return;
    }
    const claim = document.getElementById(at.getAttribute("href").slice(1));
    if (!claim) return;
    e.preventDefault();
    open(at, "Claim " + at.textContent.trim(), copied(claim), "All claims of this article");
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "Escape" && box) { e.preventDefault(); close(true); }
  });
  document.addEventListener("focusin", function (e) {
    if (box && e.target !== opener && !box.contains(e.target)) close(false);
  });
})();
