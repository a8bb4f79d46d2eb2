// What a chunk costs at the start and at the end of a long stream: node bench/text.mjs. Without a page:
// only finding the blocks, as often as a page asks for them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const CHUNKS = 20_000;
/** What comes within one frame of 30 a second, at 2,000 chunks a second. */
const PER_UPDATE = 67;

const STREAMS = {
  "many paragraphs": (at) => (at % 40 === 39 ? ".\n\nA" : at % 11 === 0 ? "*ab* " : "word "),
  "one fence": (at) => (at === 0 ? "```python\n" : at % 16 === 15 ? "x=1;\n" : "x=12 "),
  "one paragraph": () => "word ",
};

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function measure(Blocks, chunk) {
  const blocks = new Blocks();
  const times = [];
  let text = "";
  for (let at = 0; at < CHUNKS;) {
    for (let count = 0; count < PER_UPDATE && at < CHUNKS; count++) text += chunk(at++);
    const start = performance.now();
    blocks.update(text, (at / 2000) * 1000);
    void blocks.groups;
    times.push(((performance.now() - start) * 1000) / PER_UPDATE);
  }
  const start = performance.now();
  blocks.settle();
  const tenth = Math.floor(times.length / 10);
  return {
    "start, µs a chunk": median(times.slice(tenth, 2 * tenth)).toFixed(2),
    "end, µs a chunk": median(times.slice(-tenth)).toFixed(2),
    "longest update, ms": ((Math.max(...times) * PER_UPDATE) / 1000).toFixed(1),
    "completion, ms": (performance.now() - start).toFixed(1),
  };
}

const folder = await mkdtemp(join(tmpdir(), "acp-bench-"));
try {
  const outfile = join(folder, "blocks.mjs");
  await build({
    absWorkingDir: join(dirname(fileURLToPath(import.meta.url)), ".."),
    entryPoints: ["src/text/blocks.ts"],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
  });
  const { Blocks } = await import(pathToFileURL(outfile).href);
  for (const chunk of Object.values(STREAMS)) measure(Blocks, chunk); // warm
  const rows = Object.entries(STREAMS).map(([name, chunk]) => [name, measure(Blocks, chunk)]);
  console.table(Object.fromEntries(rows));
} finally {
  await rm(folder, { recursive: true });
}
