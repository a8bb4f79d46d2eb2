import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: {
    environment: "happy-dom",
    include: ["test/**/*.test.{ts,tsx}"],
    // Two workers: the machines that run this have few cores, and the files are small.
    maxWorkers: 2,
    // They end what hangs: nothing takes a second, and a machine may be twenty times slower.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
