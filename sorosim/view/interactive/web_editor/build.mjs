// Bundles the page of the editor into dist/, with the licences of what is in it.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

rmSync("dist", { recursive: true, force: true });
mkdirSync("dist");
const { metafile } = await build({
  entryPoints: ["src/main.js"], bundle: true, minify: true, format: "esm", target: "es2022", outfile: "dist/editor.js",
  metafile: true, legalComments: "none", logLevel: "warning",
});
await build({ entryPoints: ["src/editor.css"], bundle: true, minify: true, outfile: "dist/editor.css", logLevel: "warning" });
cpSync("src/index.html", "dist/index.html");

const packages = new Set();
for (const file of Object.keys(metafile.inputs)) {
  const found = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) packages.add(found[1]);
}
packages.add("@shoelace-style/shoelace");
const parts = [...packages].sort().map((name) => {
  const folder = join("node_modules", name), about = JSON.parse(readFileSync(join(folder, "package.json")));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  return `${name} ${about.version} (${about.license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
});
writeFileSync("dist/licences.txt", parts.join("\n" + "-".repeat(80) + "\n\n"));

// what it was made of, so that a test without node sees whether it is up to date
const hash = createHash("sha256");
for (const file of ["build.mjs", "package-lock.json", ...readdirSync("src").sort().map((one) => `src/${one}`)]) hash.update(readFileSync(file));
writeFileSync("dist/sources.txt", hash.digest("hex") + "\n");
