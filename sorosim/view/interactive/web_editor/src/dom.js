// Elements by one line.
export function make(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) out.addEventListener(name.slice(2), value);
    else if (name in out && name !== "list" && name !== "form") out[name] = value;
    else if (value !== false && value != null) out.setAttribute(name, value === true ? "" : value);
  }
  out.append(...children.filter((one) => one != null));
  return out;
}

// A dialog that asks for something; resolves to what its form says, or null.
export function ask(title, ...parts) {
  const fields = parts.filter(Boolean);
  return new Promise((resolve) => {
    const form = make("form", { method: "dialog" }, ...fields, make("input", { type: "submit", hidden: true }));
    const go = make("sl-button", { slot: "footer", variant: "primary", onclick: () => finish(true) }, "OK");
    const dialog = make("sl-dialog", { label: title }, form, make("sl-button", { slot: "footer", onclick: () => finish(false) }, "Cancel"), go);
    let answer = null;
    const finish = (yes) => {
      answer = yes ? Object.fromEntries(fields.flatMap((one) => [...one.querySelectorAll("[name]"), ...(one.name ? [one] : [])]).filter((one) => one.type !== "radio" || one.checked).map((one) => [one.name, one.value])) : null;
      dialog.hide();
    };
    form.addEventListener("submit", (event) => (event.preventDefault(), finish(true)));
    dialog.addEventListener("sl-after-hide", (event) => {
      if (event.target !== dialog) return;
      dialog.remove();
      resolve(answer);
    });
    dialog.addEventListener("sl-after-show", () => (form.querySelector("input:checked") ?? form.querySelector("input:not(:disabled),select"))?.focus());
    document.body.append(dialog);
    customElements.whenDefined("sl-dialog").then(() => dialog.show());
  });
}
