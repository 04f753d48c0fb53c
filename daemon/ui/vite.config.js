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

export default defineConfig({
  base: "/",
  plugins: [
    react(),
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
  },
});
