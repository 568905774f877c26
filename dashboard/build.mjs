// Builds the page into the folder that is given: index.html, page.js and style.css.
import { cp } from "node:fs/promises";
import { build } from "esbuild";

const [, , out] = process.argv;
await build({
  entryPoints: { page: "src/main.tsx", style: "src/style.css" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "inline",
  outdir: out,
});
await cp("src/index.html", `${out}/index.html`);
