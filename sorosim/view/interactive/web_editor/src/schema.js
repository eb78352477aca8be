// What the JSON Schema of the format says of a place in a file.
export class Schema {
  constructor(root) {
    this.root = root;
    this.names = () => []; // of parts of a block that the file has
  }

  // forms that a value may have: those of references and alternatives, parameters left out
  forms(schema) {
    if (!schema || typeof schema !== "object") return [];
    if (schema.$ref) {
      const { $ref, ...about } = schema;
      return this.forms({ ...this.root.$defs[$ref.split("/").pop()], ...about });
    }
    if (schema.anyOf && !schema.properties) {
      const { anyOf, ...about } = schema;
      return anyOf.filter((one) => !/^\^\\\$/.test(one.pattern ?? "")).flatMap((one) => this.forms({ ...one, ...about }));
    }
    return [schema];
  }

  within(forms, key) {
    const found = [];
    for (const one of forms) {
      if (anything(one)) found.push({});
      else if (typeof key === "number") {
        if (one.prefixItems?.[key] ?? one.items) found.push(one.prefixItems?.[key] ?? one.items);
      } else if (one.properties && key in one.properties) found.push(one.properties[key]);
      else if (typeof one.additionalProperties === "object") found.push(one.additionalProperties);
    }
    return found.flatMap((one) => this.forms(one));
  }

  at(path) {
    return path.reduce((forms, key) => this.within(forms, key), this.forms(this.root));
  }

  // keys that a mapping at a path may have: name -> forms
  keys(forms) {
    const out = new Map();
    for (const one of forms)
      for (const [name, inner] of Object.entries(one.properties ?? {})) out.set(name, [...(out.get(name) ?? []), ...this.forms(inner)]);
    return out;
  }

  // whether a mapping has the name of a kind among its keys
  isKind(forms) {
    return forms.some((one) => one.maxProperties === 1 || (one.oneOf && one.properties));
  }

  // alternatives of a mapping, of which it has one: each the keys that it needs
  groups({ maxProperties, properties, oneOf, allOf }) {
    const kinds = maxProperties === 1 ? Object.keys(properties ?? {}).map((name) => [name]) : oneOf?.map((one) => one.required);
    return [kinds, ...(allOf ?? []).map((group) => (group.oneOf ?? group.anyOf)?.map((one) => one.required))].filter((one) => one?.length);
  }

  // keys of which a mapping has one, that one among them: kinds, shapes, density or mass
  rivals(forms, key) {
    const groups = forms.flatMap((one) => this.groups(one)).filter((group) => group.every((names) => names.length === 1));
    return (groups.find((group) => group.some(([name]) => name === key)) ?? []).flat();
  }

  // whether a mapping has to have a key, or one of those in its place
  needs(forms, key) {
    const own = forms.filter((one) => one.properties);
    return own.length > 0 && own.every((one) => one.required?.includes(key) || this.rivals([one], key).length);
  }

  // what may stand there: "value", "list", "keys"
  shapes(forms) {
    return [...new Set(forms.flatMap((one) => (anything(one) ? ["value", "list", "keys"] : [shape(one)])))];
  }

  // an example whose names are those of parts that the file has
  fitted(value, forms) {
    const known = (block, name) => !this.names(block).length || this.names(block).includes(name.split(".")[0]) ? name : this.names(block).at(-1);
    if (Array.isArray(value)) return value.map((one, i) => this.fitted(one, this.within(forms, i)));
    if (value && typeof value === "object") {
      const block = keysOf(forms);
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [block ? known(block, name) : name, this.fitted(one, this.within(forms, name))]));
    }
    const named = forms.find((one) => one["x-names"]);
    return named && typeof value === "string" && value !== "world" ? known(named["x-names"], value) : value;
  }

  // a value to begin with; `wanted`: what it should be where it may be anything
  example(forms, wanted = "value") {
    const first = forms.find((one) => one.examples?.length && (anything(one) || shape(one) === shapeOfValue(one.examples[0])));
    if (first) return this.fitted(first.examples[0], forms);
    const object = forms.find((one) => one.properties);
    if (object) {
      const names = [...(object.required ?? [])];
      for (const group of this.groups(object)) if (!group.some((keys) => keys.every((name) => names.includes(name)))) names.push(...group[0]);
      return Object.fromEntries(names.map((name) => [name, this.example(this.forms(object.properties[name]))]));
    }
    if (forms.some(anything)) return { list: [], keys: {} }[wanted] ?? 0;
    const named = forms.find((one) => one["x-names"]), choice = forms.find((one) => one.enum);
    if (named) return this.names(named["x-names"]).at(-1) ?? "";
    if (choice) return choice.enum[0];
    const list = forms.find((one) => one.type === "array");
    if (list) return Array.from({ length: list.minItems ?? 0 }, (_, i) => this.example(this.within([list], i)));
    const kinds = forms.map((one) => one.type).flat();
    return kinds.includes("boolean") ? true : kinds.includes("object") ? {} : 0;
  }
}

// blocks whose parts name the keys of a mapping
export const keysOf = (forms) => forms.map((one) => one.propertyNames?.["x-names"]).find(Boolean);
const anything = (one) => !("type" in one || "enum" in one || "const" in one || "properties" in one);
const shape = (one) => ({ object: "keys", array: "list" })[one.type] ?? "value";
const shapeOfValue = (value) => (Array.isArray(value) ? "list" : typeof value === "object" ? "keys" : "value");

export const meaning = (forms) => forms.find((one) => one.description)?.description ?? "";
export const unit = (forms) => {
  for (const one of forms) {
    const found = one["x-unit"] ?? one.items?.["x-unit"] ?? one.prefixItems?.[0]?.["x-unit"];
    if (found) return found;
  }
  return "";
};
