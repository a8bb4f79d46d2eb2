// Builds what the kernel sends to the browser into ../acp_notebook/static: the session's module and
// style, the few lines of a turn's widget, the widget that offers agents, and a fan-out's table with its style;
// then the JupyterLab extension (lab/).
// Needs no network.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "terser";
import { buildExtension } from "./lab/build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "acp_notebook", "static");

// AbortSignal.any and :has() come with these; JupyterLab 4 asks for no less.
const common = {
  absWorkingDir: here,
  outdir: out,
  target: ["chrome120", "firefox124", "safari17.4"],
  minify: true,
  legalComments: "none",
};

await mkdir(out, { recursive: true });
await build({
  ...common,
  entryPoints: {
    session: "src/index.ts",
    turn: "src/turn.js",
    agents: "src/agents.ts",
    runs: "src/runs.ts",
  },
  bundle: true,
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  // Parts of the markdown parser that a browser has itself, or that we do not use: 20 kB less.
  alias: {
    entities: "./src/text/stubs/entities.ts",
    "punycode.js": "./src/text/stubs/punycode.ts",
    "linkify-it": "./src/text/stubs/linkify-it.ts",
    "uc.micro": "./src/text/stubs/uc.micro.ts",
  },
});
await build({
  ...common,
  entryPoints: { session: "src/styles.css", runs: "src/runs.css" },
  bundle: true,
});

// 7 kB less, gzipped, than esbuild's own minifier alone.
for (const name of ["session.js", "agents.js", "runs.js"]) {
  const file = join(out, name);
  const compress = { ecma: 2020, module: true, passes: 2, pure_getters: true };
  const { code } = await minify(await readFile(file, "utf8"), { module: true, compress });
  await writeFile(file, code);
}

await buildExtension(common);

for (const name of ["session.js", "session.css", "turn.js", "agents.js", "runs.js", "runs.css"]) {
  const text = await readFile(join(out, name));
  console.log(`${name}: ${text.length} bytes, ${gzipSync(text).length} gzipped`);
}
