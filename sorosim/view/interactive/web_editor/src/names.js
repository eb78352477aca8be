// Names of what the page of the scene leaves without one: viser's sliders stand beside a label, its icons have tooltips.
const ICONS = { ".tabler-icon-list-search": "Find a command", ".tabler-icon-adjustments": "Settings of the scene", "[class*='Notification-closeButton'] svg": "Close the notice" };

function name(page) {
  for (const label of page.querySelectorAll("label[for]")) {
    const fields = [...(label.closest("p")?.parentElement?.parentElement?.querySelectorAll("[role='slider'], input[inputmode='decimal']") ?? [])];
    const several = fields.length > 2; // of a vector
    fields.forEach((one, k) => {
      const words = several ? `${label.textContent} ${"xyz"[k]}` : label.textContent;
      if (one.getAttribute("aria-label") !== words) one.setAttribute("aria-label", words);
    });
  }
  for (const [icon, words] of Object.entries(ICONS)) for (const one of page.querySelectorAll(icon)) one.closest("button")?.setAttribute("aria-label", words);
}

export function nameAll(page) {
  name(page);
  new MutationObserver(() => name(page)).observe(page.body, { childList: true, subtree: true });
}
