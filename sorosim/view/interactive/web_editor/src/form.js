// Forms of parts, made of the declarations: a field for each key, with its unit, bounds and meaning.
import { make } from "./dom.js";
import { meaning, unit } from "./schema.js";

const NUMBER = /^\s*(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$/;
const bare = (text) => (/^'(?:[^']|'')*'$/.test(text) ? text.slice(1, -1).replaceAll("''", "'") : /^".*"$/s.test(text) ? JSON.parse(text) : text);

export class Form {
  constructor(form, text, schema, say) {
    Object.assign(this, { form, text, schema, say, path: [], sliding: false });
    form.addEventListener("submit", (event) => event.preventDefault());
    this.lists = make("div");
  }

  async change(what, path, given) {
    try {
      this.goal = what === "put" ? JSON.stringify([...path, given.key]).slice(0, -1) : null; // where who adds something goes on
      await this.text.edit(what, path, given);
    } catch (error) {
      this.say(error.message, true);
      this.show(this.path);
    }
  }

  show(path) {
    if (this.sliding) return;
    this.path = path;
    const active = this.form.contains(document.activeElement) ? document.activeElement : null;
    const at = active && [active.dataset.at, active.selectionStart, active.dataset.role];
    if (active?.matches("input[type=text]") && active.value !== active.defaultValue) return; // somebody types
    const node = this.text.node(path), shape = JSON.stringify([path, node && shapeOf(node)]);
    if (shape === this.shape && this.update()) return;
    this.shape = shape;
    this.lists.replaceChildren();
    if (!path.length) return this.form.replaceChildren(make("p", { className: "meaning" }, "What is selected among the parts is shown here, with all its numbers."));
    const forms = this.schema.at(path);
    const head = make("h2", { tabIndex: -1 }, path.join(" / ")), words = meaning(path.length > 1 ? this.words(path, node, forms) : forms);
    this.form.replaceChildren(head, words ? make("p", { className: "meaning" }, words) : "", node ? this.field(path, node, forms, true) : this.nothing(path), this.lists);
    if (at) {
      const fields = [...this.form.querySelectorAll("[data-at]")], goal = this.goal;
      const added = goal && fields.find((one) => one.dataset.at.startsWith(goal) && one.dataset.role !== "cross");
      const same = added || fields.find((one) => one.dataset.at === at[0] && one.dataset.role === at[2]);
      if (added) this.goal = null;
      (same ?? head).focus();
      if (same?.setSelectionRange && at[1] != null && same.type === "text") same.setSelectionRange(at[1], at[1]);
    }
  }

  // new values in the fields that are there; false where a slider's range does not hold them
  update() {
    for (const one of this.form.querySelectorAll("[data-at]")) {
      const node = this.text.node(JSON.parse(one.dataset.at)), value = node && bare(node[2]);
      if (one.dataset.role === "slider") {
        const number = Number(NUMBER.exec(value)[1]);
        if (one !== document.activeElement && (number < Number(one.min) || number > Number(one.max))) return false;
        one.value = number;
        one.setAttribute("aria-valuetext", value);
      } else if (one.type === "checkbox") one.checked = /true/i.test(value);
      else if (!one.dataset.role && one.value !== value) one.value = one.defaultValue = value;
    }
    return true;
  }

  words(path, node, forms) {
    const kind = node?.[5]?.[0]?.[0];
    const inner = kind != null && this.schema.isKind(forms) ? this.schema.at([...path, kind]) : [];
    return [...inner.filter((one) => one.description), ...forms];
  }

  nothing(path) {
    return make("p", { className: "meaning" }, `The file has no ${path.join(".")} yet.`);
  }

  // -- fields

  field(path, node, forms, open = false) {
    if (node[1] === "map") return this.map(path, node, forms, open);
    if (node[1] === "list") return this.list(path, node, forms);
    return this.scalar(path, node, forms);
  }

  label(path, forms, ...content) {
    const name = String(path[path.length - 1]), of = unit(forms);
    return make("label", { className: "row", title: meaning(forms) }, make("span", { className: "name" }, name, of ? make("small", {}, ` ${of}`) : ""), ...content);
  }

