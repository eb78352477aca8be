// Forms of parts, made of the declarations: a field for each key, with its unit, bounds and meaning.
import { make } from "./dom.js";
import { keysOf, meaning, unit } from "./schema.js";
import { BLOCKS, isBlock } from "./tree.js";

const SHAPES = { text: "value", list: "list", map: "keys" };
const NUMBER = /^\s*(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$/;
const bare = (text) => (/^'(?:[^']|'')*'$/.test(text) ? text.slice(1, -1).replaceAll("''", "'") : /^".*"$/s.test(text) ? unescaped(text) : text);
// YAML has escapes and line breaks that JSON has not: such a text is shown as it is written
const unescaped = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

export class Form {
  constructor(form, text, schema, say) {
    Object.assign(this, { form, text, schema, say, path: [], sliding: false, changing: 0, onBlock: () => {} });
    form.addEventListener("submit", (event) => event.preventDefault());
    this.lists = make("div");
  }

  async change(what, path, given) {
    this.changing++;
    try {
      this.goal = what === "put" ? JSON.stringify([...path, given.key]).slice(0, -1) : null; // where who adds something goes on
      await this.text.edit(what, path, given);
    } catch (error) {
      this.say(error.message, true);
      if (this.slid) this.text.link.ask("slide").catch(() => {}); // back to what the text says
      this.slid = false;
      this.changing--;
      return this.show(this.path);
    }
    this.slid = false;
    if (!--this.changing) this.show(this.path);
  }

