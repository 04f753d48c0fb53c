import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** What others wrote and the page carries: their licences travel with it. */
function licences() {
  const root = import.meta.dirname;
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const parts = [];
  for (const [path, one] of Object.entries(lock.packages)) {
    if (path === "" || one.dev || path.includes("/@types/")) continue;
    const folder = join(root, path);
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    const text =
      file === undefined ? `Licence: ${one.license}` : readFileSync(join(folder, file), "utf8");
    parts.push(
      `${path.replace(/^.*node_modules\//, "")} ${one.version} (${one.license})\n\n${text.trim()}\n`,
    );
  }
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

/** What is asked for first is a script of its own, ahead of the others. */
const EARLY = "src/api/early.ts";
const early = {
  name: "early",
  transformIndexHtml: {
    order: "post",
    handler(_html, { bundle }) {
      const chunk = Object.values(bundle ?? {}).find((one) =>
        one.moduleIds?.some((id) => id.endsWith(EARLY)),
      );
      if (chunk === undefined) return [];
      const attrs = { type: "module", async: true, crossorigin: true, src: `/${chunk.fileName}` };
      return [{ tag: "script", attrs, injectTo: "head-prepend" }];
    },
  },
};

export default defineConfig({
  base: "/",
  plugins: [
    react(),
    early,
    {
      name: "licences",
      generateBundle() {
        this.emitFile({ type: "asset", name: "licences.txt", source: licences() });
      },
    },
  ],
  build: {
    outDir: "../web/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      output: {
        // What the first view needs comes in one file: a browser fetches six at a time.
        codeSplitting: {
          groups: [
            { name: "early", test: (id) => id.endsWith(EARLY), priority: 1 },
            { name: "first", tags: ["$initial"] },
          ],
        },
      },
    },
  },
});