  scalar(path, node, forms) {
    const value = bare(node[2]), at = JSON.stringify(path), name = path.join(" ");
    const choice = forms.find((one) => one.enum), names = forms.find((one) => one["x-names"])?.["x-names"];
    const set = (yaml) => this.change("set", path, { yaml });
    if (forms.some((one) => one.type === "boolean") && /^(true|false)$/i.test(value))
      return this.label(path, forms, make("input", { type: "checkbox", checked: /true/i.test(value), "data-at": at, "aria-label": name, onchange: (event) => set(String(event.target.checked)) }));
    if (choice && (choice.enum.includes(value) || choice.enum.map(String).includes(value)) && !forms.some((one) => one.type === "object"))
      return this.label(path, forms, make("select", { "data-at": at, "aria-label": name, onchange: (event) => set(event.target.value) }, ...choice.enum.map((one) => make("option", { value: String(one), selected: String(one) === value }, String(one)))));
    const input = make("input", { type: "text", value, "data-at": at, "aria-label": name, "aria-description": meaning(forms) || null, spellcheck: false, autocomplete: "off", list: names ? this.listOf(names) : null });
    input.defaultValue = value;
    input.addEventListener("change", () => {
      input.defaultValue = input.value;
      set(quoted(input.value));
    });
    return this.label(path, forms, input, this.slider(path, value, forms, input));
  }

  listOf(block) {
    const id = `names-${block}`;
    if (!this.lists.querySelector(`#${id}`)) this.lists.append(make("datalist", { id }, ...[...this.text.names(block), ...(block === "links" ? ["world"] : [])].map((value) => make("option", { value }))));
    return id;
  }

  // a number that moves the robot at once; the text changes when it is let go
  slider(path, value, forms, input) {
    const found = NUMBER.exec(value);
    if (!found || !forms.some((one) => [one.type].flat().includes("number") || one.type === "integer")) return null;
    const whole = forms.every((one) => one.type !== "number" && ![one.type].flat().includes("number"));
    const number = Number(found[1]), of = found[2];
    if (whole || /[^\w^*/°%. -]/.test(of)) return null;
    const plain = !of, ends = forms.find((one) => "minimum" in one || "exclusiveMinimum" in one || "maximum" in one) ?? {};
    const least = ends.minimum ?? ends.exclusiveMinimum ?? -Infinity, most = ends.maximum ?? Infinity;
    const size = Math.abs(number) || 1;
    let low = number > 0 && (least >= 0 || number > 0) ? number / 5 : number - 2 * size, high = number > 0 ? number * 3 : number + 2 * size;
    if (plain) [low, high] = [Math.max(low, least), Math.min(high, most)];
    const step = 10 ** (Math.floor(Math.log10(size)) - 2), digits = Math.max(0, -Math.floor(Math.log10(step)));
    const text = (x) => `${Number(Number(x).toFixed(Math.min(digits, 20)))}${of ? " " + of : ""}`;
    const slider = make("input", { type: "range", min: low, max: high, step, value: number, "data-at": JSON.stringify(path), "data-role": "slider", "aria-label": `${path.join(" ")}, slider`, "aria-valuetext": value });
    slider.value = number;
    let sending = false, next = null;
    const send = async () => {
      if (sending) return;
      sending = true;
      while (next !== null) {
        const now = next;
        next = null;
        try {
          await this.text.link.ask("slide", { path: dotted(path), value: now });
        } catch (error) {
          this.say(error.message, true);
        }
      }
      sending = false;
    };
    slider.addEventListener("input", () => {
      this.sliding = true;
      next = input.value = text(slider.value);
      slider.setAttribute("aria-valuetext", next);
      send();
    });
    slider.addEventListener("change", () => {
      this.sliding = false;
      input.defaultValue = input.value;
      this.change("set", path, { yaml: text(slider.value) });
    });
    return slider;
  }

  list(path, node, forms) {
    const items = node[5], fixed = forms.some((one) => one.maxItems || (one.items && ("x-unit" in one.items || [one.items.type].flat().includes("number"))));
    if (items.length && items.length <= 6 && items.every((one) => one[1] === "text") && fixed) {
      const inputs = items.map((one, i) => {
        const value = bare(one[2]);
        const input = make("input", { type: "text", value, "data-at": JSON.stringify([...path, i]), "aria-label": `${path.join(" ")} ${"xyz"[i] ?? i}`, spellcheck: false, autocomplete: "off" });
        input.defaultValue = value;
        input.addEventListener("change", () => {
          input.defaultValue = input.value;
          this.change("set", [...path, i], { yaml: quoted(input.value) });
        });
        return make("span", {}, input, this.slider([...path, i], value, this.schema.within(forms, i), input));
      });
      return this.label(path, forms, make("span", { className: "vector" }, ...inputs));
    }
    const inner = items.map((one, i) => make("div", { className: "entry" }, this.field([...path, i], one, this.schema.within(forms, i)), this.cross([...path, i])));
    const example = this.schema.example(this.schema.within(forms, 0));
    const more = make("button", { type: "button", className: "more", "data-at": JSON.stringify(path), "data-role": "entry", "aria-label": `+ entry of ${path.join(" ")}`, onclick: () => this.change("put", path, { key: items.length, yaml: JSON.stringify(example) }) }, "+ entry");
    return this.group(path, forms, [...inner, more]);
  }