  show(path) {
    if (this.sliding) return;
    const active = this.form.contains(document.activeElement) ? document.activeElement : null;
    if (active?.dataset.role === "slider" && JSON.stringify(path) === JSON.stringify(this.path) && (this.changing || this.text.isAhead)) return; // an older state is no news
    this.path = path;
    const at = active && [active.dataset.at, active.selectionStart, active.dataset.role];
    if (active?.matches("input[type=text]") && active.value !== active.defaultValue) return; // somebody types
    const node = this.text.node(path), shape = JSON.stringify([path, node && shapeOf(node), this.text.names("parameters")]);
    if (shape === this.shape && this.update()) return;
    this.shape = shape;
    this.lists.replaceChildren();
    const forms = this.schema.at(path);
    const head = make("h2", { tabIndex: -1 }, path.join(" / ") || "robot"), words = path.length ? meaning(path.length > 1 ? this.words(path, node, forms) : forms) : "";
    this.form.replaceChildren(head, words ? make("p", { className: "meaning" }, words) : "", node ? this.entry(path, node, forms, null, true) : this.nothing(path), this.lists);
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
      else if (!one.dataset.role && one.options && ![...one.options].some((each) => each.value === value)) return false;
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

  // a field, the choice of what may stand in its place, and the cross that removes it
  entry(path, node, forms, choice, open = false, may = false) {
    const field = this.field(path, node, forms, open);
    if (choice) field.querySelector(":scope > .name, :scope > summary").firstChild.replaceWith(choice); // in the place of its name
    return make("div", { className: "entry" }, field, path.length ? this.shapeChoice(path, node, forms) : null, may ? this.cross(path) : null);
  }

  field(path, node, forms, open = false) {
    if (node[1] === "map") return this.map(path, node, forms, open);
    if (node[1] === "list") return this.list(path, node, forms);
    return this.scalar(path, node, forms);
  }

  label(path, forms, ...content) {
    const name = String(path[path.length - 1]), of = unit(forms);
    return make("label", { className: "row", title: meaning(forms) }, make("span", { className: "name" }, name.replaceAll("_", "_\u200b"), of ? make("small", {}, ` ${of}`) : ""), ...content);
  }

  scalar(path, node, forms) {
    const value = bare(node[2]), at = JSON.stringify(path), name = path.join(" ");
    const choice = forms.find((one) => one.enum), free = forms.some((one) => !one.enum && one.type === "string"), names = forms.find((one) => one["x-names"])?.["x-names"];
    const set = (yaml) => this.change("set", path, { yaml });
    if (forms.some((one) => one.type === "boolean") && /^(true|false)$/i.test(value))
      return this.label(path, forms, make("input", { type: "checkbox", checked: /true/i.test(value), "data-at": at, "aria-label": name, onchange: (event) => set(String(event.target.checked)) }));
    if (choice && !free && choice.enum.map(String).includes(value))
      return this.label(path, forms, make("select", { "data-at": at, "aria-label": name, onchange: (event) => set(event.target.value) }, ...[...choice.enum.map(String), ...this.parameters(path)].map((one) => make("option", { value: one, selected: one === value }, one))));
    const input = make("input", { type: "text", value, "data-at": at, "aria-label": name, "aria-description": meaning(forms) || null, spellcheck: false, autocomplete: "off", list: names ? this.listOf(names) : choice ? this.listOf(path.join("-"), choice.enum) : null });
    input.defaultValue = value;
    input.addEventListener("change", () => {
      input.defaultValue = input.value;
      set(quoted(input.value));
    });
    return this.label(path, forms, input, this.slider(path, value, forms, input));
  }

  listOf(block, words = [...this.text.names(block), ...(block === "links" ? ["world"] : [])]) {
    const id = `names-${block}`;
    if (!this.lists.querySelector(`#${CSS.escape(id)}`)) this.lists.append(make("datalist", { id }, ...words.map((value) => make("option", { value }))));
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
          await this.text.link.ask("slide", now);
        } catch (error) {
          this.say(error.message, true);
        }
      }
      sending = false;
    };
    slider.addEventListener("input", () => {
      this.sliding = this.slid = true;
      input.value = text(slider.value);
      next = { path: dotted(path), value: input.value };
      slider.setAttribute("aria-valuetext", input.value);
      send();
    });
    // one that is let go where it began changes nothing, and browsers tell no change
    const rest = () => {
      if (!this.sliding) return;
      this.sliding = this.slid = false;
      next = {};
      send();
      this.show(this.path);
    };
    for (const name of ["pointerup", "pointercancel", "blur"]) slider.addEventListener(name, rest);
    slider.addEventListener("change", () => {
      this.sliding = false;
      input.defaultValue = input.value;
      this.change("set", path, { yaml: text(slider.value) });
    });
    return slider;
  }

  list(path, node, forms) {
    const items = node[5], fixed = forms.some((one) => one.maxItems || (one.items && ("x-unit" in one.items || [one.items.type].flat().includes("number"))));
    const own = forms.filter((one) => one.type === "array"), least = Math.min(...own.map((one) => one.minItems ?? 0)), most = Math.max(...own.map((one) => one.maxItems ?? Infinity));
    const add = () => this.change("put", path, { key: items.length, yaml: items.length ? flow(items[items.length - 1]) : JSON.stringify(this.schema.example(this.schema.within(forms, 0))) });
    const more = own.length && items.length >= most ? null : make("button", { type: "button", className: "more", "data-at": JSON.stringify(path), "data-role": "entry", "aria-label": `+ entry of ${path.join(" ")}`, onclick: add }, "+ entry");
    const may = items.length > least || !own.length;
    if (items.length && items.length <= 6 && items.every((one) => one[1] === "text") && fixed) {
      const inputs = items.map((one, i) => {
        const value = bare(one[2]);
        const input = make("input", { type: "text", value, "data-at": JSON.stringify([...path, i]), "aria-label": `${path.join(" ")} ${"xyz"[i] ?? i}`, spellcheck: false, autocomplete: "off" });
        input.defaultValue = value;
        input.addEventListener("change", () => {
          input.defaultValue = input.value;
          this.change("set", [...path, i], { yaml: quoted(input.value) });
        });
        return make("span", { style: `min-width: ${Math.min(value.length + 4, 30)}ch` }, input, this.slider([...path, i], value, this.schema.within(forms, i), input));
      });
      return this.label(path, forms, make("span", { className: "vector" }, ...inputs), more, may ? this.cross([...path, items.length - 1]) : null);
    }
    const inner = items.map((one, i) => this.entry([...path, i], one, this.schema.within(forms, i), null, false, may));
    return this.group(path, forms, [...inner, more]);
  }

  map(path, node, forms, open) {
    const keys = this.schema.keys(forms), there = new Set(node[5].map((one) => one[0]));
    const fixed = (name) => this.schema.within(forms, name).some((one) => "const" in one); // the version of the format
    const entries = path.length ? node[5] : node[5].filter((one) => !isBlock(one) && !fixed(one[0]));
    const words = forms.flatMap((one) => one.enum ?? []).map(String).filter((one) => !keys.has(one)); // in place of keys: `joint: fixed`
    const fields = entries.map((one) => {
      const inner = [...path, one[0]], rivals = this.schema.rivals(forms, one[0]);
      const alone = rivals.filter((name) => there.has(name)).length === 1;
      const choice = rivals.length > 1 && alone ? this.kind(path, one, rivals, keys, words) : null;
      return this.entry(inner, one, this.schema.within(forms, one[0]), choice, false, !this.schema.needs(forms, one[0]) || (rivals.length > 0 && !alone));
    });
    const missing = [...keys].filter(([name]) => !there.has(name) && !this.schema.rivals(forms, name).some((one) => there.has(one)) && (path.length || !BLOCKS.includes(name)));
    const names = forms.some((one) => typeof one.additionalProperties === "object") || this.schema.shapes(forms).length === 3;
    const all = [...fields, missing.length ? this.more(path, missing) : null, names ? this.moreNames(path, forms) : null];
    return open ? make("div", { className: "fields" }, ...all.filter(Boolean)) : this.group(path, forms, all);
  }

  // which of the keys of which a mapping has one it has
  kind(path, entry, rivals, keys, words) {
    const select = make("select", { className: "kind", "data-at": JSON.stringify([...path, entry[0]]), "data-role": "kind", "aria-label": `${[...path, entry[0]].join(" ")}, kind` }, ...rivals.map((name) => make("option", { value: name, selected: name === entry[0], title: meaning(keys.get(name)) }, name)), ...words.map((name) => make("option", { value: name }, name)));
    select.addEventListener("change", () => words.includes(select.value) ? this.change("set", path, { yaml: select.value }) : this.change("exchange", [...path, entry[0]], { key: select.value, yaml: JSON.stringify(this.schema.example(keys.get(select.value))) }));
    return select;
  }

  // parameters of the file, as they stand in the place of a value
  parameters(path) {
    return path[0] === "prefabs" ? [] : this.text.names("parameters").filter((name) => path[0] !== "parameters" || name !== path[1]).map((name) => `$${name}`);
  }

  // a value, a list or keys, where the format has more than one of them, or a parameter in their place
  shapeChoice(path, node, forms) {
    const now = SHAPES[node[1]], known = this.schema.shapes(forms);
    const options = [...new Set([now, ...known]), ...(now === "value" ? [] : this.parameters(path))];
    if (options.length < 2) return null;
    const select = make("select", { className: "shape", "data-at": JSON.stringify(path), "data-role": "shape", "aria-label": `${path.join(" ")}, form`, title: "What stands here" }, ...options.map((name) => make("option", { value: name, selected: name === now }, name)));
    select.addEventListener("change", () => {
      if (path.length === 1 && select.value === "keys") this.onBlock(path[0]);
      this.change("set", path, { yaml: this.become(node, select.value, forms) });
    });
    return select;
  }

  // what a value, a list or keys become, with what they say where it fits
  become(node, wanted, forms) {
    if (wanted.startsWith("$")) return wanted;
    const entries = node[5], [first] = entries, own = forms.filter((one) => this.schema.shapes([one]).includes(wanted));
    const fits = (one) => this.schema.shapes(this.schema.within(own, 0)).includes(SHAPES[one[1]]);
    if (wanted === "list" && node[2] !== "" && fits(node)) return `[${Array(own[0].minItems ?? 1).fill(flow(node)).join(", ")}]`;
    if (wanted === "list" && node[1] === "map" && fits(node)) return `[${flow(node)}]`;
    if (node[1] === "list" && first && SHAPES[first[1]] === wanted) return flow(first);
    return JSON.stringify(this.schema.example(own, wanted));
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
      if (forms && !path.length) this.onBlock(select.value);
      if (forms) this.change("put", path, { key: select.value, yaml: JSON.stringify(this.schema.example(forms)) });
    });
    return select;
  }

  moreNames(path, forms) {
    const block = keysOf(forms);
    const input = make("input", { type: "text", className: "more", placeholder: "+ name", autocomplete: "off", list: block ? this.listOf(block) : null, "data-at": JSON.stringify(path), "data-role": "name", "aria-label": `Add a name to ${path.join(" ")}` });
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
// a node as it may stand in a list in a line
const flow = ([, kind, value, , , entries]) => {
  if (kind === "map") return `{${entries.map((one) => `${one[0]}: ${flow(one)}`).join(", ")}}`;
  if (kind === "list") return `[${entries.map(flow).join(", ")}]`;
  return /^['"]/.test(value) || !/[,[\]{}]/.test(value) ? value : JSON.stringify(value);
};
const short = (words) => (words.length > 60 ? words.slice(0, 57) + "..." : words);
const quoted = (value) => (/^[[{]/.test(value.trim()) || NUMBER.test(value) ? value : /[:#,{}[\]&*!|>'"%@`]/.test(value) ? JSON.stringify(value) : value || '""');
export const dotted = (path) => path.map((one, i) => (typeof one === "number" ? `[${one}]` : i ? `.${one}` : one)).join("");
