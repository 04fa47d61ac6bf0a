// Only an enhancement: everything works without it.
"use strict";

// A question takes a moment: show that it is on its way, and do not send it twice.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", () => {
    form.setAttribute("aria-busy", "true");
    for (const button of form.querySelectorAll("button")) button.disabled = true;
  });
}

// Coming back with the browser's own button: forms can be used again.
window.addEventListener("pageshow", () => {
  for (const button of document.querySelectorAll("button")) button.disabled = false;
});
