// A link to an answer opens it.
(function () {
  "use strict";
  const open = function () {
    const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const step = at && at.closest("details");
    if (step) { step.open = true; step.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  document.addEventListener("DOMContentLoaded", open);
  document.addEventListener("click", function (e) {
    const link = e.target instanceof Element && e.target.closest('a[href^="#answer-"]');
    if (link && link.getAttribute("href") === location.hash) open(); // no hashchange for where one is already
  });
})();
