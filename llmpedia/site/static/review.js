// Keys for a review, and every answer saved as it is entered. The form works without this.
(function () {
  "use strict";
  const WAIT_MS = 700;
  const form = document.getElementById("decide");
  if (!form) return;
  const status = document.getElementById("saved");
  const decided = document.getElementById("decided");
  const comment = form.elements.namedItem("comment");
  const seen = form.elements.namedItem("seen");
  let timer = 0, last = "", queue = Promise.resolve(true);

  const fields = function () { return new URLSearchParams(new FormData(form)); };
  const entered = function () {
    const told = fields();
    told.delete("seen"); // changes with what is saved
    return told.toString();
  };
  last = entered();
  form.querySelectorAll("[hidden]").forEach(function (part) { if (part.tagName !== "INPUT") part.hidden = false; });

  const send = async function () {
    const now = entered();
    if (now === last) return true;
    status.textContent = "Saving …";
    try {
      const answer = await fetch(form.action, { method: "POST", body: fields(), headers: { Accept: "application/json" }, keepalive: true });
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.told);
      last = now;
      seen.value = told.seen;
      decided.textContent = String(told.decided);
      status.textContent = told.problem ? "Saved, but it " + told.problem : "Saved";
      return true;
    } catch (_) {
      status.textContent = "Not saved yet: press Save to see why.";
      return false;
    }
  };
  const save = function () { // one after the other: each needs what the one before has come to
    clearTimeout(timer);
    queue = queue.then(send);
    return queue;
  };
  const go = async function (rel) {
    const link = document.querySelector('a[rel="' + rel + '"]');
    if (await save()) { if (link) location.assign(link.href); } else form.requestSubmit();
  };

  form.addEventListener("change", save);
  form.addEventListener("input", function (e) {
    if (e.target.type === "radio") return;
    clearTimeout(timer);
    status.textContent = "";
    timer = setTimeout(save, WAIT_MS);
  });
  form.addEventListener("submit", function (e) {
    if (form.dataset.going) return;
    e.preventDefault(); // what is on its way changes what this one must say
    clearTimeout(timer);
    queue.then(function () { form.dataset.going = "1"; form.submit(); });
  });
  addEventListener("pageshow", function () { delete form.dataset.going; });
  addEventListener("pagehide", function () { if (!form.dataset.going) save(); });
  document.addEventListener("click", function (e) { // a link away waits for what is being entered
    const link = e.target instanceof Element && e.target.closest('a[rel="next"], a[rel="prev"]');
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    go(link.rel);
  });
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const at = e.target;
    const typing = at instanceof HTMLElement && (/^(TEXTAREA|SELECT)$/.test(at.tagName) || (at.tagName === "INPUT" && at.type !== "radio"));
    if (typing) {
      if (e.key === "Escape" && form.contains(at)) at.blur();
      return;
    }
    const choice = Array.from(form.querySelectorAll("input[data-keys]")).find(function (c) { return c.dataset.keys.split(" ").includes(e.key); });
    if (choice) { choice.checked = true; choice.focus({ preventScroll: true }); save(); }
    else if (e.key === "c") comment.focus();
    else if (e.key === "n") go("next");
    else if (e.key === "p") go("prev");
    else if (e.key === "o") form.requestSubmit();
    else return;
    e.preventDefault();
  });
})();
