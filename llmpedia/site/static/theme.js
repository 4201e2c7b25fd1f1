// Light or dark as the reader chose last; without a choice the system's own. Loaded before the page is drawn.
(function () {
  "use strict";
  const root = document.documentElement;
  const kept = function () {
    try { return localStorage.getItem("theme"); } catch (_) { return null; } // storage may be forbidden
  };
  const keep = function (theme) {
    try { localStorage.setItem("theme", theme); } catch (_) { /* then for this page only */ }
  };
  const shown = function () {
    return root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  };
  const theme = kept();
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;

  document.addEventListener("DOMContentLoaded", function () {
    const button = document.getElementById("theme");
    if (!button) return;
    const tell = function () {
      const other = shown() === "dark" ? "light" : "dark";
      button.textContent = other === "dark" ? "Dark" : "Light";
      button.setAttribute("aria-label", "Change to " + other + " colours");
    };
    button.hidden = false;
    tell();
    button.addEventListener("click", function () {
      root.dataset.theme = shown() === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
      tell();
    });
  });
})();