  map(path, node, forms, open) {
    const entries = node[5], keys = this.schema.keys(forms), required = this.schema.required(forms);
    const kind = this.schema.isKind(forms) && keys.size > 1;
    const fields = entries.map((one) => {
      const inner = [...path, one[0]], own = this.schema.within(forms, one[0]);
      const choice = kind && keys.has(one[0]) ? this.kind(path, one, keys) : null;
      const may = !required.has(one[0]) && !choice;
      return make("div", { className: "entry" }, choice, this.field(inner, one, own), may ? this.cross(inner) : null);
    });
    const there = new Set(entries.map((one) => one[0]));
    const missing = [...keys].filter(([name]) => !there.has(name) && !(kind && entries.length && !["noise", "rate", "bias", "delay", "resolution", "range", "at", "drift"].includes(name)));
    const extra = missing.length ? this.more(path, missing) : forms.some((one) => typeof one.additionalProperties === "object") && !keys.size ? this.moreNames(path, forms) : null;
    return open ? make("div", { className: "fields" }, ...fields, extra) : this.group(path, forms, [...fields, extra]);
  }

  kind(path, entry, keys) {
    const select = make("select", { className: "kind", "data-at": JSON.stringify(path), "data-role": "kind", "aria-label": `${path.join(" ")}, kind` }, ...[...keys].filter(([, forms]) => forms.length).map(([name, forms]) => make("option", { value: name, selected: name === entry[0], title: meaning(forms) }, name)));
    select.addEventListener("change", () => {
      const name = select.value;
      this.change("set", path, { yaml: JSON.stringify({ [name]: this.schema.example(keys.get(name)) }) });
    });
    return select;
  }

  group(path, forms, content) {
    const name = String(path[path.length - 1]);
    return make("details", { open: true, title: meaning(forms) }, make("summary", {}, name), make("div", { className: "fields" }, ...content.filter(Boolean)));
  }

  cross(path) {
    return make("button", { type: "button", className: "cross", "data-at": JSON.stringify(path), "data-role": "cross", "aria-label": `Remove ${path.join(" ")}`, title: `Remove ${path[path.length - 1]}`, onclick: () => this.change("remove", path, {}) }, "✕");
  }

  more(path, missing) {
    const select = make("select", { className: "more", "data-at": JSON.stringify(path), "data-role": "more", "aria-label": `Add a key to ${path.join(" ")}` }, make("option", { value: "" }, "+ key"), ...missing.map(([name, forms]) => make("option", { value: name, title: meaning(forms) }, `${name}: ${short(meaning(forms))}`)));
    select.addEventListener("change", () => {
      const forms = missing.find(([name]) => name === select.value)?.[1];
      if (forms) this.change("put", path, { key: select.value, yaml: JSON.stringify(this.schema.example(forms)) });
    });
    return select;
  }

  moreNames(path, forms) {
    const input = make("input", { type: "text", className: "more", placeholder: "+ name", "data-at": JSON.stringify(path), "data-role": "more", "aria-label": `Add a name to ${path.join(" ")}` });
    input.defaultValue = "";
    input.addEventListener("change", () => {
      const name = input.value.trim();
      input.value = "";
      if (name) this.change("put", path, { key: name, yaml: JSON.stringify(this.schema.example(this.schema.within(forms, name))) });
    });
    return input;
  }
}

// what decides which fields there are: keys, and whether a value is a number, of which unit
const shapeOf = (node) => [node[0], node[1], node[1] === "text" ? NUMBER.exec(bare(node[2]))?.[2] ?? /^(true|false)$/i.test(node[2]) : node[5].map(shapeOf)];
const short = (words) => (words.length > 60 ? words.slice(0, 57) + "..." : words);
const quoted = (value) => (/^[[{]/.test(value.trim()) || NUMBER.test(value) ? value : /[:#,{}[\]&*!|>'"%@`]/.test(value) ? JSON.stringify(value) : value || '""');
export const dotted = (path) => path.map((one, i) => (typeof one === "number" ? `[${one}]` : i ? `.${one}` : one)).join("");
