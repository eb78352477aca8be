// What the JSON Schema of the format says of a place in a file.
export class Schema {
  constructor(root) {
    this.root = root;
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
      if (typeof key === "number") {
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

  // whether a mapping has one key, the name of a kind
  isKind(forms) {
    return forms.some((one) => one.maxProperties === 1 || (one.oneOf && one.properties));
  }

  required(forms) {
    return new Set(forms.flatMap((one) => one.required ?? []));
  }

  // a value to begin with
  example(forms) {
    const first = forms.find((one) => one.examples?.length);
    if (first) return first.examples[0];
    const object = forms.find((one) => one.properties);
    if (object) {
      const names = [...(object.required ?? [])];
      for (const group of object.allOf ?? []) {
        const options = group.oneOf ?? group.anyOf ?? [];
        if (options.length && !options.some((one) => one.required.every((name) => names.includes(name)))) names.push(...options[0].required);
      }
      return Object.fromEntries(names.map((name) => [name, this.example(this.forms(object.properties[name]))]));
    }
    const choice = forms.find((one) => one.enum);
    if (choice) return choice.enum[0];
    const kinds = forms.map((one) => one.type).flat();
    return kinds.includes("array") ? [] : kinds.includes("boolean") ? true : kinds.includes("object") ? {} : 0;
  }
}

export const meaning = (forms) => forms.find((one) => one.description)?.description ?? "";
export const unit = (forms) => {
  for (const one of forms) {
    const found = one["x-unit"] ?? one.items?.["x-unit"] ?? one.prefixItems?.[0]?.["x-unit"];
    if (found) return found;
  }
  return "";
};
