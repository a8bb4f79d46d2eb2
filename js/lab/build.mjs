// Builds the JupyterLab extension into labextension/, as JupyterLab expects it below share/jupyter/labextensions.
// Needs no network; js/build.mjs calls it.
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "labextension");

/** `common` are the options of both bundles. */
export async function buildExtension(common) {
  const built = await build({
    ...common,
    absWorkingDir: here,
    entryPoints: ["src/remote_entry.ts"],
    bundle: true,
    format: "iife",
    write: false,
    loader: { ".svg": "text" },
    plugins: [minifiedStyles],
    define: { PACKAGE_VERSION: JSON.stringify(await version()) },
  });
  const [{ text }] = built.outputFiles;
  const compress = { passes: 2, pure_getters: true };
  const contents = Buffer.from((await minify(text, { ecma: 2020, compress })).code);
  const load = `static/remoteEntry.${createHash("sha256").update(contents).digest("hex").slice(0, 16)}.js`;
  await rm(out, { recursive: true, force: true });
  await mkdir(join(out, "static"), { recursive: true });
  await writeFile(join(out, load), contents);
  await describe(load);
  console.log(`labextension: ${contents.length} bytes, ${gzipSync(contents).length} gzipped`);
}

/** Styles are a text of the script. */
const minifiedStyles = {
  name: "minified-styles",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const options = { loader: "css", minify: true };
      const { code } = await transform(await readFile(path, "utf8"), options);
      return { contents: code, loader: "text" };
    });
  },
};

/** The version stands in one place. */
async function version() {
  const text = await readFile(join(here, "..", "..", "acp_notebook", "_version.py"), "utf8");
  const [, found] = /__version__ = "(.+)"/.exec(text);
  return found;
}

/** What JupyterLab reads: the extension, its settings, and how it was installed. */
async function describe(load) {
  const own = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
  const described = {
    ...own,
    version: await version(),
    jupyterlab: {
      ...own.jupyterlab,
      schemaDir: "schema",
      _build: { load, extension: "./extension" },
    },
  };
  const text = `${JSON.stringify(described, null, 2)}\n`;
  const schemas = join(out, "schemas", own.name);
  await mkdir(schemas, { recursive: true });
  await cp(join(here, "schema", "plugin.json"), join(schemas, "plugin.json"));
  await writeFile(join(schemas, "package.json.orig"), text);
  const install = {
    packageManager: "python",
    packageName: "acp-notebook",
    uninstallInstructions:
      "Use your Python package manager (pip, conda, …) to uninstall acp-notebook",
  };
  await writeFile(join(out, "install.json"), `${JSON.stringify(install, null, 2)}\n`);
  // Last: without it, the build counts as missing (hatch_build.py).
  await writeFile(join(out, "package.json"), text);
}
