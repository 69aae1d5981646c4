// Colours: as the system has them, light or dark. Runs before the page is drawn, so that nothing flashes.
"use strict";
{
  const themes = ["auto", "light", "dark"];
  const root = document.documentElement;
  const stored = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage is switched off
    }
  };
  const apply = (theme) => {
    root.dataset.theme = themes.includes(theme) ? theme : "auto";
    const button = document.getElementById("theme");
    if (button) button.textContent = { auto: "◐ auto", light: "☀ light", dark: "☾ dark" }[root.dataset.theme];
  };
  apply(stored());
  document.addEventListener("DOMContentLoaded", () => {
    apply(root.dataset.theme);
    document.getElementById("theme").addEventListener("click", () => {
      apply(themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length]);
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // then it lasts as long as the page
      }
    });
  });
}
